-- Closes a lane under a higher epoch, making it if it is missing.
-- KEYS: lane, journal. ARGV: token, epoch, first digest of the epoch.
-- Answer: the lane as it stands afterwards. What is no lane, or no journal, goes.
local lane = read_lane(KEYS[1], ARGV[1])
if lane.foreign then
  return redis.error_reply('LAYOUT ' .. KEYS[1] .. ' has layout ' .. lane.foreign .. ' of the gate, and this version of seckill knows layout ' .. LAYOUT ..
    ' alone: run the version that wrote it; nothing of this lane is touched')
end
local epoch = tonumber(ARGV[2])
local used = tonumber(string.match(lane_reply(lane, KEYS[2])[8], '^(%d+)') or '0')
if epoch > lane.epoch and epoch > used then
  if foreign_type(redis.pcall('HLEN', KEYS[1])) then redis.call('UNLINK', KEYS[1]) end
  if foreign_type(redis.pcall('XLEN', KEYS[2])) then redis.call('UNLINK', KEYS[2]) end
  redis.call('HSET', KEYS[1], 'layout', LAYOUT, 'scripts', FORM, 'epoch', ARGV[2], 'n', '0', 'digest', ARGV[3], 'open', '0')
  redis.call('HDEL', KEYS[1], 'run_id', 'replid', 'opened_at')
  lane = read_lane(KEYS[1], ARGV[1])
end
return lane_reply(lane, KEYS[2])
