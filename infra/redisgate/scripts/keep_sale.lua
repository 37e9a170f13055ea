-- Sets after what time all that a bucket of a sale has is forgotten, unless it is
-- kept again. KEYS: sale's record, stock hashes. ARGV: milliseconds. Answer: 1.
for i = 1, #KEYS do redis.call('PEXPIRE', KEYS[i], ARGV[1]) end
return 1
