-- Looks what purchases of one place could be but sold out. Changes nothing.
-- KEYS: lane, sale's record, stock hashes. ARGV: token, then fields of the sale's
--   record: b:buyer, k:key, t:ticket.
-- Answer: the limit, the units left per stock, the places, from 1, of those fields
--   that are there, the clock, and the id of the journal's next entry; nothing at all
--   where the sale does not sell now.
local lane = read_lane(KEYS[1], ARGV[1])
if not lane.selling then return {} end
local sale = KEYS[2]
local v = hmget(sale, 'state', 'opens', 'closes', 'limit', 'paused', 'closed', 'hold', 'waits')
if v[1] ~= 'open' or v[5] == '1' or v[6] == '1' or v[7] or v[8] == '1' then return {} end
if lane.now < (tonumber(v[2] or '0') or math.huge) or lane.now >= (tonumber(v[3] or '0') or 0) then return {} end
if redis.call('HEXISTS', sale, 'terms') == 0 then return {} end
local left = {}
for i = 3, #KEYS do
  local s = hmget(KEYS[i], 'state', 'available')
  if s[1] ~= 'open' then return {} end
  left[i - 2] = s[2] or '0'
end
local there, n = {}, 0
for from = 2, #ARGV, CHUNK do
  local f = hmget(sale, unpack(ARGV, from, math.min(from + CHUNK - 1, #ARGV)))
  for i = 1, #f do
    if f[i] then
      n = n + 1
      there[n] = from + i - 2
    end
  end
end
return {v[4] or '0', left, there, int(lane.now), int(lane.epoch) .. '-' .. int(lane.n + 1)}
