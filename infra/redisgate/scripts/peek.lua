-- Reads a lane, a sale's record and stock hashes at one moment.
-- KEYS: lane, journal, then, if asked for, the sale's record and stock hashes.
-- ARGV: token. Answer: the lane, {state, applied, hold}, then per stock
--   {state, applied, available, token}.
local answer = {lane_reply(read_lane(KEYS[1], ARGV[1]), KEYS[2])}
if KEYS[3] then
  local v = hmget(KEYS[3], 'state', 'applied', 'hold')
  answer[2] = {v[1] or '', applied_of(v[1], v[2]), v[3] or ''}
end
for i = 4, #KEYS do
  local v = hmget(KEYS[i], 'state', 'applied', 'available', 'token')
  answer[i - 1] = {v[1] or '', stock_applied(v), v[3] or '0', v[4] or ''}
end
return answer
