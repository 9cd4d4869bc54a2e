-- Leaky bucket as a meter; see leaky_bucket.py. State: level, its scale, last write, '>I7I7I7'.
return function(state, leak, period, burst, cost, now, since, reset)
  local brim = burst * period
  local level, last, ahead = 0, now, false
  if state and #state == 21 then
    local scale
    level, scale, last = struct.unpack('>I7I7I7', state)
    if scale ~= period then
      level = math.floor(level / scale) * period + math.min(level % scale, period - 1)
    end
    level = math.min(level, brim)
  end
  if since then
    cost = math.min(cost, burst) * period
    local after = math.max(cost, math.min((reset - 1) * leak + 1, brim))
    local back = math.min(cost, after - (last - since) * leak)
    if back <= 0 then return end
    level = math.max(0, level - back)
    local left = math.max(0, level - math.max(0, now - last) * leak)
    return struct.pack('>I7I7I7', level, period, last), math.ceil(left / leak)
  end
  if last > now then
    ahead = true
  else
    level = math.max(0, level - (now - last) * leak)
  end
  local rest = math.floor((brim - level) / period)
  if cost <= rest then
    level = level + cost * period
    local spent = cost > 0 and struct.pack('>I7I7I7', level, period, now)
    return spent, true, rest - cost, 0, math.ceil(level / leak)
  end
  local mended = ahead and struct.pack('>I7I7I7', level, period, now)
  -- In this order: the sum of both could pass 2^53.
  local wait = cost > burst and -1 or math.ceil((level - (brim - cost * period)) / leak)
  return mended, false, rest, wait, math.ceil(level / leak)
end
