
local function clock() return tonumber(ARGV[#ARGV]) end
local function lifetime() return 3600000 end

local algorithms = {
[1] = (function()
-- Fixed window; see fixed_window.py. State: start and count, '>I7I7'.
return function(state, most, period, burst, cost, now)
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
  if count + cost <= most then
    count = count + cost
    local spent = cost > 0 and struct.pack('>I7I7', begun, count)
    return spent, true, most - count, 0, count > 0 and closes or 0
  end
  local mended = ahead and struct.pack('>I7I7', begun, count)
  local wait = cost > most and -1 or closes
  return mended, false, most - count, wait, count > 0 and closes or 0
end

end)(),
[2] = (function()
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

return function(state, most, period, burst, cost, now)
  local bytes = state(0, HEADER - 1)
  local newest, capacity, head, count, base
  if #bytes == HEADER then newest, capacity, head, count, base = struct.unpack('>I6I3I3I3I3', bytes) end
  if not newest or newest + period < now then
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

end)(),
[3] = (function()
-- Sliding window counter; see sliding_window_counter.py. State: start, previous, current, '>I7I7I7'.
local function wait(previous, current, left, period, room)
  if math.floor(previous * left / period) + current <= room then return 0 end
  if current <= room then
    return left - (math.ceil((room - current + 1) * period / previous) - 1)
  end
  return left + period - (math.ceil((room + 1) * period / current) - 1)
end

return function(state, most, period, burst, cost, now)
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

end)(),
[4] = (function()
-- Token bucket; see token_bucket.py. State: missing, its scale, last write, '>I7I7I7'.
return function(state, rate, period, burst, cost, now)
  local full = burst * period
  local missing, ahead = 0, false
  if state and #state == 21 then
    local scale, last
    missing, scale, last = struct.unpack('>I7I7I7', state)
    if scale ~= period then
      missing = math.floor(missing / scale) * period + math.min(missing % scale, period - 1)
    end
    missing = math.min(missing, full)
    if last > now then
      ahead = true
    else
      missing = math.max(0, missing - (now - last) * rate)
    end
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

end)(),
[5] = (function()
-- Leaky bucket as a meter; see leaky_bucket.py. State: level, its scale, last write, '>I7I7I7'.
return function(state, leak, period, burst, cost, now)
  local brim = burst * period
  local level, ahead = 0, false
  if state and #state == 21 then
    local scale, last
    level, scale, last = struct.unpack('>I7I7I7', state)
    if scale ~= period then
      level = math.floor(level / scale) * period + math.min(level % scale, period - 1)
    end
    level = math.min(level, brim)
    if last > now then
      ahead = true
    else
      level = math.max(0, level - (now - last) * leak)
    end
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

end)(),
[6] = (function()
-- GCRA; see gcra.py. State: the instant, 'ms' or 'ms:fraction'. A whole ms is stored as an integer
-- by Redis, which is the smallest value there is. '%.0f', since '..' keeps 14 digits only.
return function(state, rate, period, burst, cost, now)
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
  if cost <= burst and debt + cost * period <= full then
    local after = debt + cost * period
    return cost > 0 and instant(after), true, math.floor((full - after) / period), 0, math.ceil(after / rate)
  end
  local mended = beyond and instant(debt)
  -- In this order: the sum of both could pass 2^53.
  local wait = cost > burst and -1 or math.ceil((debt - (full - cost * period)) / rate)
  return mended, false, math.floor((full - debt) / period), wait, math.ceil(debt / rate)
end

end)()
}
-- The only Lua that touches buckets. `clock`, `lifetime` and `algorithms` come first (see script.py).
-- KEYS[i] is a bucket, ARGV[i + 1] its quota and cost, packed; ARGV[1] is '1' to spend, '0' to look.
-- Replies with allowed, remaining, retry_after and reset_after (ms) of each bucket, flat.
local RING = 2 -- the algorithm whose state is read and written in pieces
local now, spend = clock(), ARGV[1] == '1'

local function load(key, code)
  if code ~= RING then return redis.call('GET', key) end
  return function(from, to) return redis.call('GETRANGE', key, from, to) end
end

local function save(key, state, reset)
  local ms = string.format('%.0f', lifetime(math.max(1, reset)))
  if type(state) == 'string' then
    redis.call('SET', key, state, 'PX', ms)
    return
  end
  for piece = 1, #state, 2 do redis.call('SETRANGE', key, state[piece], state[piece + 1]) end
  redis.call('PEXPIRE', key, ms)
end

local buckets, replies, refused = {}, {}, false
for i, key in ipairs(KEYS) do
  local code, shadow, rate, period, burst, cost = struct.unpack('>BBdddd', ARGV[i + 1])
  local take, state = algorithms[code], load(key, code)
  local new, allowed, remaining, retry, reset = take(state, rate, period, burst, cost, now)
  buckets[i] = { take, state, new, allowed, cost, rate, period, burst }
  refused = refused or not (allowed or shadow == 1)
  local at = 4 * i
  replies[at - 3], replies[at - 2], replies[at - 1], replies[at] = allowed and 1 or 0, remaining, retry, reset
end

for i, key in ipairs(KEYS) do
  local take, state, new, allowed, cost, rate, period, burst = unpack(buckets[i], 1, 8)
  local at = 4 * i
  if allowed and refused and cost > 0 then
    -- Spends nothing: show the bucket as it stays.
    local _, _, remaining, _, reset = take(state, rate, period, burst, 0, now)
    replies[at - 2], replies[at] = remaining, reset
  elseif new and spend then
    save(key, new, replies[at])
  elseif not allowed and spend and redis.call('PTTL', key) == -1 then
    -- Somebody took the expiry off: without one a bucket could stay for ever.
    redis.call('PEXPIRE', key, string.format('%.0f', lifetime(math.max(1, replies[at]))))
  end
end
return replies
