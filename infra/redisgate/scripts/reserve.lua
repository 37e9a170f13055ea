-- Judges a batch of purchases of one lane, in order, and takes what it may.
-- KEYS: lane, journal, then per group the sale's record and the stock hashes of its items.
-- ARGV: token, number of groups, per group: quoted sale id, number of items, their names;
--   then per purchase: group, o:order, b:buyer, k:key or '', body hash, '1' where the
--   buyer may buy, '0' where not, -limit for a promise that the gate forgot, t:ticket or '' or the outcome of a ticket that will not do, number of lines, per line item and quantity, and the purchase as the journal carries it.
-- Answer: the clock, the entry's id, then per purchase an outcome, or 100 + place
--   in the entry for what was taken, or {outcome, order, entry or time}.
-- This is the hot path: strings and tables cost more than anything else here.
local ARGV, KEYS = ARGV, KEYS
local GROUP, ORDER, BUYER, KEY, BODY, ELIGIBLE, TICKET, COUNT, LINES = 0, 1, 2, 3, 4, 5, 6, 7, 8
local sub, gmatch = string.sub, string.gmatch

-- Small numbers come as text, and mostly the same ones: each is read once.
local num = setmetatable({}, {__index = function(t, text)
  local n = tonumber(text)
  t[text] = n
  return n
end})

local lane = read_lane(KEYS[1], ARGV[1])
local now = lane.now

local sales, stocks, groups = {}, {}, {}

local function once(all, key)
  local h = all[key]
  if not h then
    h = new_hash(key)
    all[key] = h
  end
  return h
end

local first, key = 3, 3
for g = 1, tonumber(ARGV[2]) do
  local group = {name = ARGV[first], sale = once(sales, KEYS[key]), count = tonumber(ARGV[first + 1]), items = {}, named = {}}
  for i = 1, group.count do
    local s = once(stocks, KEYS[key + i])
    group.items[tostring(i)] = s
    group.items[i] = s
    group.named[ARGV[first + 1 + i]] = s
    s.sku = ARGV[first + 1 + i]
  end
  key = key + 1 + group.count
  first = first + 2 + group.count
  groups[tostring(g)] = group
end

-- Read all that most purchases need; the rest is read where it is looked at.
local at = first
while at <= #ARGV do
  local sale = groups[ARGV[at]].sale
  local names = sale.names
  if not names then
    names = {'state', 'terms', 'opens', 'closes', 'limit', 'orders_per_buyer', 'rebuy', 'paused', 'closed', 'hold', 'waits'}
    sale.names = names
  end
  local n = #names
  names[n + 1] = ARGV[at + ORDER]
  names[n + 2] = ARGV[at + BUYER]
  if ARGV[at + KEY] ~= '' then names[n + 3] = ARGV[at + KEY] end
  if sub(ARGV[at + TICKET], 1, 2) == 't:' then names[#names + 1] = ARGV[at + TICKET] end
  at = at + LINES + 2 * num[ARGV[at + COUNT]] + 1
end
for _, sale in pairs(sales) do
  fetch(sale, sale.names)
  local f = sale.f
  sale.open = f.state == 'open' and f.terms
  sale.closed = f.closed == '1' or f.hold == '-4'
  sale.paused = f.paused == '1' or f.hold == '-5'
  sale.opens, sale.closes = tonumber(f.opens or '0'), tonumber(f.closes or '0')
  sale.limit, sale.allowed = tonumber(f.limit or '0'), tonumber(f.orders_per_buyer or '0')
  sale.open = sale.open and sale.opens and sale.closes and sale.limit and sale.allowed
  sale.rebuy = f.rebuy == '1'
end

local function ready(group)
  if group.ready == nil then
    group.ready = lane.selling or false
    for i = 1, group.count do
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

-- The order of judgement is domain.Judge's.
local function judge(at, group)
  local sale = group.sale
  local f = sale.f
  if not sale.open then return -1 end
  local own = f[ARGV[at + ORDER]]
  if own then
    local letter, entry = split_record(own)
    if letter == 'T' or letter == 'R' then return -10 end
    return 3, sub(ARGV[at + ORDER], 3), entry
  end
  local known = ARGV[at + KEY] ~= '' and f[ARGV[at + KEY]]
  if known then
    local order, body = string.match(known, '^([^|]*)|(.*)$')
    if order and body ~= '' and body ~= ARGV[at + BODY] then return -9, order, '' end
    if order then
      local _, entry = split_record(field(sale, 'o:' .. order) or '')
      return 3, order, entry or ''
    end
  end
  local list = f[ARGV[at + BUYER]]
  if list then
    local order = repeat_of(sale, list)
    if order then return 2, order, '' end
  end
  if not ready(group) then return -1 end
  local may = ARGV[at + ELIGIBLE]
  local promised = may ~= '1' and may ~= '0' and -num[may]
  if not promised or not sale.closed and now < sale.closes then
    if sale.closed then return -4 end
    if sale.paused then return -5 end
    if now < sale.opens then return -3, '', int(sale.opens) end
    if now >= sale.closes then return -4 end
    if f.waits == '1' then return -5 end
    if may == '0' then return -6 end
  end
  local ticket = ARGV[at + TICKET]
  if ticket ~= '' then
    if sub(ticket, 1, 2) ~= 't:' then return tonumber(ticket) end
    local used = f[ticket]
    if used and sub(field(sale, 'o:' .. used) or '', 1, 1) ~= 'R' then return -8 end
  end
  local units = list and net_units(group, list) or 0
  local last = at + LINES + 2 * num[ARGV[at + COUNT]] - 1
  for l = at + LINES, last, 2 do units = units + num[ARGV[l + 1]] end
  if units > sale.limit and units > (promised or 0) then return -2 end
  for l = at + LINES, last, 2 do
    if group.items[ARGV[l]].left < num[ARGV[l + 1]] then return 0 end
  end
  return 1
end

local blobs = {}
local head = int(lane.epoch) .. '-' .. int(lane.n + 1)

local function take(at, group)
  local sale, order, buyer = group.sale, sub(ARGV[at + ORDER], 3), sub(ARGV[at + BUYER], 3)
  local last = at + LINES + 2 * num[ARGV[at + COUNT]]
  blobs[#blobs + 1] = ARGV[last]
  group.took = true
  local hold, skus = 'h:' .. order, nil
  for l = at + LINES, last - 1, 2 do
    local s, q = group.items[ARGV[l]], ARGV[l + 1]
    s.left = s.left - num[q]
    s.took = true
    put(s, hold, 'T|' .. q .. '|' .. buyer)
    skus = skus and skus .. ',' .. s.sku or s.sku
  end
  local list = sale.f[ARGV[at + BUYER]]
  put(sale, ARGV[at + ORDER], 'A|' .. head .. '.' .. #blobs .. '|' .. skus .. '|' .. buyer)
  put(sale, ARGV[at + BUYER], list and list .. ',' .. order or order)
  if ARGV[at + KEY] ~= '' then put(sale, ARGV[at + KEY], order .. '|' .. ARGV[at + BODY]) end
  if ARGV[at + TICKET] ~= '' then put(sale, ARGV[at + TICKET], order) end
  return 100 + #blobs
end

local answer, count = {now, head}, 2
at = first
while at <= #ARGV do
  local group = groups[ARGV[at]]
  local outcome, order, more = judge(at, group)
  if outcome == 1 then
    outcome = take(at, group)
  elseif order then
    outcome = {outcome, order, more}
  end
  count = count + 1
  answer[count] = outcome
  at = at + LINES + 2 * num[ARGV[at + COUNT]] + 1
end

if #blobs == 0 then return answer end

-- The entry goes first: scripts do not roll back, and an entry without its
-- writes is found by recovery while writes without an entry are not.
local terms, named = {}, {}
for _, group in pairs(groups) do
  if group.took and not named[group.name] then
    named[group.name] = true
    terms[#terms + 1] = group.name .. ':' .. group.sale.f.terms
  end
end
local body = '{"form":1,"at":' .. int(now) .. ',"terms":{' .. table.concat(terms, ',') .. '},"purchases":[' ..
  table.concat(blobs, ',') .. ']}'
local digest = redis.sha1hex(lane.digest .. body)
redis.call('XADD', KEYS[2], head, 'b', body, 'd', digest)
redis.call('HSET', KEYS[1], 'n', int(lane.n + 1), 'digest', digest)
for _, sale in pairs(sales) do flush(sale) end
for _, s in pairs(stocks) do
  if s.took then
    put(s, 'available', int(s.left))
    flush(s)
  end
end
return answer
