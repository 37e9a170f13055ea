-- Sets a stopping action. KEYS: sale's record. ARGV: outcome (-4 ended, -5 paused).
-- Ended is not weakened to paused.
local v = hmget(KEYS[1], 'state', 'hold')
if known(v[1]) and v[2] ~= '-4' then redis.call('HSET', KEYS[1], 'hold', ARGV[1]) end
return 1
