-- Opens a lane that is closed under an epoch, on the server that the caller saw.
-- KEYS: lane. ARGV: token, epoch, server. Answer: 1 when it opened.
local lane = read_lane(KEYS[1], ARGV[1])
if not lane.exists or lane.open or lane.epoch ~= tonumber(ARGV[2]) then return 0 end
if server_name(lane) == '' or server_name(lane) ~= ARGV[3] then return 0 end
redis.call('HSET', KEYS[1], 'open', '1', 'run_id', lane.run, 'replid', lane.replid, 'opened_at', int(lane.now))
return 1
