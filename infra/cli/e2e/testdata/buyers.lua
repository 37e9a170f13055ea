-- Sends a purchase of another buyer each time: arg 1 is the path, arg 2 a file of
-- tokens, one a line.
local threads = 0

function setup(thread)
  thread:set("id", threads)
  threads = threads + 1
end

local tokens, next_token, path = {}, 0, ""
local body = '{"sku":"item","quantity":1}'

function init(args)
  path = args[1]
  for line in io.lines(args[2]) do
    tokens[#tokens + 1] = "Bearer " .. line
  end
  next_token = id * math.floor(#tokens / 2)
end

function request()
  next_token = next_token % #tokens + 1
  return wrk.format("POST", path, { ["Content-Type"] = "application/json", ["Authorization"] = tokens[next_token] }, body)
end

function done(summary, latency, requests)
  io.write(string.format("RESULT %d %d %d %d %d\n", summary.requests, summary.duration,
    summary.errors.status, summary.errors.connect + summary.errors.read + summary.errors.write + summary.errors.timeout,
    latency:percentile(99)))
end
