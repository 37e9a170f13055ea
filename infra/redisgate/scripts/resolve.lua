-- Finds an order, or makes sure that it can never be accepted.
-- KEYS: lane, sale's record. ARGV: token, order, buyer.
-- Answer: letter ('' unresolved), epoch, entry.
local lane = read_lane(KEYS[1], ARGV[1])
local v = hmget(KEYS[2], 'state', 'o:' .. ARGV[2])
if not lane.selling or v[1] ~= 'open' then return {'', int(lane.epoch), ''} end
if v[2] then
  local letter, entry = split_record(v[2])
  return {letter, int(lane.epoch), entry}
end
redis.call('HSET', KEYS[2], 'o:' .. ARGV[2], 'T|||' .. ARGV[3])
return {'T', int(lane.epoch), ''}
