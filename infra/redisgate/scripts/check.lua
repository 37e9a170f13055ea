-- Runs what a purchase needs: the clock, the identity of the server, a write.
-- KEYS: a key of its own. ARGV: token. Answer: 1 when the server names itself.
local run, replid = identity(ARGV[1])
redis.call('SET', KEYS[1], int(micros()), 'PX', '60000')
return flag(run and replid)
