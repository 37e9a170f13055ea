-- Looks at buckets of one lane at one moment. Changes nothing.
-- KEYS: lane, then per bucket the sale's record and its stock hashes. ARGV: token, how
--   many stock hashes a bucket has.
-- Answer: epoch, n, then per bucket {} where it does not sell, else per stock applied
--   and available.
local lane = read_lane(KEYS[1], ARGV[1])
local each = 1 + tonumber(ARGV[2])
local answer = {int(lane.epoch), int(lane.n)}
for at = 2, #KEYS, each do
  local row = {}
  local open = lane.selling and hmget(KEYS[at], 'state')[1] == 'open'
  for i = at + 1, at + each - 1 do
    local s = hmget(KEYS[i], 'state', 'applied', 'available')
    open = open and s[1] == 'open' and tonumber(s[3] or '')
    row[#row + 1] = stock_applied(s)
    row[#row + 1] = s[3] or '0'
  end
  answer[#answer + 1] = open and row or {}
end
return answer
