package e2e

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"seckill/api"
	"seckill/infra/load"
	"seckill/infra/testenv"
)

var (
	overloadFor    = flag.Duration("overload.for", 2*time.Second, "how long a node is offered more than it can take")
	overloadTimes  = flag.Int("overload.times", 10, "how many times what it can take")
	overloadStrict = flag.Bool("overload.strict", false, "hold the node to its deadlines as well, which takes a machine that does nothing else")
)

const (
	overloadBuyers = 20_000
	overloadConns  = 400
	// overloadRoom and overloadDelay make a node whose gate is far away and that takes
	// little, so that one machine can offer it many times that.
	overloadRoom  = 8
	overloadDelay = 50 * time.Millisecond
)

// overloaded is a node that can take little, and a sale that nobody buys out.
type overloaded struct {
	t        *testing.T
	child    *Child
	client   *Client
	sale     string
	requests [][]byte
	next     int
}

func newOverloaded(t *testing.T) *overloaded {
	t.Helper()
	rig := NewRig(t)
	far := testenv.Proxy(t, rig.Redis.URL)
	child := ServeRig(t, rig, "SECKILL_REDIS_URL="+far.URL(), "SECKILL_LIMIT_PURCHASES=0",
		"SECKILL_ADMISSION_FLOOR="+strconv.Itoa(overloadRoom/2), "SECKILL_ADMISSION_CAP="+strconv.Itoa(overloadRoom))
	o := &overloaded{t: t, child: child, client: NewClient(child.URL)}
	o.sale = o.client.CreateSale(t, 10_000_000)
	testenv.Eventually(t, 30*time.Second, func() error {
		a, err := o.client.Buy(o.sale, "first", "k")
		if err == nil && a.Status != http.StatusAccepted && a.Status != http.StatusOK {
			err = errStatus(a)
		}
		return err
	})
	host := strings.TrimPrefix(child.URL, "http://")
	const body = `{"sku":"item","quantity":1}`
	for i := range overloadBuyers {
		token, err := api.SignToken([]byte(TestSecret), fmt.Sprintf("buyer-%d", i), "", "", time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		o.requests = append(o.requests, fmt.Appendf(nil, "POST /api/v1/sales/%s/purchases HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n"+
			"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", o.sale, host, token, len(body), body))
	}
	far.Delay(overloadDelay)
	return o
}

// send lets n purchases arrive at a rate a second, 0: all at once.
func (o *overloaded) send(n, rate, conns int) *load.Measurement {
	o.t.Helper()
	arrivals := make([]time.Duration, n)
	for i := range arrivals {
		if rate > 0 {
			arrivals[i] = time.Duration(i) * time.Second / time.Duration(rate)
		}
	}
	first := o.next
	o.next += n
	run, err := load.Start(o.t.Context(), load.Attack{
		Addr: strings.TrimPrefix(o.child.URL, "http://"), Arrivals: arrivals, Conns: conns, Timeout: 10 * time.Second,
		Build: func(dst []byte, i int) []byte { return append(dst, o.requests[(first+i)%len(o.requests)]...) },
		Judge: judgeOverload,
	}, time.Now())
	if err != nil {
		o.t.Fatal(err)
	}
	return run.Wait()
}

// judgeOverload takes an order for good, and 503 with a time to come back for a
// refusal. Everything else is a failure.
func judgeOverload(_ int, a load.Answer) load.Next {
	var p struct {
		Code string `json:"code"`
	}
	switch {
	case a.Err != nil:
		return load.Next{Outcome: a.Err.Error(), Failed: true}
	case a.Status == http.StatusAccepted, a.Status == http.StatusCreated, a.Status == http.StatusOK:
		return load.Next{Outcome: load.Accepted, OK: true}
	case a.Status == http.StatusServiceUnavailable && a.RetryAfter > 0 && json.Unmarshal(a.Body, &p) == nil && p.Code == "busy":
		return load.Next{Outcome: "busy"}
	}
	return load.Next{Outcome: fmt.Sprintf("%d %.200s", a.Status, a.Body), Failed: true}
}

// latencyOf is the time that a share of the good or of the refused stayed within,
// from the moment each was meant to press: who had to wait for a connection, or for
// the generator, waited.
func latencyOf(m *load.Measurement, ok bool, share float64) time.Duration {
	var all []time.Duration
	for _, s := range m.Sights {
		if s.Done && s.OK == ok {
			all = append(all, s.Latency)
		}
	}
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return all[min(int(share*float64(len(all))), len(all)-1)]
}

func TestANodeThatIsOfferedTenTimesWhatItCanTakeRefusesInTimeAndIsWellAfterwards(t *testing.T) {
	o := newOverloaded(t)
	quiet := o.send(60, 30, overloadRoom)
	can := o.send(400, 0, overloadRoom)
	capacity := int(float64(can.OK) / can.Took.Seconds())
	before, _ := memoryOf(t, o.child.cmd.Process.Pid)
	rate := capacity * *overloadTimes
	storm := o.send(int(overloadFor.Seconds()*float64(rate)), rate, overloadConns)
	after, most := memoryOf(t, o.child.cmd.Process.Pid)
	took, err := o.recovers(3 * latencyOf(quiet, true, 0.99))
	t.Logf("takes %d/s; offered %d/s for %s: %d accepted (%.0f/s), %d told to come again, %d failed %v; the generator was at most %s late, and an arrival waited for a connection for at most %s",
		capacity, rate, *overloadFor, storm.OK, float64(storm.OK)/storm.Took.Seconds(), storm.Refused, storm.Failed, failures(storm), storm.PaceLate.Round(time.Millisecond), storm.MaxQueued.Round(time.Millisecond))
	t.Logf("accepted: p50 %s, p99 %s, p99.9 %s (in quiet p99 %s); refused: p99 %s; memory %d MiB before, %d at most, %d after; normal %s after the end",
		latencyOf(storm, true, 0.5), latencyOf(storm, true, 0.99), latencyOf(storm, true, 0.999), latencyOf(quiet, true, 0.99), latencyOf(storm, false, 0.99), before, most, after, took.Round(time.Millisecond))
	if storm.Failed > 0 || quiet.Failed > 0 || can.Failed > 0 {
		t.Errorf("answers that are neither an order nor 503 busy with a Retry-After: %v %v %v", failures(storm), failures(quiet), failures(can))
	}
	if storm.OK == 0 || storm.Refused == 0 {
		t.Errorf("%d accepted and %d refused: no overload", storm.OK, storm.Refused)
	}
	if err != nil {
		t.Error(err)
	}
	if *overloadStrict && (latencyOf(storm, true, 0.999) > time.Second || took > 2*time.Second) {
		t.Errorf("accepted purchases took up to %s, and latency was normal %s after the end", latencyOf(storm, true, 0.999), took)
	}
}

func failures(m *load.Measurement) map[string]int {
	all := map[string]int{}
	for outcome, n := range m.Outcomes {
		if outcome != load.Accepted && outcome != "busy" {
			all[outcome] = n
		}
	}
	return all
}

// recovers buys one by one until ten in a row are accepted within a time, and
// tells when the first of them was.
func (o *overloaded) recovers(normal time.Duration) (time.Duration, error) {
	began, row, since := time.Now(), 0, time.Duration(0)
	for time.Since(began) < 30*time.Second {
		m := o.send(1, 0, 1)
		switch {
		case m.OK != 1 || latencyOf(m, true, 1) > normal:
			row = 0
		case row == 0:
			row, since = 1, time.Since(began)
		default:
			row++
		}
		if row == 10 {
			return since, nil
		}
	}
	return 0, errors.New("the node is not well 30 s after the load")
}
