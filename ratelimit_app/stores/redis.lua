-- Decides. `clock`, `lifetime`, `twin`, `load` and `save` come first (see script.py).
-- KEYS[i] is a bucket, ARGV[i + 1] its quota and cost, packed; ARGV[1] is '1' to spend, '0' to look,
-- '2' to look beside a refusal that was made elsewhere.
-- Replies with allowed, remaining, retry_after and reset_after (ms) of each bucket, flat, and with
-- its clock (ms).
local now, spend, refused = clock(), ARGV[1] == '1', ARGV[1] == '2'

local buckets, replies = {}, {}
for i, key in ipairs(KEYS) do
  local code, shadow, rate, period, burst, cost = struct.unpack('>BBdddd', ARGV[i + 1])
  local take, state = twin(code), load(key, code)
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
replies[#replies + 1] = now
return replies
