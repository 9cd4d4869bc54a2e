-- Token bucket; see token_bucket.py. State: missing, its scale, last write, '>I7I7I7'.
return function(state, rate, period, burst, cost, now, since, reset)
  local full = burst * period
  local missing, last, ahead = 0, now, false
  if state and #state == 21 then
    local scale
    missing, scale, last = struct.unpack('>I7I7I7', state)
    if scale ~= period then
      missing = math.floor(missing / scale) * period + math.min(missing % scale, period - 1)
    end
    missing = math.min(missing, full)
  end
  if since then
    cost = math.min(cost, burst) * period
    local after = math.max(cost, math.min((reset - 1) * rate + 1, full))
    local back = math.min(cost, after - (last - since) * rate)
    if back <= 0 then return end
    missing = math.max(0, missing - back)
    local left = math.max(0, missing - math.max(0, now - last) * rate)
    return struct.pack('>I7I7I7', missing, period, last), math.ceil(left / rate)
  end
  if last > now then
    ahead = true
  else
    missing = math.max(0, missing - (now - last) * rate)
  end
  if cost <= burst and missing + cost * period <= full then
    missing = missing + cost * period
    local spent = cost > 0 and struct.pack('>I7I7I7', missing, period, now)
    return spent, true, math.floor((full - missing) / period), 0, math.ceil(missing / rate)
  end
  local mended = ahead and struct.pack('>I7I7I7', missing, period, now)
  -- In this order: the sum of both could pass 2^53.
  local wait = cost > burst and -1 or math.ceil((missing - (full - cost * period)) / rate)
  return mended, false, math.floor((full - missing) / period), wait, math.ceil(missing / rate)
end
