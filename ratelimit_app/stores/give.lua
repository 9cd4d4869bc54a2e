-- Gives back what was taken. `clock`, `twin`, `load` and `save` come first (see script.py).
-- KEYS[i] is a bucket, ARGV[i + 1] its quota, the units and the reset_after that the take said,
-- packed; ARGV[1] is when that was (ms), or '' for now. Replies with the number of buckets.
local now = clock()
local since = tonumber(ARGV[1]) or now
for i, key in ipairs(KEYS) do
  local code, _, rate, period, burst, cost, reset = struct.unpack('>BBddddd', ARGV[i + 1])
  local new, left = twin(code)(load(key, code), rate, period, burst, cost, now, since, reset)
  if left == 0 then
    redis.call('DEL', key)
  elseif new then
    save(key, new, left)
  end
end
return #KEYS
