-- Reads a lane, a sale's record, stock hashes and what the record has of some
-- idempotency keys and tickets at one moment, and changes nothing.
-- KEYS: lane, journal, sale's record, stock hashes. ARGV: token, then fields k:key and
--   t:ticket. Answer: as peek.lua's, then one list more: per field its value and the
--   letter of the order that it names, '' for none.
local answer = {lane_reply(read_lane(KEYS[1], ARGV[1]), KEYS[2])}
local v = hmget(KEYS[3], 'state', 'applied', 'hold')
answer[2] = {v[1] or '', applied_of(v[1], v[2]), v[3] or ''}
for i = 4, #KEYS do
  local s = hmget(KEYS[i], 'state', 'applied', 'available', 'token')
  answer[i - 1] = {s[1] or '', stock_applied(s), s[3] or '0', s[4] or ''}
end
local uses = {}
for at = 2, #ARGV do
  local value = redis.call('HGET', KEYS[3], ARGV[at]) or ''
  local record = redis.call('HGET', KEYS[3], 'o:' .. string.match(value, '^[^|]*')) or ''
  uses[#uses + 1] = {value, string.sub(record, 1, 1)}
end
answer[#answer + 1] = uses
return answer
