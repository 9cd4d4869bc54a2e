-- Fixed window; see fixed_window.py. State: start and count, '>I7I7'.
return function(state, most, period, burst, cost, now, since)
  local opened = now - now % period
  local closes = opened + period - now
  local begun, count, ahead = opened, 0, false
  if state and #state == 14 then
    local start, counted = struct.unpack('>I7I7', state)
    ahead = start > now
    if start >= opened then
      count = math.min(counted, most)
      if not ahead then begun = start end
    end
  end
  if since then
    if ahead or since < opened or since >= opened + period then return end
    count = math.max(0, count - cost)
    return struct.pack('>I7I7', begun, count), count > 0 and closes or 0
  end
  if count + cost <= most then
    count = count + cost
    local spent = cost > 0 and struct.pack('>I7I7', begun, count)
    return spent, true, most - count, 0, count > 0 and closes or 0
  end
  local mended = ahead and struct.pack('>I7I7', begun, count)
  local wait = cost > most and -1 or closes
  return mended, false, most - count, wait, count > 0 and closes or 0
end
