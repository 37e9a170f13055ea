-- Brings consecutive events of stock streams of a lane into their hashes, each page by
-- itself: domain.Stock.Fold, and what the events say of orders into the sale's record.
-- KEYS: per page the sale's record and the stock hash. ARGV: number of pages, then per
--   page: from, to, item, number of events, and per event: kind, id,
--   quantity, buyer, entry, key, body hash, ticket. Kinds: I in, W out (withdrawn, moved),
--   R reserved, C returned, X refused,
--   L written off (the hold ends, its units stay away), K a withdrawal that is not kept,
--   N nothing.
-- Answer: per page: done, state, applied. Done is -1 where the units would leave the
--   exact integers: nothing of that page was written then.
local sale, stock, left, item -- of the page at hand

local function earlier(a, b)
  local ae, an, ai = string.match(a, '^(%d+)-(%d+)%.?(%d*)$')
  local be, bn, bi = string.match(b, '^(%d+)-(%d+)%.?(%d*)$')
  if not ae or not be then return false end
  if ae ~= be then return tonumber(ae) < tonumber(be) end
  if an ~= bn then return tonumber(an) < tonumber(bn) end
  return (tonumber(ai) or 0) < (tonumber(bi) or 0)
end

-- Puts an order into its buyer's list, in the order of entries.
local function list_order(order, buyer, entry)
  local list, out, placed = field(sale, 'b:' .. buyer) or '', {}, false
  for other in string.gmatch(list, '[^,]+') do
    if other == order then return end
    local record = not placed and field(sale, 'o:' .. other)
    if record then
      local _, e = split_record(record)
      if earlier(entry, e or '') then
        out[#out + 1] = order
        placed = true
      end
    end
    out[#out + 1] = other
  end
  if not placed then out[#out + 1] = order end
  put(sale, 'b:' .. buyer, table.concat(out, ','))
end

local function take(e)
  left = left - e.quantity
  put(stock, 'h:' .. e.id, 'T|' .. int(e.quantity) .. '|' .. e.buyer)
end

local function give_back(e, letter)
  local hold = stock.f['h:' .. e.id]
  local quantity, buyer = int(e.quantity), e.buyer
  if hold then
    local was
    was, quantity, buyer = split(hold)
    if not was then quantity, buyer = int(e.quantity), e.buyer end
    if was == 'T' then left = left + (tonumber(quantity) or 0) end
  end
  put(stock, 'h:' .. e.id, letter .. '|' .. quantity .. '|' .. buyer)
end

-- Says in the sale's record what became of an order, and that this item is in it.
local function record(e, letter)
  local letter_then, old, others, whose = split_record(sale.f['o:' .. e.id] or '')
  local entry, skus, buyer = e.entry, item, e.buyer
  if letter_then then
    if old ~= '' then entry = old end
    if buyer == '' then buyer = whose end -- a refusal may name none
    if others ~= '' then
      skus = others
      if not string.find(',' .. others .. ',', ',' .. item .. ',', 1, true) then skus = others .. ',' .. item end
    end
  end
  put(sale, 'o:' .. e.id, letter .. '|' .. entry .. '|' .. skus .. '|' .. buyer)
  if letter ~= 'R' then list_order(e.id, e.buyer, entry) end
end

local function reserved(e)
  local unknown = not stock.f['h:' .. e.id]
  if unknown then take(e) end
  local record_then = sale.f['o:' .. e.id]
  local letter = record_then and string.sub(record_then, 1, 1)
  if not unknown and (letter == 'A' or letter == 'E') then return end
  record(e, 'A')
  if e.key ~= '' then put(sale, 'k:' .. e.key, e.id .. '|' .. e.body) end
  if e.ticket ~= '' then put(sale, 't:' .. e.ticket, e.id) end
end

local function fold(e)
  if e.kind == 'I' then
    left = left + e.quantity
  elseif e.kind == 'W' then
    if not stock.f['h:' .. e.id] then take(e) end
  elseif e.kind == 'R' then
    reserved(e)
  elseif e.kind == 'L' then
    if not stock.f['h:' .. e.id] then take(e) end
    local was, quantity, buyer = split(stock.f['h:' .. e.id])
    if was == 'T' then put(stock, 'h:' .. e.id, 'R|' .. quantity .. '|' .. buyer) end
    record(e, 'E')
  elseif e.kind == 'N' then
    -- a repair was noted: what it mended was written by the repair
  elseif e.kind == 'K' then
    give_back(e, 'X')
  elseif e.kind == 'C' then
    give_back(e, 'R')
    record(e, 'E')
  else
    give_back(e, 'X')
    record(e, 'R')
  end
end

-- Applies the events from first to last to the hash, if it stands at from.
local function page(from, to, first, last)
  local holds, orders = {'state', 'applied', 'available'}, {'state'}
  for at = first, last, 8 do
    if ARGV[at] ~= 'I' and ARGV[at] ~= 'N' then
      holds[#holds + 1] = 'h:' .. ARGV[at + 1]
      if ARGV[at] ~= 'W' and ARGV[at] ~= 'K' then orders[#orders + 1] = 'o:' .. ARGV[at + 1] end
    end
  end
  fetch(sale, orders)
  fetch(stock, holds)
  local state, applied = known(stock.f.state), stock.f.applied
  left = tonumber(stock.f.available or '0')
  if not left then applied = '?' end
  if not known(sale.f.state) or not state or applied ~= from then
    return {0, state or '', applied or '0:'}
  end
  for at = first, last, 8 do
    fold({kind = ARGV[at], id = ARGV[at + 1], quantity = tonumber(ARGV[at + 2]), buyer = ARGV[at + 3],
      entry = ARGV[at + 4], key = ARGV[at + 5], body = ARGV[at + 6], ticket = ARGV[at + 7]})
  end
  if math.abs(left) > 9007199254740991 then return {-1, state, applied} end
  put(stock, 'available', int(left))
  put(stock, 'applied', to)
  flush(sale)
  flush(stock)
  return {1, state, to}
end

local answer, at = {}, 2
for p = 1, tonumber(ARGV[1]) do
  sale, stock, item = new_hash(KEYS[2 * p - 1]), new_hash(KEYS[2 * p]), ARGV[at + 2]
  local last = at + 3 + 8 * tonumber(ARGV[at + 3])
  answer[p] = page(ARGV[at], ARGV[at + 1], at + 4, last)
  at = last + 1
end
return answer
