-- Sends a purchase of another buyer each time: arg 1 is the path, arg 2 a file of
-- tokens, one a line. With "once" as arg 3 (and one thread) each buyer presses once: the
-- script says BEGAN before the first and LAST when all have, and whoever started it ends
-- it then.
local threads = 0

function setup(thread)
  thread:set("id", threads)
  threads = threads + 1
end

local tokens, next_token, path, once = {}, 0, "", false
local asked, told = 0, false
local body = '{"sku":"item","quantity":1}'

function init(args)
  path, once = args[1], args[3] == "once"
  for line in io.lines(args[2]) do
    tokens[#tokens + 1] = "Bearer " .. line
  end
  next_token = once and 0 or id * math.floor(#tokens / 2)
end

local function say(word)
  io.write(word, "\n")
  io.flush()
end

local function purchase()
  next_token = next_token % #tokens + 1
  return wrk.format("POST", path, { ["Content-Type"] = "application/json", ["Authorization"] = tokens[next_token] }, body)
end

local function press()
  asked = asked + 1
  if asked == 1 then -- wrk looks at one request before it begins, and sends none
    return wrk.format("GET", "/healthz")
  end
  if asked == 2 then
    say("BEGAN")
  end
  if next_token == #tokens then
    if not told then
      told = true
      say("LAST")
      wrk.thread:stop()
    end
    return wrk.format("GET", "/healthz")
  end
  return purchase()
end

function request()
  if once then
    return press()
  end
  return purchase()
end

function done(summary, latency, requests)
  io.write(string.format("RESULT %d %d %d %d %d\n", summary.requests, summary.duration,
    summary.errors.status, summary.errors.connect + summary.errors.read + summary.errors.write + summary.errors.timeout,
    latency:percentile(99)))
end
