-- Cuts a journal up to and including an entry that it holds; the lane keeps the
-- entry's id and digest. The note comes first: scripts do not roll back, and a
-- noted cut that was not made is made by the next call.
-- KEYS: lane, journal. ARGV: token, the entry, the first id that stays.
-- Answer: id and digest of the cut as it stands.
local lane = read_lane(KEYS[1], ARGV[1])
local found = redis.call('XRANGE', KEYS[2], ARGV[2], ARGV[2])[1]
if lane.exists and found then
  local digest
  for i = 1, #found[2], 2 do
    if found[2][i] == 'd' then digest = found[2][i + 1] end
  end
  redis.call('HSET', KEYS[1], 'cut', ARGV[2], 'cut_digest', digest)
  redis.call('XTRIM', KEYS[2], 'MINID', ARGV[3])
end
local v = hmget(KEYS[1], 'cut', 'cut_digest')
return {v[1] or '', v[2] or ''}
