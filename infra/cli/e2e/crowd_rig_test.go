package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/infra/load"
)

// memoryOf is what a process has in memory now, and had at most, in MiB.
func memoryOf(t testing.TB, pid int) (now, most int) {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Skipf("no /proc here: %v", err)
	}
	for line := range strings.Lines(string(text)) {
		_, _ = fmt.Sscanf(line, "VmRSS: %d", &now)
		_, _ = fmt.Sscanf(line, "VmHWM: %d", &most)
	}
	return now / 1024, most / 1024
}

// redisOf gives a connection to a Redis of a test.
func redisOf(t testing.TB, url string) *redis.Client {
	t.Helper()
	opts, err := redis.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	c := redis.NewClient(opts)
	t.Cleanup(func() { _ = c.Close() }) // nothing is under way
	return c
}

// held is what a Redis holds.
type held struct {
	keys  int64
	bytes int64
}

func heldBy(t testing.TB, c *redis.Client) held {
	t.Helper()
	ctx := context.Background()
	keys, err := c.DBSize(ctx).Result()
	if err != nil {
		t.Fatalf("count keys: %v", err)
	}
	info, err := c.Info(ctx, "memory").Result()
	if err != nil {
		t.Fatalf("ask for the memory of Redis: %v", err)
	}
	_, rest, _ := strings.Cut(info, "used_memory:")
	digits, _, _ := strings.Cut(rest, "\r\n")
	used, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		t.Fatalf("read the memory of Redis: %v", err)
	}
	return held{keys, used}
}

// stand is how much a process holds at a moment: MiB in memory, MiB that the last
// collection left on its heap, goroutines, and the series of /metrics by name.
type stand struct {
	resident   int
	live       float64
	goroutines int
	series     map[string]bool
}

// stands measures the child.
func (c *crowded) stands() stand {
	c.t.Helper()
	answer, err := c.client.Call(http.MethodGet, "/metrics", "", "", nil)
	if err != nil || answer.Status != http.StatusOK {
		c.t.Fatalf("metrics: %d, %v", answer.Status, err)
	}
	s := stand{series: map[string]bool{}}
	s.resident, _ = memoryOf(c.t, c.child.cmd.Process.Pid)
	for line := range strings.Lines(answer.Raw) {
		line = strings.TrimSpace(line)
		space := strings.LastIndexByte(line, ' ')
		if space < 0 || line[0] == '#' {
			continue
		}
		name, value := line[:space], line[space+1:]
		s.series[name] = true
		number, err := strconv.ParseFloat(value, 64)
		switch {
		case err != nil:
			c.t.Fatalf("a series that cannot be read: %s", line)
		case name == "seckill_go_memstats_next_gc_bytes":
			s.live = number / 2 / (1 << 20) // GOGC is 100: the next one is due at twice what is left
		case name == "seckill_go_goroutines":
			s.goroutines = int(number)
		}
	}
	if s.live == 0 || s.goroutines == 0 || s.resident == 0 {
		c.t.Fatalf("what the process holds cannot be read: %+v", s)
	}
	return s
}

// wave is one kind of crowd: how each of its requests looks, and which answers
// they may have.
type wave struct {
	name  string
	n     int
	build func(dst []byte, i int) []byte
	want  []string
}

// halves is what the halves of a wave held: at most in memory, and at least on the
// heap, since a collection during load leaves what came while it ran.
type halves [2]stand

// send sends a wave in twenty parts, and measures after each of them.
func (c *crowded) send(w wave) (held halves) {
	c.t.Helper()
	const parts = 20
	began, first := time.Now(), 0
	for part := range parts {
		next := w.n * (part + 1) / parts
		c.part(w, first, next-first)
		first = next
		s, half := c.stands(), &held[part*2/parts]
		if half.live == 0 || s.live < half.live {
			half.live = s.live
		}
		half.resident, half.goroutines = max(half.resident, s.resident), max(half.goroutines, s.goroutines)
		if half.series == nil {
			half.series = map[string]bool{}
		}
		maps.Copy(half.series, s.series)
	}
	c.t.Logf("%s: %d requests, %.0f/s; first half %d MiB in memory, %.1f MiB live, %d goroutines, %d series; second half %d MiB, %.1f MiB, %d, %d",
		w.name, w.n, float64(w.n)/time.Since(began).Seconds(), held[0].resident, held[0].live, held[0].goroutines, len(held[0].series),
		held[1].resident, held[1].live, held[1].goroutines, len(held[1].series))
	return held
}

// part sends n requests of a wave, and looks at the Redis of the limits meanwhile.
func (c *crowded) part(w wave, first, n int) {
	c.t.Helper()
	run, err := load.Start(c.t.Context(), load.Attack{
		Addr: strings.TrimPrefix(c.child.URL, "http://"), Arrivals: make([]time.Duration, n), Conns: crowdConns,
		Build: func(dst []byte, i int) []byte { return w.build(dst, first+i) },
		Judge: c.judge,
	}, time.Now())
	if err != nil {
		c.t.Fatal(err)
	}
	over := make(chan *load.Measurement, 1)
	go func() { over <- run.Wait() }()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		now := heldBy(c.t, c.cache)
		c.cacheMost.keys, c.cacheMost.bytes = max(c.cacheMost.keys, now.keys), max(c.cacheMost.bytes, now.bytes)
		select {
		case m := <-over:
			c.count(w, m)
			return
		case <-tick.C:
		}
	}
}

// judge names an answer by its status and code.
func (c *crowded) judge(_ int, a load.Answer) load.Next {
	if a.Err != nil {
		return load.Next{Outcome: a.Err.Error(), Failed: true}
	}
	var p struct {
		Code string `json:"code"`
	}
	_ = json.Unmarshal(a.Body, &p) // what is no problem document has no code
	return load.Next{Outcome: fmt.Sprintf("%d %s", a.Status, p.Code)}
}

// onBusyMachines are answers of a node whose stores do not answer in time: come
// again, and an outcome that could not be seen yet.
var onBusyMachines = [...]string{"503 busy", "202 "}

// count adds up the answers, and fails the test for those that may not be.
func (c *crowded) count(w wave, m *load.Measurement) {
	c.t.Helper()
	if m.Unanswered > 0 {
		c.t.Fatalf("%s: %d requests were not answered", w.name, m.Unanswered)
	}
	for outcome, n := range m.Outcomes {
		c.answers[w.name+": "+outcome] += n
		if !slices.Contains(w.want, outcome) && !slices.Contains(onBusyMachines[:], outcome) {
			c.t.Fatalf("%s: %d answers were %q; want %v", w.name, n, outcome, w.want)
		}
	}
	if slow := m.Outcomes[onBusyMachines[0]] + m.Outcomes[onBusyMachines[1]]; slow > len(m.Sights)/4 {
		c.t.Errorf("%s: %d of %d were told to come again or to wait: this is no test of what else they meet", w.name, slow, len(m.Sights))
	}
}
