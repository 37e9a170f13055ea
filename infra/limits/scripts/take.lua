-- Judges attempts of buyers by the clock of this server: one wait in microseconds
-- each, 0 where the attempt passes and is noted.
--
-- KEYS: one per attempt: the buyer's log, "time/id time/id …" of what passed.
-- ARGV: per attempt its id, limit, window, the number of reports, and for each
--       report its id and its age: what a node let through without asking.
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
local read = 0

local function argument()
  read = read + 1
  return ARGV[read]
end

local function judge(key)
  local id = argument()
  local limit = tonumber(argument())
  local window = tonumber(argument())
  local times, log, known, changed = {}, {}, {}, false

  -- What is older than the window is over; what lies ahead is from a clock that
  -- was put back.
  local function note(at, who)
    if at <= now - window or at > now or known[who] then
      return false
    end
    known[who] = true
    times[#times + 1] = at
    log[#log + 1] = string.format('%.0f/%s', at, who)
    return true
  end

  for at, who in string.gmatch(redis.call('GET', key) or '', '(%d+)/(%S+)') do
    note(tonumber(at), who)
  end
  for _ = 1, tonumber(argument()) do
    local who = argument()
    changed = note(now - tonumber(argument()), who) or changed
  end
  local wait = 0
  if #times >= limit then
    table.sort(times)
    wait = times[#times - limit + 1] + window - now
  else
    changed = note(now, id) or changed
  end
  if changed then
    redis.call('SET', key, table.concat(log, ' '), 'PX', math.ceil(window / 1000))
  end
  return wait
end

local waits = {}
for i, key in ipairs(KEYS) do
  waits[i] = judge(key)
end
return waits
