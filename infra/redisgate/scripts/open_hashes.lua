-- Opens a sale's record and stock hashes that stand at the given marks, while
-- the lane recovers. KEYS: lane, sale's record, stock hashes.
-- ARGV: token, epoch, the sale's mark, the stocks' marks. Answer: 1 when it opened.
local lane = read_lane(KEYS[1], ARGV[1])
if not lane.exists or lane.open or lane.epoch ~= tonumber(ARGV[2]) then return 0 end
local v = hmget(KEYS[2], 'state', 'applied', 'terms')
if not known(v[1]) or not v[3] or v[2] ~= ARGV[3] then return 0 end
for i = 3, #KEYS do
  local s = hmget(KEYS[i], 'state', 'applied')
  if not known(s[1]) or s[2] ~= ARGV[i + 1] then return 0 end
end
for i = 2, #KEYS do
  redis.call('HSET', KEYS[i], 'state', 'open')
  redis.call('HDEL', KEYS[i], 'token')
end
return 1
