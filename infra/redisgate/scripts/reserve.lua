-- Judges a batch of purchases of one lane, in order, and takes what it may.
-- KEYS: lane, journal, then per group the sale's record and the stock hashes of its items.
-- ARGV: token; '1' where an order, buyer, key or ticket may stand in the batch twice, else
--   '0'; the purchases as the journal carries them, joined by commas; how long each is (both ''
--   in a lean call, which takes nothing); number of groups; then per group:
--     quoted sale id, number of items, their names;
--     number of shapes, per shape: '1' where the buyer may buy, '0' where not, -limit for a
--     promise that the gate forgot; the outcome of a ticket that will not do or ''; number of
--     lines, per line item and quantity;
--     number of purchases; the shape of each, a byte, '' where there is but one; how many fields
--     each has (2 to 4), the fields o:order, b:buyer, k:key or '', t:ticket or '' of each, and
--     where it is more than 2 the body hash of each.
-- Answer: nothing at all to a lean call that would have to take; else the clock, the entry's id, then for purchases in their order: an outcome and how many
--   in a row have it, or {outcome, order, entry or time} of one. Those that were taken are
--   numbered in the entry as they stand in the batch.
-- This is the hot path: strings, tables and calls cost more than anything else here.
local ARGV, KEYS = ARGV, KEYS
local sub, byte, gmatch, call = string.sub, string.byte, string.gmatch, redis.call

local lane = read_lane(KEYS[1], ARGV[1])
local now = lane.now
local head = int(lane.epoch) .. '-' .. int(lane.n + 1)
local twice, blobs = ARGV[2] == '1', ARGV[3]
local at, key = 6, 3 -- what of ARGV and KEYS comes next

-- A hash with what this call knows of it (f) and the n values that it will be given (w).
local function once(all, name)
  local h = all[name]
  if not h then
    h = {key = name, f = {}, w = {}, n = 0}
    all[name] = h
    all[#all + 1] = h
  end
  return h
end

local sales, stocks = {}, {}

-- Reads of a sale's record what judgement needs, and behind it, from 12, the fields of ARGV.
local function read_sale(name, from, to)
  local sale = once(sales, name)
  local v = hmget(name, 'state', 'terms', 'opens', 'closes', 'limit', 'orders_per_buyer', 'rebuy', 'paused', 'closed', 'hold', 'waits',
    unpack(ARGV, from, to))
  sale.terms = v[2]
  sale.opens, sale.closes = tonumber(v[3] or '0'), tonumber(v[4] or '0')
  sale.limit, sale.allowed = tonumber(v[5] or '0'), tonumber(v[6] or '0')
  sale.open = v[1] == 'open' and v[2] and sale.opens and sale.closes and sale.limit and sale.allowed
  sale.rebuy = v[7] == '1'
  sale.paused = v[8] == '1' or v[10] == '-5'
  sale.closed = v[9] == '1' or v[10] == '-4'
  sale.waits = v[11] == '1'
  return sale, v
end

local function read_shape(group)
  local may, lines = ARGV[at], {}
  local shape = {eligible = may ~= '0', promised = may ~= '1' and may ~= '0' and -tonumber(may),
    fault = tonumber(ARGV[at + 1]), lines = lines, units = 0}
  local skus
  for l = 1, tonumber(ARGV[at + 2]) do
    local s, q = group.items[tonumber(ARGV[at + 1 + 2 * l])], ARGV[at + 2 + 2 * l]
    lines[l] = {stock = s, quantity = tonumber(q), hold = 'T|' .. q .. '|'}
    shape.units = shape.units + lines[l].quantity
    skus = skus and skus .. ',' .. s.sku or s.sku
  end
  shape.tail = '|' .. skus .. '|'
  at = at + 3 + 2 * #lines
  return shape
end

local function read_group()
  local group = {items = {}, named = {}, shapes = {}}
  local name, items = ARGV[at], tonumber(ARGV[at + 1])
  for i = 1, items do
    local s = once(stocks, KEYS[key + i])
    s.sku = ARGV[at + 1 + i]
    group.items[i], group.named[s.sku] = s, s
  end
  local shapes = tonumber(ARGV[at + 2 + items])
  at = at + 3 + items
  for i = 1, shapes do group.shapes[i] = read_shape(group) end
  group.count, group.column, group.width = tonumber(ARGV[at]), ARGV[at + 1], tonumber(ARGV[at + 2])
  group.first = at + 3
  at = group.first + group.count * group.width
  group.bodies = at
  group.sale, group.v = read_sale(KEYS[key], group.first, at - 1)
  group.sale.name = name
  if group.width > 2 then at = at + group.count end
  key = key + 1 + items
  return group
end

local function ready(group)
  if group.ready == nil then
    group.ready = lane.selling or false
    for i = 1, #group.items do
      local s = group.items[i]
      if not s.left then
        fetch(s, {'state', 'available'})
        s.left = tonumber(s.f.available or '0')
      end
      group.ready = group.ready and s.f.state == 'open' and s.left ~= nil
    end
  end
  return group.ready
end

-- The order that a further purchase meets: domain.RepeatOf.
local function repeat_of(sale, list)
  local live, last_live, last_over = 0, nil, nil
  for order in gmatch(list, '[^,]+') do
    local letter = sub(field(sale, 'o:' .. order) or '', 1, 1)
    if letter == 'A' then
      live = live + 1
      last_live = order
    elseif letter == 'E' then
      last_over = order
    end
  end
  if live >= sale.allowed then return last_live end
  if not sale.rebuy then return last_over end
  return nil
end

-- Units of a buyer's live orders, summed over the holds in every stock of the sale.
local function net_units(group, list)
  local n = 0
  for order in gmatch(list, '[^,]+') do
    local letter, _, skus = split_record(field(group.sale, 'o:' .. order) or '')
    if letter == 'A' then
      for sku in gmatch(skus, '[^,]+') do
        local s = group.named[sku]
        local taken, q = split(s and field(s, 'h:' .. order) or '')
        if taken == 'T' then n = n + (tonumber(q) or 0) end
      end
    end
  end
  return n
end

-- What stands between purchases of a shape and the stock, whoever asks; nil for nothing.
local function barrier(group, shape)
  local sale = group.sale
  if not ready(group) then return -1 end
  if not shape.promised or not sale.closed and now < sale.closes then
    if sale.closed then return -4 end
    if sale.paused then return -5 end
    if now < sale.opens then return {-3, '', int(sale.opens)} end
    if now >= sale.closes then return -4 end
    if sale.waits then return -5 end
    if not shape.eligible then return -6 end
  end
  return shape.fault
end

local function over_limit(group, shape, has)
  local units = has + shape.units
  return units > group.sale.limit and units > (shape.promised or 0)
end

-- The outcome of a shape where nothing is known of order, buyer, key and ticket, but for
-- the stock.
local function of_strangers(group, shape)
  if not group.sale.open then return -1 end
  local bar = barrier(group, shape)
  if bar then return bar end
  return over_limit(group, shape, 0) and -2 or 1
end

-- The outcome but for the stock. The order of judgement is domain.Judge's.
local function judge(group, shape, mine, i)
  local sale = group.sale
  local f = sale.f
  if not sale.open then return -1 end
  local own = f[ARGV[mine]]
  if own then
    local letter, entry = split_record(own)
    if letter == 'T' or letter == 'R' then return -10 end
    return {3, sub(ARGV[mine], 3), entry}
  end
  local known = group.width > 2 and f[ARGV[mine + 2]]
  if known then
    local order, body = string.match(known, '^([^|]*)|(.*)$')
    if order and body ~= '' and body ~= ARGV[group.bodies + i - 1] then return {-9, order, ''} end
    if order then
      local _, entry = split_record(field(sale, 'o:' .. order) or '')
      return {3, order, entry or ''}
    end
  end
  local list = f[ARGV[mine + 1]]
  if list then
    local order = repeat_of(sale, list)
    if order then return {2, order, ''} end
  end
  local bar = barrier(group, shape)
  if bar then return bar end
  local used = group.width > 3 and f[ARGV[mine + 3]]
  if used and sub(field(sale, 'o:' .. used) or '', 1, 1) ~= 'R' then return -8 end
  return over_limit(group, shape, list and net_units(group, list) or 0) and -2 or 1
end

-- Takes the units, or nothing where they are not there.
local function units_of(shape)
  local lines = shape.lines
  for l = 1, #lines do
    if lines[l].stock.left < lines[l].quantity then return false end
  end
  for l = 1, #lines do lines[l].stock.left = lines[l].stock.left - lines[l].quantity end
  return true
end

-- A place in the entry is written digit by digit: Lua makes text of numbers slowly.
local DIGITS = {[0] = '0', '1', '2', '3', '4', '5', '6', '7', '8', '9'}
local accepted = 'A|' .. head .. '.'
local taken, tens, digit = 0, accepted, 0

-- Writes down what a purchase has taken. Once anything may stand in the batch twice, it is
-- known from here on, too.
local function take(group, shape, mine, i)
  taken, digit = taken + 1, digit + 1
  if digit == 10 then
    tens, digit = accepted .. int(taken / 10), 0
  end
  local sale, order, buyer = group.sale, sub(ARGV[mine], 3), sub(ARGV[mine + 1], 3)
  local hold, lines = 'h:' .. order, shape.lines
  for l = 1, #lines do
    local s = lines[l].stock
    local w, n = s.w, s.n
    w[n + 1] = hold
    w[n + 2] = lines[l].hold .. buyer
    s.n = n + 2
    if twice then s.f[hold] = w[n + 2] end
  end
  local list = group.v[12 + mine + 1 - group.first]
  if twice then list = sale.f[ARGV[mine + 1]] end
  local w, n = sale.w, sale.n
  local from = n
  w[n + 1] = ARGV[mine]
  w[n + 2] = tens .. DIGITS[digit] .. shape.tail .. buyer
  w[n + 3] = ARGV[mine + 1]
  w[n + 4] = list and list .. ',' .. order or order
  n = n + 4
  if group.width > 2 and ARGV[mine + 2] ~= '' then
    w[n + 1] = ARGV[mine + 2]
    w[n + 2] = order .. '|' .. ARGV[group.bodies + i - 1]
    n = n + 2
  end
  if group.width > 3 and ARGV[mine + 3] ~= '' then
    w[n + 1] = ARGV[mine + 3]
    w[n + 2] = order
    n = n + 2
  end
  sale.n = n
  if twice then
    for j = from + 1, n, 2 do sale.f[w[j]] = w[j + 1] end
  end
end

local answer, last = {now, head}, nil
local count, run = 2, 0

local function say(outcome)
  if type(outcome) == 'table' then
    answer[count + 1] = outcome
    count, last = count + 1, nil
  else
    answer[count + 1], answer[count + 2] = outcome, 1
    count, last, run = count + 2, outcome, 1
  end
end

local groups = {}
for g = 1, tonumber(ARGV[5]) do groups[g] = read_group() end

-- What was read of a purchase, for judgement to look up by name.
local function know(group, mine)
  local f, v = group.sale.f, group.v
  for j = mine, mine + group.width - 1 do
    local name = ARGV[j]
    if f[name] == nil then f[name] = v[12 + j - group.first] end
  end
end

local function judge_all(group)
  local v, width, shapes, column = group.v, group.width, group.shapes, group.column
  local shape, several = shapes[1], #shapes > 1
  local j = 12
  for i = 1, group.count do
    if several then shape = shapes[byte(column, i)] end
    local mine, outcome = group.first + j - 12, nil
    if twice or v[j] or v[j + 1] or width > 2 and v[j + 2] or width > 3 and v[j + 3] then
      know(group, mine)
      outcome = judge(group, shape, mine, i)
    else
      outcome = shape.strangers
      if not outcome then
        outcome = of_strangers(group, shape)
        shape.strangers = outcome
      end
    end
    if outcome == 1 then
      if units_of(shape) then take(group, shape, mine, i) else outcome = 0 end
    end
    if outcome == last then
      run = run + 1
      answer[count] = run
    else
      say(outcome)
    end
    j = j + width
  end
end

local asked = 0
for g = 1, #groups do
  judge_all(groups[g])
  asked = asked + groups[g].count
end
if taken == 0 then return answer end
if blobs == '' then return {} end -- nothing is written yet

-- The purchases that were taken, as the journal carries them.
local function taken_blobs()
  if answer[3] == 1 and answer[4] == asked then return blobs end
  local starts, from = {}, 1
  for length in gmatch(ARGV[4], '%d+') do
    starts[#starts + 1] = from
    from = from + length + 1
  end
  starts[#starts + 1] = from
  local parts, passed, c = {}, 0, 3
  while c <= count do
    local outcome, n = answer[c], answer[c + 1]
    if type(outcome) == 'table' then
      passed, c = passed + 1, c + 1
    else
      if outcome == 1 then parts[#parts + 1] = sub(blobs, starts[passed + 1], starts[passed + n + 1] - 2) end
      passed, c = passed + n, c + 2
    end
  end
  return table.concat(parts, ',')
end

-- The entry goes first: scripts do not roll back, and an entry without its
-- writes is found by recovery while writes without an entry are not.
local terms = {}
for i = 1, #sales do
  local sale = sales[i]
  if sale.n > 0 then terms[#terms + 1] = sale.name .. ':' .. sale.terms end
end
local body = '{"form":1,"at":' .. int(now) .. ',"terms":{' .. table.concat(terms, ',') .. '},"purchases":[' .. taken_blobs() .. ']}'
local digest = redis.sha1hex(lane.digest .. body)
call('XADD', KEYS[2], head, 'b', body, 'd', digest)
call('HSET', KEYS[1], 'n', int(lane.n + 1), 'digest', digest)

local function write(h)
  for from = 1, h.n, CHUNK do
    call('HSET', h.key, unpack(h.w, from, math.min(from + CHUNK - 1, h.n)))
  end
end

for i = 1, #sales do write(sales[i]) end
for i = 1, #stocks do
  local s = stocks[i]
  if s.n > 0 then
    s.w[s.n + 1], s.w[s.n + 2] = 'available', int(s.left)
    s.n = s.n + 2
    write(s)
  end
end
return answer
