-- Opens the stubs that a preheat built.
-- KEYS: lane, sale's record, stock hashes. ARGV: token of the process, epoch,
--   token of the preheat, the sale's mark, the stocks' marks. Answer: 1 when it opened.
local lane = read_lane(KEYS[1], ARGV[1])
if not lane.selling or lane.epoch ~= tonumber(ARGV[2]) then return 0 end
local v = hmget(KEYS[2], 'state', 'applied', 'terms', 'token')
if not known(v[1]) then return 0 end
if v[1] ~= 'open' and (v[4] ~= ARGV[3] or v[2] ~= ARGV[4] or not v[3]) then return 0 end
for i = 3, #KEYS do
  local s = hmget(KEYS[i], 'state', 'applied', 'token')
  if s[1] ~= 'stub' or s[3] ~= ARGV[3] or s[2] ~= ARGV[i + 2] then return 0 end
end
for i = 2, #KEYS do
  redis.call('HSET', KEYS[i], 'state', 'open')
  redis.call('HDEL', KEYS[i], 'token')
end
return 1
