-- Gives a buyer the ticket he has, or another one.
-- KEYS: the book of a sale; with a solved puzzle, what is remembered of it.
-- ARGV: buyer, then in microseconds when the first ticket is given out, the opening,
--   the end, and how long a ticket is good; the most buyers (0: any number), until
--   when a ticket was good that is used up ('': none), and for how long a solution
--   is remembered in milliseconds.
-- Answer: outcome (1, 0 sold out, -3 too early, -4 ended), until when it is good,
--   whether the buyer had it already (1) or his solution gave another ticket (2),
--   the clock, and when this book was begun.
local function int(n) return string.format('%.0f', n) end
local t = redis.call('TIME')
local now = tonumber(t[1]) * 1000000 + tonumber(t[2])
-- No buyer is called ' ': there stands when the book was begun.
local seen = redis.call('HMGET', KEYS[1], ARGV[1], ' ')
local had, begun = seen[1], seen[2]
local function answer(outcome, good, how) return {outcome, good, how, int(now), begun or ''} end
if now < tonumber(ARGV[2]) then return answer(-3, '0', 0) end
if now >= tonumber(ARGV[4]) then return answer(-4, '0', 0) end
-- A solution stands for one ticket: sent again it gives that one or none.
local gave = KEYS[2] and redis.call('GET', KEYS[2])
if had and tonumber(had) > now and had ~= ARGV[7] and (not gave or gave == had) then return answer(1, had, 1) end
if gave then return answer(0, '0', 2) end
local most, buyers = tonumber(ARGV[6]), redis.call('HLEN', KEYS[1])
if begun then buyers = buyers - 1 end
if not had and most > 0 and buyers >= most then return answer(0, '0', 0) end
local good = math.max(now, tonumber(ARGV[3])) + tonumber(ARGV[5])
if had and good <= tonumber(had) then good = tonumber(had) + 1 end
if KEYS[2] then redis.call('SET', KEYS[2], int(good), 'PX', ARGV[8]) end
begun = begun or int(now)
redis.call('HSET', KEYS[1], ' ', begun, ARGV[1], int(good))
redis.call('PEXPIREAT', KEYS[1], int(math.floor(tonumber(ARGV[4]) / 1000) + 86400000))
return answer(1, int(good), 0)
