package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"seckill/infra/figures"
)

// stepReasons are the steps that are told, by function, and say what it does for a
// purchase with all that it calls.
var stepReasons = map[string]string{
	// The runtime and what others wrote.
	"net/http.(*conn).serve":                "everything for a connection: reading, routing, our handler, writing",
	"net/http.(*conn).readRequest":          "reading and parsing the head of a request",
	"net/http.(*response).finishRequest":    "writing the answer out: a system call",
	"net/http.(*connReader).backgroundRead": "net/http waits beside a handler for a connection that breaks: system calls and wake-ups",
	"syscall.Syscall":                       "the kernel: sockets",
	"runtime.mcall":                         "the scheduler: parking a goroutine, and finding the next one to run",
	"runtime.gcBgMarkWorker":                "the garbage collector",
	"runtime.mallocgc":                      "allocating memory",
	"encoding/json.Marshal":                 "encoding JSON",
	"encoding/json.Unmarshal":               "decoding JSON",
	"log/slog.(*Logger).log":                "lines of the log",

	// A purchase over HTTP.
	"seckill/api.(*Server).ServeHTTP":             "ours of a request, routing and metrics included",
	"seckill/api.(*Server).purchase":              "the route: who asks, limits, admission, the body, the command, the answer",
	"seckill/api.(*Server).callerOf":              "who asks: the token's signature and claims",
	"seckill/api.(*Server).limit":                 "attempts of this buyer in the last second",
	"seckill/api.(*Server).readPurchase":          "reading the body",
	"seckill/api.(*Server).attest":                "the signed receipt of a refusal",
	"seckill/api.(*refusal).write":                "the refusal as a problem document",
	"seckill/api.writePurchase":                   "the answer to a purchase",
	"seckill/commands.(*Purchaser).Purchase":      "the command: sale and terms, what is known already, the gate",
	"seckill/commands.(*Purchaser).soldOut":       "asking by a look whether anything is left",
	"seckill/domain.NewOrderID":                   "the order's id, with its HMAC",
	"seckill/infra/redisgate.(*Gate).Reserve":     "joining the next call of the script and waiting for it",
	"seckill/infra/redisgate.(*Gate).SoldOut":     "joining a look and waiting for it",
	"seckill/infra/redisgate.(*Gate).send":        "a call of the script for all who wait: arguments, the way to Redis and back, verdicts",
	"seckill/infra/redisgate.(*reserveCall).call": "writing the arguments of a call",
	"seckill/infra/redisgate.(*reserveCall).read": "reading the verdicts of a call",

	// From the journal into the log.
	"seckill/infra/redisgate.(*Gate).Read":           "reading the journal",
	"seckill/commands.openEntry":                     "decoding an entry and checking its digest",
	"seckill/commands.(*draft).add":                  "deciding: stock, double orders, limit, by guard and claims",
	"seckill/commands.(*Env).newEventWith":           "an event: its id, its payload",
	"seckill/eventstore/pgstore.(*Store).runBatch":   "a batch of appends under the log lock, with the answers of PostgreSQL",
	"seckill/eventstore/pgstore.makePlan":            "deciding, numbering and chaining the events of a batch",
	"seckill/eventstore/pgstore.(*transaction).send": "writing the rows of a batch",
	"seckill/eventstore.ComputeHash":                 "the hash of an event",
	"seckill/commands.(*Follower).Push":              "applying what was recorded to the gate",
	"seckill/commands.(*Recorder).pages":             "the entries of a lane, page by page",
	"seckill/domain.Encode":                          "an event as bytes",
	"seckill/infra/redisgate.(*Gate).ApplyStock":     "a call of apply.lua",
	"seckill/eventstore/pgstore.(*Store).ReadAll":    "reading pages of the log",
	"seckill/eventstore/pgstore.collectRecords":      "rows of the log as records",
	"seckill/eventstore.CheckNext":                   "checking the chain of what was read",
	"seckill/infra/bus.(*Relay).relay":               "the relay: reading pages, cutting them by shard, publishing",
	"seckill/infra/bus.(*cutter).cut":                "cutting a page into envelopes by shard",
	"seckill/infra/bus.encodeEvent":                  "an event in an envelope",
	"seckill/infra/cli.(*app).logPublished":          "one line for every purchase that was decided and published",
	"seckill/projections.(*Runner).attempt":          "the transaction of a batch: checkpoint, folding, rows",
	"seckill/projections.(*Runner).readOn":           "what a shard reads from the store itself: after a start, a gap, or when it is idle",
	"seckill/projections.(*Runner).commit":           "writing rows and checkpoint",
	"seckill/projections.(*Projection).facts":        "decoding and folding the events of a batch",
	"seckill/projections.(*decoder).decode":          "an event out of its bytes, shared by the three views",
	"seckill/domain.(*Money).UnmarshalJSON":          "amounts of money out of text",
}

// readSteps reads the output of pprof -top -cum -unit=us for n purchases.
func readSteps(top string, n int) (steps []figures.Step) {
	for line := range strings.Lines(top) {
		fields := strings.Fields(line)
		if len(fields) < 6 || !strings.HasSuffix(fields[4], "%") {
			continue
		}
		function := strings.TrimSuffix(strings.Join(fields[5:], " "), " (inline)")
		if why := stepReasons[function]; why != "" {
			steps = append(steps, figures.Step{Function: function, Micros: micros(fields[3]) / float64(n), Why: why})
		}
	}
	return steps
}

// micros reads a number of pprof in µs, such as 12us or 0.
func micros(text string) float64 {
	n, err := strconv.ParseFloat(strings.TrimSuffix(text, "us"), 64)
	if err != nil {
		return 0
	}
	return n
}

func TestStepsAreReadOutOfAProfile(t *testing.T) {
	const top = `Type: cpu
Duration: 5s, Total samples = 4000000us (80%)
Showing nodes accounting for 4000000us, 100% of 4000000us total
      flat  flat%   sum%        cum   cum%
         0     0%     0%  3000000us 75.00%  net/http.(*conn).serve
   50000us  1.25%  1.25%  2000000us 50.00%  seckill/api.(*Server).purchase (inline)
         0     0%  1.25%  1000000us 25.00%  github.com/x/y.Z
   10000us  0.25%   1.5%    79000us  1.97%  seckill/domain.NotNamedAbove
`
	steps := readSteps(top, 100_000)
	if len(steps) != 2 || steps[0].Function != "net/http.(*conn).serve" || steps[0].Micros != 30 || steps[0].Why == "" ||
		steps[1].Function != "seckill/api.(*Server).purchase" || steps[1].Micros != 20 {
		t.Errorf("got %+v", steps)
	}
}

// A function that was renamed would be missing on the page, and nobody would see it.
func TestEveryStepIsAFunctionThatThereIs(t *testing.T) {
	method := regexp.MustCompile(`^seckill/(.+)\.\(\*(\w+)\)\.(\w+)$`)
	function := regexp.MustCompile(`^seckill/(.+)\.(\w+)$`)
	for name := range stepReasons {
		var dir, declared string
		if m := method.FindStringSubmatch(name); m != nil {
			dir, declared = m[1], fmt.Sprintf(`(?m)^func \(\w+ \*%s\) %s\(`, m[2], m[3])
		} else if m := function.FindStringSubmatch(name); m != nil {
			dir, declared = m[1], fmt.Sprintf(`(?m)^func %s[\[(]`, m[2])
		} else {
			continue // not ours
		}
		files, err := filepath.Glob(filepath.Join("..", "..", "..", dir, "*.go"))
		if err != nil || len(files) == 0 {
			t.Errorf("%s: no files of package %s (%v)", name, dir, err)
			continue
		}
		found := false
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			found = found || regexp.MustCompile(declared).Match(text)
		}
		if !found {
			t.Errorf("%s is a step on the page of performance, and there is no such function", name)
		}
	}
}
