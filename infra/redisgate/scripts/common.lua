-- Stands before every script of the gate. Layout 1 of the keys, form 1 of the
-- scripts: a lane of another layout is left alone.
local LAYOUT = '1'
local FORM = '1'

-- Redis writes large numbers of Lua with an exponent; stored integers never have one.
local function int(n) return string.format('%.0f', n) end

local function micros()
  local t = redis.call('TIME')
  return tonumber(t[1]) * 1000000 + tonumber(t[2])
end

-- The process that answers: its run id and replication id, or the token of the
-- process that this in-process server lives in. nil when INFO is forbidden.
local function identity(token)
  if token ~= '' then return token, '' end
  local s = redis.pcall('INFO', 'server')
  local r = redis.pcall('INFO', 'replication')
  if type(s) ~= 'string' or type(r) ~= 'string' then return nil, nil end
  return string.match(s, 'run_id:(%w+)'), string.match(r, 'master_replid:(%w+)')
end

-- What a key holds is written by this gate alone; of what a hand wrote there, a key
-- of another type counts as missing. It is read of no other fault.
local function foreign_type(reply)
  return type(reply) == 'table' and reply.err and string.find(reply.err, 'WRONGTYPE', 1, true)
end

local function hmget(key, ...)
  local v = redis.pcall('HMGET', key, ...)
  if not v.err then return v end
  if not foreign_type(v) then return redis.call('HMGET', key, ...) end
  local none = {}
  for i = 1, select('#', ...) do none[i] = false end
  return none
end

-- The state of a record or stock hash as it was read; false, as of one that is missing,
-- for one that no script writes.
local function known(state) return (state == 'open' or state == 'stub') and state end

-- A lane is whole if its numbers can be read; a layout that is no number is none.
local function read_lane(key, token)
  local v = hmget(key, 'layout', 'epoch', 'n', 'digest', 'open', 'run_id', 'replid', 'opened_at')
  local run, replid = identity(token)
  local exists = v[1] == LAYOUT
  local epoch, n = tonumber(v[2] or '0'), tonumber(v[3] or '0')
  local open = exists and v[5] == '1' and epoch and n and true or false
  local same = exists and run and replid and v[6] == run and v[7] == replid
  return {
    key = key, exists = exists, foreign = not exists and tonumber(v[1] or '') and v[1],
    epoch = epoch or 0, n = n or 0, digest = v[4] or '',
    open = open, same = same, opened = tonumber(v[8] or '') and v[8] or '0',
    run = run, replid = replid, now = micros(),
    selling = open and same,
  }
end

local function server_name(l)
  if not l.run or not l.replid then return '' end
  if l.replid == '' then return l.run end
  return l.run .. '/' .. l.replid
end

-- nil where something else than a journal stands there.
local function last_id(journal)
  local e = redis.pcall('XREVRANGE', journal, '+', '-', 'COUNT', '1')
  if foreign_type(e) then return nil end
  if e.err then e = redis.call('XREVRANGE', journal, '+', '-', 'COUNT', '1') end
  return e[1] and e[1][1] or ''
end

local function flag(b) return b and 1 or 0 end

-- The newest entry is the cut where everything was cut. A lane whose journal is none
-- does not exist: it recovers.
local function lane_reply(l, journal)
  local cut = hmget(l.key, 'cut', 'cut_digest')
  local last = last_id(journal)
  local exists = l.exists and last
  if not last or last == '' then last = cut[1] or '' end
  return {flag(exists), flag(l.open), flag(l.same), server_name(l), int(l.epoch), int(l.n), l.digest,
    last, int(l.now), l.opened, cut[1] or '', cut[2] or '', l.foreign or ''}
end

-- A hash with what was read of it (f), and the writes it waits for (w).
local function new_hash(key) return {key = key, f = {}, w = {}} end

local CHUNK = 1000

local function fetch(h, names)
  for from = 1, #names, CHUNK do
    local to = math.min(from + CHUNK - 1, #names)
    local v = hmget(h.key, unpack(names, from, to))
    for i = from, to do h.f[names[i]] = v[i - from + 1] end
  end
end

local function field(h, name)
  local v = h.f[name]
  if v == nil then
    v = redis.call('HGET', h.key, name)
    h.f[name] = v
  end
  return v
end

local function put(h, name, value)
  h.f[name] = value
  local w = h.w
  w[#w + 1] = name
  w[#w + 1] = value
end

local function flush(h)
  local w = h.w
  for from = 1, #w, CHUNK do
    redis.call('HSET', h.key, unpack(w, from, math.min(from + CHUNK - 1, #w)))
  end
  h.w = {}
end

-- A hold: letter, quantity, buyer.
local function split(v) return string.match(v, '^(%a)|([^|]*)|(.*)$') end

-- An order record: letter, entry, items, buyer.
local function split_record(v) return string.match(v, '^(%a)|([^|]*)|([^|]*)|(.*)$') end

-- The place that a hash has applied, as it is answered: '?' where one that is there
-- has lost it.
local function applied_of(state, applied) return applied or (state and '?' or '0:') end

-- The same of a stock hash, v = {state, applied, available}: one whose units cannot be
-- read has lost its place too, and is built again.
local function stock_applied(v)
  if v[1] and v[3] and not tonumber(v[3]) then return '?' end
  return applied_of(v[1], v[2])
end

-- What goes may have a million fields: it is freed beside, not within the script.
local function make_stub(key, token)
  redis.call('UNLINK', key)
  redis.call('HSET', key, 'state', 'stub', 'available', '0', 'applied', '0:', 'token', token)
end

local function make_sale_stub(key, token)
  redis.call('UNLINK', key)
  redis.call('HSET', key, 'state', 'stub', 'applied', '0:', 'token', token)
end
