-- Makes one stock hash a closed stub again, in a healthy lane.
-- KEYS: lane, sale's record, stock hash. ARGV: token of the process, epoch,
--   token of the preheat. Answer: 1 when done, epoch, n.
local lane = read_lane(KEYS[1], ARGV[1])
if not lane.selling or lane.epoch ~= tonumber(ARGV[2]) or hmget(KEYS[2], 'state')[1] ~= 'open' then
  return {0, int(lane.epoch), int(lane.n)}
end
make_stub(KEYS[3], ARGV[3])
return {1, int(lane.epoch), int(lane.n)}
