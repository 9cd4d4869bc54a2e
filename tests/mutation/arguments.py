"""Why a mutant that survives does no harm, by its name."""

# ruff: noqa: E501 - a line is the change as it is told

ARGUMENTS: dict[str, tuple[str, ...]] = {
    "The two pieces do not overlap, so either may be written first.": (
        "ratelimit_app/algorithms/sliding_window_log.py: _write: `((0, _header(now, ring.capacity, head, count, base)), (ring.slot(keep), _entry(now, total)))` → `((ring.slot(keep), _entry(now, total)), (0, _header(now, ring.capacity, head, count, base)))`",
    ),
    "A byte more is read than is unpacked.": (
        "ratelimit_app/algorithms/sliding_window_log.lua: `local time, total = struct.unpack('>I5I3', state(at, at + ENTRY - 1))` → `local time, total = struct.unpack('>I5I3', state(at, at + ENTRY + 1))`",
        "ratelimit_app/algorithms/sliding_window_log.lua: `local time, total = struct.unpack('>I5I3', state(at, at + ENTRY - 1))` → `local time, total = struct.unpack('>I5I3', state(at, at + ENTRY - 0))`",
    ),
    "GETRANGE ends where the string does.": (
        "ratelimit_app/algorithms/sliding_window_log.lua: `.. state(cut, HEADER + capacity * ENTRY - 1) .. state(HEADER, cut - 1)` → `.. state(cut, HEADER + capacity * ENTRY + 1) .. state(HEADER, cut - 1)`",
        "ratelimit_app/algorithms/sliding_window_log.lua: `.. state(cut, HEADER + capacity * ENTRY - 1) .. state(HEADER, cut - 1)` → `.. state(cut, HEADER + capacity * ENTRY - 0) .. state(HEADER, cut - 1)`",
    ),
    "Redis makes whole numbers of a reply as floor does; it stands so that the twins read alike.": (
        "ratelimit_app/algorithms/token_bucket.lua: `return spent, true, math.floor((full - missing) / period), 0, math.ceil(missing / rate)` → `return spent, true, ((full - missing) / period), 0, math.ceil(missing / rate)`",
        "ratelimit_app/algorithms/token_bucket.lua: `return mended, false, math.floor((full - missing) / period), wait, math.ceil(missing / rate)` → `return mended, false, ((full - missing) / period), wait, math.ceil(missing / rate)`",
        "ratelimit_app/algorithms/leaky_bucket.lua: `local rest = math.floor((brim - level) / period)` → `local rest = ((brim - level) / period)`",
        "ratelimit_app/algorithms/gcra.lua: `return cost > 0 and instant(after), true, math.floor((full - after) / period), 0, math.ceil(after / rate)` → `return cost > 0 and instant(after), true, ((full - after) / period), 0, math.ceil(after / rate)`",
        "ratelimit_app/algorithms/gcra.lua: `return mended, false, math.floor((full - debt) / period), wait, math.ceil(debt / rate)` → `return mended, false, ((full - debt) / period), wait, math.ceil(debt / rate)`",
    ),
    "A debt of 0 that is set to 0 is still 0.": (
        "ratelimit_app/algorithms/gcra.py: take: `debt < 0` → `debt <= 0`",
        "ratelimit_app/algorithms/gcra.py: take: `debt < 0` → `debt < 1`",
    ),
    "Stands for values that no script of ours wrote: any number will do, so long as nothing fails.": (
        "ratelimit_app/algorithms/gcra.lua: `ms, fraction = tonumber(ms) or 0, tonumber(fraction) or 0` → `ms, fraction = tonumber(ms) or 1, tonumber(fraction) or 0`",
        "ratelimit_app/algorithms/gcra.lua: `ms, fraction = tonumber(ms) or 0, tonumber(fraction) or 0` → `ms, fraction = tonumber(ms) or -1, tonumber(fraction) or 0`",
        "ratelimit_app/algorithms/gcra.lua: `ms, fraction = tonumber(ms) or 0, tonumber(fraction) or 0` → `ms, fraction = tonumber(ms) or 0, tonumber(fraction) or 1`",
        "ratelimit_app/algorithms/gcra.lua: `ms, fraction = tonumber(ms) or 0, tonumber(fraction) or 0` → `ms, fraction = tonumber(ms) or 0, tonumber(fraction) or -1`",
    ),
    "A bucket that is written or refused takes a millisecond at least to be like new: the bound is met by one more at most.": (
        "ratelimit_app/stores/bucket.lua: `local ms = string.format('%.0f', lifetime(math.max(1, reset)))` → `local ms = string.format('%.0f', lifetime(math.max(0, reset)))`",
        "ratelimit_app/stores/redis.lua: `redis.call('PEXPIRE', key, string.format('%.0f', lifetime(math.max(1, replies[at]))))` → `redis.call('PEXPIRE', key, string.format('%.0f', lifetime(math.max(2, replies[at]))))`",
        "ratelimit_app/stores/redis.lua: `redis.call('PEXPIRE', key, string.format('%.0f', lifetime(math.max(1, replies[at]))))` → `redis.call('PEXPIRE', key, string.format('%.0f', lifetime(math.max(0, replies[at]))))`",
    ),
    "What is not 1 is not allowed, in whatever number it is told.": (
        "ratelimit_app/stores/redis.lua: `replies[at - 3], replies[at - 2], replies[at - 1], replies[at] = allowed and 1 or 0, remaining, retry, reset` → `replies[at - 3], replies[at - 2], replies[at - 1], replies[at] = allowed and 1 or -1, remaining, retry, reset`",
    ),
    "One place more than there are names for is dropped.": (
        "ratelimit_app/stores/redis.lua: `local take, state, new, allowed, cost, rate, period, burst = unpack(buckets[i], 1, 8)` → `local take, state, new, allowed, cost, rate, period, burst = unpack(buckets[i], 1, 9)`",
    ),
    "A cost of 0 looked already: to look again gives the same answer.": (
        "ratelimit_app/stores/redis.lua: `if allowed and refused and cost > 0 then` → `if allowed and refused and cost >= 0 then`",
        "ratelimit_app/stores/redis.lua: `if allowed and refused and cost > 0 then` → `if allowed and refused and cost > -1 then`",
    ),
    "The pieces do not overlap, so any may be written first.": (
        "ratelimit_app/algorithms/sliding_window_log.py: give: `((0, _header(newest, ring.capacity, ring.head, count, ring.base)), (ring.slot(cut), entries[:room]), (_HEADER, entries[room:]))` → `((ring.slot(cut), entries[:room]), (0, _header(newest, ring.capacity, ring.head, count, ring.base)), (_HEADER, entries[room:]))`",
        "ratelimit_app/algorithms/sliding_window_log.py: give: `((0, _header(newest, ring.capacity, ring.head, count, ring.base)), (ring.slot(cut), entries[:room]), (_HEADER, entries[room:]))` → `((0, _header(newest, ring.capacity, ring.head, count, ring.base)), (_HEADER, entries[room:]), (ring.slot(cut), entries[:room]))`",
    ),
    "Nothing is given back: the state is written as it is.": (
        "ratelimit_app/algorithms/gcra.lua: `if back <= 0 then return end` → `if back < 0 then return end`",
        "ratelimit_app/algorithms/gcra.lua: `if back <= 0 then return end` → `if back <= -1 then return end`",
        "ratelimit_app/algorithms/sliding_window_log.lua: `if back == 0 then return end` → `if back == 0 then end`",
        "ratelimit_app/algorithms/sliding_window_log.lua: `if back == 0 then return end` → `if back == -1 then return end`",
        "ratelimit_app/algorithms/token_bucket.py: give: `back <= 0` → `back <= -1`",
        "ratelimit_app/algorithms/token_bucket.py: give: `back <= 0` → `back < 0`",
        "ratelimit_app/algorithms/token_bucket.lua: `if back <= 0 then return end` → `if back < 0 then return end`",
        "ratelimit_app/algorithms/token_bucket.lua: `if back <= 0 then return end` → `if back <= -1 then return end`",
        "ratelimit_app/algorithms/gcra.py: give: `back <= 0` → `back < 0`",
        "ratelimit_app/algorithms/gcra.py: give: `back <= 0` → `back <= -1`",
        "ratelimit_app/algorithms/gcra.py: give: `back <= 0` → `back <= -1`",
        "ratelimit_app/algorithms/gcra.py: give: `back <= 0` → `back < 0`",
    ),
    "The bound is met by what is like a fresh bucket, which goes.": (
        "ratelimit_app/algorithms/fixed_window.lua: `count = math.max(0, count - cost)` → `count = math.max(-1, count - cost)`",
        "ratelimit_app/algorithms/sliding_window_counter.py: give: `current if begun >= opened - period else 0` → `current if begun >= opened - period else -1`",
        "ratelimit_app/algorithms/token_bucket.py: give: `max(0, min(_rescaled(missing, scale, period), full) - back)` → `max(-1, min(_rescaled(missing, scale, period), full) - back)`",
        "ratelimit_app/algorithms/token_bucket.lua: `missing = math.max(0, missing - back)` → `missing = math.max(-1, missing - back)`",
        "ratelimit_app/algorithms/leaky_bucket.py: give: `max(0, min(_rescaled(level, scale, period), brim) - back)` → `max(-1, min(_rescaled(level, scale, period), brim) - back)`",
        "ratelimit_app/algorithms/leaky_bucket.lua: `level = math.max(0, level - back)` → `level = math.max(-1, level - back)`",
    ),
    "Without a state nothing is spent, whenever that was written.": (
        "ratelimit_app/algorithms/token_bucket.lua: `local missing, last, ahead = 0, now, false` → `local missing, last, ahead = now, 0, false`",
        "ratelimit_app/algorithms/token_bucket.lua: `local missing, last, ahead = 0, now, false` → `local missing, last, ahead = -1, now, false`",
        "ratelimit_app/algorithms/leaky_bucket.lua: `local level, last, ahead = 0, now, false` → `local level, last, ahead = -1, now, false`",
        "ratelimit_app/algorithms/leaky_bucket.lua: `local level, last, ahead = 0, now, false` → `local level, last, ahead = now, 0, false`",
    ),
    "An entry that stays whole may be written as it is.": (
        "ratelimit_app/algorithms/sliding_window_log.py: give: `units(index) > left` → `units(index) >= left`",
        "ratelimit_app/algorithms/sliding_window_log.lua: `local cut = first(dead, last, function(index) return units(index) > left end)` → `local cut = first(dead, last, function(index) return units(index) >= left end)`",
    ),
    "Lua counts from 1, and takes 0 for it.": (
        "ratelimit_app/algorithms/sliding_window_log.lua: `slot(cut), string.sub(bytes, 1, room), HEADER, string.sub(bytes, room + 1),` → `slot(cut), string.sub(bytes, 0, room), HEADER, string.sub(bytes, room + 1),`",
    ),
}
