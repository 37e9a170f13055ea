-- Takes away all that one bucket of a sale has in the gate.
-- KEYS: sale's record, stock hashes. Answer: how many of them there were.
return redis.call('UNLINK', unpack(KEYS))
