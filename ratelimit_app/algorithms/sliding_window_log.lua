-- Sliding window log; see sliding_window_log.py. State here: a function (first, last) -> bytes, so
-- that only a few of them are read. New state: the whole string, or {offset, bytes, offset, bytes}.
local TIMES, TOTALS, HEADER, ENTRY = 2 ^ 40, 2 ^ 24, 18, 8

local function first(low, high, holds)
  while low < high do
    local middle = math.floor((low + high) / 2)
    if holds(middle) then high = middle else low = middle + 1 end
  end
  return low
end

local function header(newest, capacity, head, count, base)
  return struct.pack('>I6I3I3I3I3', newest, capacity, head, count, base)
end

local function entry(time, total)
  return struct.pack('>I5I3', time % TIMES, total)
end

return function(state, most, period, burst, cost, now, since)
  local bytes = state(0, HEADER - 1)
  local newest, capacity, head, count, base
  if #bytes == HEADER then newest, capacity, head, count, base = struct.unpack('>I6I3I3I3I3', bytes) end
  if not newest or newest + period < now then
    if since then return end
    if cost > most then return false, false, most, -1, 0 end
    if cost == 0 then return false, true, most, 0, 0 end
    local room = math.min(4, most)
    local fresh = header(now, room, 0, 1, 0) .. entry(now, cost) .. string.rep('\0', (room - 1) * ENTRY)
    return fresh, true, most - cost, 0, period + 1
  end

  local function slot(index) return HEADER + (head + index) % capacity * ENTRY end
  local function read(index)
    local at = slot(index)
    local time, total = struct.unpack('>I5I3', state(at, at + ENTRY - 1))
    return newest - (newest - time) % TIMES, total
  end
  local function total_after(index)
    if index < 0 then return base end
    local _, total = read(index)
    return total
  end

  if since then
    local dead, last = first(0, count, function(index) return read(index) >= now - period end), count
    if since < now then last = first(dead, count, function(index) return read(index) > since end) end
    local before, upto = total_after(dead - 1), total_after(last - 1)
    local function units(index) return (total_after(index) - before) % TOTALS end
    local left = math.max(0, units(last - 1) - cost)
    local back = units(last - 1) - left
    if back == 0 then return end
    local cut = first(dead, last, function(index) return units(index) > left end)
    local final, run = read(cut - 1), {}
    local function push(time, total)
      final = time
      run[#run + 1] = entry(time, (total - back) % TOTALS)
    end
    if units(cut - 1) < left then push((read(cut)), upto) end
    for index = last, count - 1 do push(read(index)) end
    local size = cut + #run
    if size == dead then return '', 0 end
    local bytes, room = table.concat(run), (capacity - (head + cut) % capacity) * ENTRY
    return {
      0, header(final, capacity, head, size, base),
      slot(cut), string.sub(bytes, 1, room), HEADER, string.sub(bytes, room + 1),
    }, math.min(final, now) + period + 1 - now
  end

  local keep = count
  if newest >= now then keep = first(0, count, function(index) return read(index) >= now end) end
  local dead = first(0, keep, function(index) return read(index) >= now - period end)
  local before, total = total_after(dead - 1), total_after(count - 1)
  local used = (total - before) % TOTALS

  local function write(after)
    local size = keep - dead + 1
    if size > capacity then
      -- Full, and nothing in it is old: the ring is cut open at its head and copied as it is.
      local grown, cut = math.min(2 * capacity, most), slot(0)
      return header(now, grown, 0, size, before)
        .. state(cut, HEADER + capacity * ENTRY - 1) .. state(HEADER, cut - 1)
        .. entry(now, after) .. string.rep('\0', (grown - size) * ENTRY)
    end
    return { 0, header(now, capacity, (head + dead) % capacity, size, before), slot(keep), entry(now, after) }
  end

  if cost == 0 or used + cost <= most then
    local last = (cost > 0 or keep < count) and now or newest
    return cost > 0 and write((total + cost) % TOTALS), true, math.max(0, most - used - cost), 0,
      last + period + 1 - now
  end
  local mended = newest > now and write(total)
  local wait = -1
  if cost <= most then
    local need = used + cost - most
    local freed = first(dead, keep, function(index) return (total_after(index) - before) % TOTALS >= need end)
    wait = (freed < keep and (read(freed)) or now) + period + 1 - now
  end
  local last = keep < count and now or newest
  return mended, false, math.max(0, most - used), wait, last + period + 1 - now
end
