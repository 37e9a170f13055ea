-- Gives a buyer the ticket he has, or another one.
-- KEYS: the book of a sale. ARGV: buyer, then in microseconds when the first ticket
--   is given out, the opening, the end, and how long a ticket is good; the most
--   buyers (0: any number), and until when a ticket was good that is used up ('': none).
-- Answer: outcome (1, 0 sold out, -3 too early, -4 ended), until when it is good,
--   whether the buyer had it already, and the clock.
local function int(n) return string.format('%.0f', n) end
local t = redis.call('TIME')
local now = tonumber(t[1]) * 1000000 + tonumber(t[2])
if now < tonumber(ARGV[2]) then return {-3, '0', 0, int(now)} end
if now >= tonumber(ARGV[4]) then return {-4, '0', 0, int(now)} end
local had = redis.call('HGET', KEYS[1], ARGV[1])
if had and tonumber(had) > now and had ~= ARGV[7] then return {1, had, 1, int(now)} end
local most = tonumber(ARGV[6])
if not had and most > 0 and redis.call('HLEN', KEYS[1]) >= most then return {0, '0', 0, int(now)} end
local good = math.max(now, tonumber(ARGV[3])) + tonumber(ARGV[5])
if had and good <= tonumber(had) then good = tonumber(had) + 1 end
redis.call('HSET', KEYS[1], ARGV[1], int(good))
redis.call('PEXPIREAT', KEYS[1], int(math.floor(tonumber(ARGV[4]) / 1000) + 86400000))
return {1, int(good), 0, int(now)}
