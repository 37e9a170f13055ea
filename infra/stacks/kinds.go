package stacks

import (
	"slices"
	"strings"
)

// Kind is one thing that goroutines wait for.
type Kind struct {
	// Name is stable; Says is a sentence's worth of it for people.
	Name, Says string
	// Idle: whoever waits for it holds nobody up.
	Idle bool
	is   func(stack) bool
}

// stack is one goroutine: its functions from the innermost out, without those of the
// runtime, and what the runtime says it does.
type stack struct {
	state string
	names []string
}

// has tells whether a function's name contains one of these.
func (s stack) has(parts ...string) bool {
	return slices.ContainsFunc(s.names, func(name string) bool {
		return slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(name, p) })
	})
}

// top is has of the innermost functions alone.
func (s stack) top(n int, parts ...string) bool {
	s.names = s.names[:min(n, len(s.names))]
	return s.has(parts...)
}

// network tells whether it waits for bytes.
func (s stack) network() bool { return s.top(2, "internal/poll.runtime_pollWait") }

// kinds is the one list of what is waited for; the first that fits counts, and the last
// fits everything. Adding one is a line.
func kinds() []Kind {
	inside := func(parts ...string) func(stack) bool { return func(s stack) bool { return s.has(parts...) } }
	reading := func(parts ...string) func(stack) bool {
		return func(s stack) bool { return s.network() && s.has(parts...) }
	}
	return []Kind{
		{Name: "running", Says: "runs, or could", is: func(s stack) bool {
			return slices.Contains([]string{"running", "runnable", "syscall"}, s.state)
		}},
		{Name: "mutex", Says: "a lock within the process", is: func(s stack) bool {
			return s.top(4, "sync.(*Mutex).Lock", "sync.(*RWMutex).Lock", "sync.(*RWMutex).RLock", "sync.(*Once).do")
		}},
		{Name: "redis_pool", Says: "a free connection to Redis", is: inside("internal/pool.(*ConnPool).waitTurn")},
		{Name: "redis_connect", Says: "a new connection to Redis", is: inside("internal/pool.(*ConnPool).queuedNewConn", "internal/pool.(*ConnPool).dialConn")},
		{Name: "redis", Says: "an answer of Redis", is: reading("github.com/redis/go-redis")},
		{Name: "postgres_pool", Says: "a free connection to PostgreSQL", is: func(s stack) bool {
			return s.has("puddle/v2.(*Pool[") && s.has("semaphore.(*Weighted).Acquire")
		}},
		{Name: "postgres_connect", Says: "a new connection to PostgreSQL", is: inside(").initResourceValue", "pgconn.connectOne", "pgconn.ConnectConfig")},
		{Name: "log_lock", Says: "the log lock, and what is read under it at once", is: reading("pgstore.lockAndRead")},
		{Name: "postgres", Says: "an answer of PostgreSQL", is: reading("github.com/jackc/pgx/v5")},
		{Name: "log_queue", Says: "the appender, to be stored in the log", is: inside("pgstore.(*Store).Submit")},
		{Name: "log_idle", Says: "the appender, something to store", Idle: true, is: inside("pgstore.(*queue).")},
		{Name: "gate_queue", Says: "the gate's call that carries the purchase", is: inside("redisgate.(*Gate).Reserve")},
		{Name: "admission", Says: "to be let in: enough purchases are worked on", is: inside("admission.(*Limiter).wait")},
		{Name: "recording", Says: "the record of a purchase that the gate accepted", is: inside("commands.(*Placed).Wait")},
		{Name: "direct", Says: "the log to judge a purchase without a gate", is: inside("commands.(*Direct).", "commands.(*question).")},
		{Name: "long_poll", Says: "news of an order, for its buyer", Idle: true, is: inside("commands.(*Finder).Wait")},
		{Name: "bus", Says: "the bus: something to publish or to apply, or an answer of Kafka", Idle: true, is: inside("github.com/IBM/sarama", "ThreeDotsLabs/watermill", "seckill/infra/bus.")},
		{Name: "stream", Says: "the next frame of a stream", Idle: true, is: inside("api.(*Server).overviewStream")},
		{Name: "http_idle", Says: "the next request of a connection, or its end", Idle: true, is: func(s stack) bool {
			return s.has("net/http.(*conn).readRequest", "net/http.(*connReader).backgroundRead", "net/http.(*response).finishRequest") ||
				s.network() && s.has("net/http.(*conn).serve") && s.has("bufio.(*Reader).Peek")
		}},
		{Name: "http_client", Says: "a client who sends or reads slowly", is: func(s stack) bool { return s.network() && s.has("net/http.(*conn).serve") }},
		{Name: "http_accept", Says: "a new connection", Idle: true, is: inside("net.(*netFD).accept")},
		{Name: "http_out", Says: "a server that this process asks by HTTP", Idle: true, is: inside("net/http.(*persistConn).")},
		{Name: "request", Says: "something else, in the middle of a request", is: inside("net/http.(*conn).serve")},
		{Name: "part", Says: "something to do, as a part of this process", Idle: true, is: inside("seckill/")},
		{Name: "other", Says: "something of a library or of the runtime", Idle: true, is: func(stack) bool { return true }},
	}
}
