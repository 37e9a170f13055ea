-- Looks an order up and changes nothing.
-- KEYS: lane, sale's record. ARGV: token, order.
-- Answer: letter ('' cannot say, '?' never seen), epoch, entry, buyer, microseconds open.
local lane = read_lane(KEYS[1], ARGV[1])
local v = hmget(KEYS[2], 'state', 'o:' .. ARGV[2])
local since = '0'
if lane.selling then since = int(math.max(0, lane.now - tonumber(lane.opened))) end
if v[1] ~= 'open' then return {'', int(lane.epoch), '', '', since} end
if v[2] then
  local letter, entry, _, buyer = split_record(v[2])
  return {letter, int(lane.epoch), entry, buyer, since}
end
return {lane.selling and '?' or '', int(lane.epoch), '', '', since}
