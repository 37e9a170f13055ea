-- Reads a lane, and of a sale's record and stock hashes everything but what is of
-- single buyers, at one moment; of that it tells how much there is.
-- KEYS: lane, journal, sale's record, stock hashes. ARGV: token, then the fields
--   of the record to read. Answer: the lane, {state, applied, hold}, per stock
--   {state, applied, available, token}, then the values of the fields, then how many
--   other fields the record has, then how many each stock hash has.
local answer = {lane_reply(read_lane(KEYS[1], ARGV[1]), KEYS[2])}

-- How many fields a hash has beside those that are asked for.
local function others(key, v)
  local n = redis.pcall('HLEN', key)
  if foreign_type(n) then return 0 end
  for i = 1, #v do if v[i] then n = n - 1 end end
  return n
end

local own = hmget(KEYS[3], 'state', 'applied', 'hold', 'token')
answer[2] = {own[1] or '', applied_of(own[1], own[2]), own[3] or ''}
local counts = {}
for i = 4, #KEYS do
  local v = hmget(KEYS[i], 'state', 'applied', 'available', 'token')
  answer[i - 1] = {v[1] or '', stock_applied(v), v[3] or '0', v[4] or ''}
  counts[i - 3] = others(KEYS[i], v)
end
local values = {}
if #ARGV > 1 then
  local v = hmget(KEYS[3], unpack(ARGV, 2))
  for i = 1, #v do values[i] = v[i] or '' end
  for i = 1, #v do own[#own + 1] = v[i] end
end
answer[#answer + 1] = values
answer[#answer + 1] = others(KEYS[3], own)
answer[#answer + 1] = counts
return answer
