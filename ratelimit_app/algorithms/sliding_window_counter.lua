-- Sliding window counter; see sliding_window_counter.py. State: start, previous, current, '>I7I7I7'.
local function wait(previous, current, left, period, room)
  if math.floor(previous * left / period) + current <= room then return 0 end
  if current <= room then
    return left - (math.ceil((room - current + 1) * period / previous) - 1)
  end
  return left + period - (math.ceil((room + 1) * period / current) - 1)
end

return function(state, most, period, burst, cost, now, since)
  local opened = now - now % period
  local left = opened + period - now
  local begun, previous, current, ahead = opened, 0, 0, false
  if state and #state == 21 then
    local start, before, counted = struct.unpack('>I7I7I7', state)
    ahead = start > now
    if start >= opened then
      previous, current = math.min(before, most), math.min(counted, most)
      if not ahead then begun = start end
    elseif start >= opened - period then
      previous = math.min(counted, most)
    end
  end
  if since then
    if ahead or since < opened - period or since >= opened + period then return end
    if since >= opened then
      current = math.max(0, current - cost)
    else
      previous = math.max(0, previous - cost)
    end
    return struct.pack('>I7I7I7', begun, previous, current), wait(previous, current, left, period, 0)
  end
  local used = math.floor(previous * left / period) + current
  if cost == 0 or used + cost <= most then
    current = current + cost
    local spent = cost > 0 and struct.pack('>I7I7I7', begun, previous, current)
    return spent, true, math.max(0, most - used - cost), 0, wait(previous, current, left, period, 0)
  end
  local mended = ahead and struct.pack('>I7I7I7', begun, previous, current)
  local retry = cost > most and -1 or wait(previous, current, left, period, most - cost)
  return mended, false, math.max(0, most - used), retry, wait(previous, current, left, period, 0)
end
