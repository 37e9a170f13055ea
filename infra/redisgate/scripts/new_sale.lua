-- Makes closed stubs of a sale that the gate does not hold, in a healthy lane.
-- KEYS: lane, sale's record, stock hashes. ARGV: token of the process, epoch,
--   token of the preheat. Answer: 1 when done, epoch, n.
-- The stub of this very preheat counts as done: the call may be repeated.
local lane = read_lane(KEYS[1], ARGV[1])
local v = hmget(KEYS[2], 'state', 'token')
local mine = v[1] == 'stub' and v[2] == ARGV[3]
if not lane.selling or lane.epoch ~= tonumber(ARGV[2]) or (known(v[1]) and not mine) then
  return {0, int(lane.epoch), int(lane.n)}
end
if not mine then
  make_sale_stub(KEYS[2], ARGV[3])
  for i = 3, #KEYS do make_stub(KEYS[i], ARGV[3]) end
end
return {1, int(lane.epoch), int(lane.n)}
