-- Reads a lane, a sale's record, stock hashes and what they hold of some orders
-- at one moment, and changes nothing.
-- KEYS: lane, journal, sale's record, stock hashes. ARGV: token, then per order
--   its id and its buyer. Answer: as peek.lua's, then one list more: per order
--   its record, its buyer's list, and its hold in each stock hash, '' for none.
local answer = {lane_reply(read_lane(KEYS[1], ARGV[1]), KEYS[2])}
local v = hmget(KEYS[3], 'state', 'applied', 'hold')
answer[2] = {v[1] or '', applied_of(v[1], v[2]), v[3] or ''}
for i = 4, #KEYS do
  local s = hmget(KEYS[i], 'state', 'applied', 'available', 'token')
  answer[i - 1] = {s[1] or '', stock_applied(s), s[3] or '0', s[4] or ''}
end
local orders = {}
for at = 2, #ARGV, 2 do
  local o = hmget(KEYS[3], 'o:' .. ARGV[at], 'b:' .. ARGV[at + 1])
  local one = {o[1] or '', o[2] or ''}
  for i = 4, #KEYS do one[i - 1] = redis.call('HGET', KEYS[i], 'h:' .. ARGV[at]) or '' end
  orders[#orders + 1] = one
end
answer[#answer + 1] = orders
return answer
