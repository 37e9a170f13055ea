-- Judges a batch of purchases of one lane, in order, and takes what it may.
-- KEYS: lane, journal, then per group the sale's record and the stock hashes of its items.
-- ARGV: token, number of groups, per group: quoted sale id, number of items;
--   then per purchase: group, order, buyer, key, body hash, eligible, number of
--   lines, per line: item and quantity, and the purchase as the journal carries it.
-- Answer: the clock, then per purchase an outcome or {outcome, order, entry or time}.
local lane = read_lane(KEYS[1], ARGV[1])
local now = lane.now

local sales, stocks, groups, asks = {}, {}, {}, {}

local function once(all, key)
  local h = all[key]
  if not h then
    h = new_hash(key)
    all[key] = h
  end
  return h
end

-- Read the shape of the call.
local at, key = 3, 3
for g = 1, tonumber(ARGV[2]) do
  local group = {name = ARGV[at], sale = once(sales, KEYS[key]), stocks = {}}
  for i = 1, tonumber(ARGV[at + 1]) do group.stocks[i] = once(stocks, KEYS[key + i]) end
  key = key + 1 + #group.stocks
  at = at + 2
  groups[g] = group
end
while at <= #ARGV do
  local ask = {group = groups[tonumber(ARGV[at])], order = ARGV[at + 1], buyer = ARGV[at + 2], key = ARGV[at + 3],
    body = ARGV[at + 4], eligible = ARGV[at + 5] == '1', lines = {}, units = 0}
  local n = tonumber(ARGV[at + 6])
  at = at + 7
  for i = 1, n do
    local q = tonumber(ARGV[at + 1])
    ask.lines[i] = {stock = ask.group.stocks[tonumber(ARGV[at])], quantity = q}
    ask.units = ask.units + q
    at = at + 2
  end
  ask.blob = ARGV[at]
  at = at + 1
  ask.o, ask.b = 'o:' .. ask.order, 'b:' .. ask.buyer
  local names = ask.group.sale.names
  if not names then
    names = {'state', 'terms', 'opens', 'closes', 'limit', 'orders_per_buyer', 'rebuy', 'paused', 'closed', 'hold'}
    ask.group.sale.names = names
  end
  names[#names + 1] = ask.o
  names[#names + 1] = ask.b
  if ask.key ~= '' then
    ask.k = 'k:' .. ask.key
    names[#names + 1] = ask.k
  end
  asks[#asks + 1] = ask
end

-- Read all that most purchases need; the rest is read where it is looked at.
for _, sale in pairs(sales) do
  fetch(sale, sale.names)
  local f = sale.f
  sale.open = f.state == 'open' and f.terms
  sale.closed = f.closed == '1' or f.hold == '-4'
  sale.paused = f.paused == '1' or f.hold == '-5'
  sale.opens, sale.closes = tonumber(f.opens or '0'), tonumber(f.closes or '0')
  sale.limit, sale.allowed = tonumber(f.limit or '0'), tonumber(f.orders_per_buyer or '0')
  sale.rebuy = f.rebuy == '1'
end

local function ready(group)
  if group.ready == nil then
    group.ready = lane.selling
    for _, s in ipairs(group.stocks) do
      if group.ready then
        if not s.read then
          fetch(s, {'state', 'available'})
          s.read = true
          s.left = tonumber(s.f.available or '0')
        end
        group.ready = s.f.state == 'open'
      end
    end
  end
  return group.ready
end

local function standing(sale, order)
  local v = field(sale, 'o:' .. order)
  return v and string.sub(v, 1, 1) or ''
end

-- The order that a further purchase meets: domain.RepeatOf.
local function repeat_of(sale, list)
  local live, counted, last_live, last_any = 0, 0, nil, nil
  for order in string.gmatch(list, '[^,]+') do
    local s = standing(sale, order)
    if s == 'A' then
      live = live + 1
      last_live = order
    end
    if s == 'A' or (s == 'E' and not sale.rebuy) then
      counted = counted + 1
      last_any = order
    end
  end
  if live >= sale.allowed then return last_live end
  if counted >= sale.allowed then return last_any end
  return nil
end

-- Units of live orders, summed over the buyer's shares in every stock of the sale.
local function net_units(group, b)
  local n = 0
  for _, s in ipairs(group.stocks) do
    for order, q in string.gmatch(field(s, b) or '', '([^=,]+)=(%d+)') do
      if standing(group.sale, order) == 'A' then n = n + tonumber(q) end
    end
  end
  return n
end

local function entry_of(record)
  if not record then return '' end
  local _, entry = split(record)
  return entry or ''
end

-- The order of judgement is domain.Judge's.
local function judge(ask)
  local group = ask.group
  local sale = group.sale
  if not sale.open then return -1 end
  local own = sale.f[ask.o]
  if own then
    local letter = string.sub(own, 1, 1)
    if letter == 'T' or letter == 'R' then return -10 end
    return 3, ask.order, entry_of(own)
  end
  local known = ask.k and sale.f[ask.k]
  if known then
    local order, body = string.match(known, '^([^|]*)|(.*)$')
    if body ~= '' and body ~= ask.body then return -9, order, '' end
    return 3, order, entry_of(field(sale, 'o:' .. order))
  end
  local list = sale.f[ask.b]
  if list then
    local order = repeat_of(sale, list)
    if order then return 2, order, '' end
  end
  if not ready(group) then return -1 end
  if sale.closed then return -4 end
  if sale.paused then return -5 end
  if now < sale.opens then return -3, '', int(sale.opens) end
  if now >= sale.closes then return -4 end
  if not ask.eligible then return -6 end
  local net = list and net_units(group, ask.b) or 0
  if net + ask.units > sale.limit then return -2 end
  for _, l in ipairs(ask.lines) do
    if l.stock.left < l.quantity then return 0 end
  end
  return 1
end

local blobs, head = {}, int(lane.epoch) .. '-' .. int(lane.n + 1)

local function take(ask)
  local sale = ask.group.sale
  blobs[#blobs + 1] = ask.blob
  ask.group.took = true
  local entry = head .. '.' .. #blobs
  local list = sale.f[ask.b]
  for _, l in ipairs(ask.lines) do
    local s = l.stock
    s.left = s.left - l.quantity
    s.took = true
    local q = int(l.quantity)
    local share = list and field(s, ask.b)
    put(s, 'h:' .. ask.order, 'T|' .. q .. '|' .. ask.buyer)
    put(s, ask.b, (share and share ~= '' and share .. ',' or '') .. ask.order .. '=' .. q)
  end
  put(sale, ask.o, 'A|' .. entry .. '|' .. ask.buyer)
  put(sale, ask.b, list and list .. ',' .. ask.order or ask.order)
  if ask.k then put(sale, ask.k, ask.order .. '|' .. ask.body) end
  return entry
end

local answer = {now}
for i, ask in ipairs(asks) do
  local outcome, order, more = judge(ask)
  if outcome == 1 then
    answer[i + 1] = {1, ask.order, take(ask)}
  elseif order then
    answer[i + 1] = {outcome, order, more}
  else
    answer[i + 1] = outcome
  end
end

if #blobs == 0 then return answer end

-- The entry goes first: scripts do not roll back, and an entry without its
-- writes is found by recovery while writes without an entry are not.
local terms, named = {}, {}
for _, group in ipairs(groups) do
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
