-- Makes closed stubs at version 0 of what is missing, while the lane recovers.
-- KEYS: lane, sale's record, stock hashes. ARGV: token, epoch, '1' where the sale's
--   record starts again although it is there, then per stock hash the same.
--   Answer: 1 when it worked.
local lane = read_lane(KEYS[1], ARGV[1])
if not lane.exists or lane.open or lane.epoch ~= tonumber(ARGV[2]) then return 0 end
local lost = ARGV[3] == '1' or not redis.call('HGET', KEYS[2], 'state')
if lost then make_sale_stub(KEYS[2], '') end
for i = 3, #KEYS do
  if lost or ARGV[i + 1] == '1' or not redis.call('HGET', KEYS[i], 'state') then make_stub(KEYS[i], '') end
end
return 1
