-- Takes units out of one bucket, off sale or for another bucket, if as many are left,
-- and writes the withdrawal or move into the journal. Asked again under the same id it
-- takes nothing more.
-- KEYS: lane, journal, sale's record, stock hash. ARGV: token, id, quantity, what the
--   journal carries of it, the form of such an entry, and the field of its body.
-- Answer: outcome (0 not ready, 1 fewer are left, 2 taken, 3 taken and not kept by the
--   log), units left, units taken under the id, epoch, n.
local lane = read_lane(KEYS[1], ARGV[1])
local state = hmget(KEYS[3], 'state')[1]
local s = hmget(KEYS[4], 'state', 'available', 'h:' .. ARGV[2])

local function answer(outcome, left, taken)
  return {outcome, left, taken, int(lane.epoch), int(lane.n)}
end

if not lane.selling or state ~= 'open' or s[1] ~= 'open' then return answer(0, '0', '0') end
if s[3] then
  local letter, taken = split(s[3])
  return answer(letter == 'T' and 2 or 3, s[2], taken)
end
local left = tonumber(s[2] or '0')
if not left then return answer(0, '0', '0') end
left = left - tonumber(ARGV[3])
if left < 0 then return answer(1, s[2] or '0', '0') end

-- The entry goes first, as for a purchase.
lane.n = lane.n + 1
local body = '{"form":' .. ARGV[5] .. ',"at":' .. int(lane.now) .. ',"terms":{},"purchases":[],"' .. ARGV[6] .. '":[' .. ARGV[4] .. ']}'
local digest = redis.sha1hex(lane.digest .. body)
redis.call('XADD', KEYS[2], int(lane.epoch) .. '-' .. int(lane.n), 'b', body, 'd', digest)
redis.call('HSET', KEYS[1], 'n', int(lane.n), 'digest', digest)
redis.call('HSET', KEYS[4], 'available', int(left), 'h:' .. ARGV[2], 'T|' .. ARGV[3] .. '|')
return answer(2, int(left), ARGV[3])
