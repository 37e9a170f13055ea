-- Brings a sale's record from one version to another and takes holds away.
-- KEYS: sale's record. ARGV: from, to, then field and value pairs.
-- Answer: done, state, applied.
local v = hmget(KEYS[1], 'state', 'applied')
if not known(v[1]) or v[2] ~= ARGV[1] then return {0, v[1] or '', v[2] or '0:'} end
redis.call('HSET', KEYS[1], 'applied', ARGV[2], unpack(ARGV, 3))
redis.call('HDEL', KEYS[1], 'hold')
return {1, v[1], ARGV[2]}
