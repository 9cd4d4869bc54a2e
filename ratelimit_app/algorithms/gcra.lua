-- GCRA; see gcra.py. State: the instant, 'ms' or 'ms:fraction'. A whole ms is stored as an integer
-- by Redis, which is the smallest value there is. '%.0f', since '..' keeps 14 digits only.
return function(state, rate, period, burst, cost, now, since, reset)
  local full = burst * period
  local debt, beyond = 0, false
  if state then
    local ms, fraction = tonumber(state), 0
    if not ms then
      ms, fraction = string.match(state, '^(%d+):(%d+)$')
      ms, fraction = tonumber(ms) or 0, tonumber(fraction) or 0
    end
    debt = math.max(0, (ms - now) * rate + math.min(fraction, rate - 1))
    if debt > full then debt, beyond = full, true end
  end
  local function instant(ahead)
    local fraction = ahead % rate
    local ms = string.format('%.0f', now + (ahead - fraction) / rate)
    return fraction == 0 and ms or ms .. ':' .. string.format('%.0f', fraction)
  end
  if since then
    cost = math.min(cost, burst) * period
    local after = math.max(cost, math.min((reset - 1) * rate + 1, full))
    local back = math.min(cost, after - (now - since) * rate)
    if back <= 0 then return end
    local left = math.max(0, debt - back)
    return instant(left), math.ceil(left / rate)
  end
  if cost <= burst and debt + cost * period <= full then
    local after = debt + cost * period
    return cost > 0 and instant(after), true, math.floor((full - after) / period), 0, math.ceil(after / rate)
  end
  local mended = beyond and instant(debt)
  -- In this order: the sum of both could pass 2^53.
  local wait = cost > burst and -1 or math.ceil((debt - (full - cost * period)) / rate)
  return mended, false, math.floor((full - debt) / period), wait, math.ceil(debt / rate)
end
