-- Makes closed stubs at version 0 of what is missing, or is in a state that no script
-- writes, while the lane recovers.
-- KEYS: lane, sale's record, stock hashes. ARGV: token, epoch, '1' where the sale's
--   record starts again although it is there, then per stock hash the same.
--   Answer: 1 when it worked.
local lane = read_lane(KEYS[1], ARGV[1])
if not lane.exists or lane.open or lane.epoch ~= tonumber(ARGV[2]) then return 0 end
local lost = ARGV[3] == '1' or not known(hmget(KEYS[2], 'state')[1])
if lost then make_sale_stub(KEYS[2], '') end
for i = 3, #KEYS do
  if lost or ARGV[i + 1] == '1' or not known(hmget(KEYS[i], 'state')[1]) then make_stub(KEYS[i], '') end
end
return 1
