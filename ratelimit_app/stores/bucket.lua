-- How a bucket is read and written; `lifetime` comes first (see script.py).
local RING = 2 -- the algorithm whose state is read and written in pieces

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
