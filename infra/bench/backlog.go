package bench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Backlog is what was accepted and had not reached the log, the bus or a view, over
// time, as the installation's own metrics say: they are looked at by it once a second.
type Backlog struct {
	// Seen is false when there were no metrics to read; Why says what was there.
	Seen bool   `json:"seen"`
	Why  string `json:"why,omitempty"`
	// From is where they were read.
	From    string   `json:"from"`
	Samples []Sample `json:"samples"`
	// Peak is the most of each at once, over all samples.
	Peak Sample `json:"peak"`
	// Drained tells that nothing was left; AfterMS is how long after the last acceptance
	// that was first seen.
	Drained bool  `json:"drained"`
	AfterMS int64 `json:"drained_after_ms"`
}

// Sample is one look.
type Sample struct {
	AtMS int64 `json:"at_ms"` // after the start of the run
	// Undecided is accepted purchases that the log has not decided, Journal the journal
	// entries that it has not recorded, Relay the events that are not published.
	Undecided int64 `json:"undecided"`
	Journal   int64 `json:"journal"`
	Relay     int64 `json:"relay"`
	// Views is by projection how many events its slowest shard lacks.
	Views map[string]int64 `json:"views"`
}

// slowest is the most that any view lacks.
func (s Sample) slowest() int64 {
	var most int64
	for _, n := range s.Views {
		most = max(most, n)
	}
	return most
}

func (s Sample) empty() bool {
	return s.Undecided == 0 && s.Journal == 0 && s.Relay == 0 && s.slowest() == 0
}

// Names of the metrics.
const (
	metricUndecided = "seckill_queued_orders"
	metricJournal   = "seckill_recorder_lag_entries"
	metricLog       = "seckill_log_position"
	metricRelay     = "seckill_relay_position"
	metricViews     = "seckill_projection_lag_events"
)

const (
	// lookEvery is how often metrics are read.
	lookEvery = 250 * time.Millisecond
	// steady is for how long nothing must have been left: longer than between two looks
	// of the installation at itself.
	steady = 2200 * time.Millisecond
	// lookWithin bounds reading them.
	lookWithin = 5 * time.Second
)

var errNoMetrics = errors.New("there are no metrics of seckill")

// watch follows the backlog of an installation.
type watch struct {
	url    string
	client *http.Client
	start  time.Time

	quit context.CancelFunc
	done sync.WaitGroup
	mu   sync.Mutex
	log  Backlog
}

func startWatch(ctx context.Context, url string, client *http.Client, start time.Time) *watch {
	w := &watch{url: url, client: client, start: start, log: Backlog{From: url, Samples: []Sample{}}}
	ctx, w.quit = context.WithCancel(ctx)
	w.done.Go(func() {
		tick := time.NewTicker(lookEvery)
		defer tick.Stop()
		for ctx.Err() == nil {
			w.look(ctx)
			select {
			case <-ctx.Done():
			case <-tick.C:
			}
		}
	})
	return w
}

func (w *watch) look(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, lookWithin)
	defer cancel()
	at := time.Since(w.start).Milliseconds()
	sample, err := readBacklog(ctx, w.client, w.url)
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil {
		if !w.log.Seen && ctx.Err() == nil {
			w.log.Why = err.Error()
		}
		return // one look of many; that there was none at all is told
	}
	sample.AtMS = at
	w.log.Seen, w.log.Why = true, ""
	w.log.Samples = append(w.log.Samples, sample)
}

// emptyFor gives how long the backlog has been seen to be empty without a break, and
// since when after the start, counting looks after a moment alone.
func (w *watch) emptyFor(after time.Duration) (since, length time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	first := int64(-1)
	var last int64
	for _, s := range w.log.Samples {
		if s.AtMS < after.Milliseconds() {
			continue
		}
		if !s.empty() {
			first = -1
			continue
		}
		if first < 0 {
			first = s.AtMS
		}
		last = s.AtMS
	}
	if first < 0 {
		return 0, 0
	}
	return time.Duration(first) * time.Millisecond, time.Duration(last-first) * time.Millisecond
}

// await waits until the backlog has been empty for a while after the last acceptance,
// or ctx ends, or there is nothing to look at.
func (w *watch) await(ctx context.Context, last time.Duration) {
	for {
		since, length := w.emptyFor(last)
		w.mu.Lock()
		seen := w.log.Seen
		if length >= steady {
			w.log.Drained, w.log.AfterMS = true, (since - last).Milliseconds()
		}
		w.mu.Unlock()
		if length >= steady || !seen || !sleep(ctx, lookEvery) {
			return
		}
	}
}

// stop ends the watch and gives what it saw.
func (w *watch) stop() Backlog {
	w.quit()
	w.done.Wait()
	w.log.Peak.Views = map[string]int64{}
	for _, s := range w.log.Samples {
		p := &w.log.Peak
		p.Undecided, p.Journal, p.Relay = max(p.Undecided, s.Undecided), max(p.Journal, s.Journal), max(p.Relay, s.Relay)
		for name, n := range s.Views {
			p.Views[name] = max(p.Views[name], n)
		}
	}
	return w.log
}

func readBacklog(ctx context.Context, client *http.Client, url string) (Sample, error) {
	values, err := ReadMetrics(ctx, client, url)
	if err != nil {
		return Sample{}, err
	}
	return sampleOf(overDatabases(values))
}

// overDatabases sums what an installation with several databases shows of each.
func overDatabases(values map[string]float64) map[string]float64 {
	const label = `database="`
	all := map[string]float64{}
	for name, v := range values {
		if at := strings.Index(name, label); at > 0 {
			if _, rest, ok := strings.Cut(name[at+len(label):], `"`); ok {
				name = strings.TrimSuffix(name[:at], ",") + strings.TrimPrefix(rest, ",")
				name = strings.TrimSuffix(strings.Replace(name, "{,", "{", 1), "{}")
			}
		}
		all[name] += v
	}
	return all
}

// ReadMetrics gives what a page of metrics says: by series, as it is written there.
func ReadMetrics(ctx context.Context, client *http.Client, url string) (map[string]float64, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	answer, err := client.Do(r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = answer.Body.Close() }() // it was read as far as it is wanted
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%w: status %d", errNoMetrics, answer.StatusCode)
	}
	return parseMetrics(io.LimitReader(answer.Body, mostAnswer))
}

func sampleOf(values map[string]float64) (Sample, error) {
	s := Sample{Views: map[string]int64{}}
	for name, to := range map[string]*int64{metricUndecided: &s.Undecided, metricJournal: &s.Journal} {
		v, ok := values[name]
		if !ok {
			return s, fmt.Errorf("%w: %s is missing", errNoMetrics, name)
		}
		*to = int64(v)
	}
	s.Relay = max(int64(values[metricLog]-values[metricRelay]), 0)
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if label, ok := strings.CutPrefix(name, metricViews+`{projection="`); ok {
			s.Views[strings.TrimSuffix(label, `"}`)] = int64(values[name])
		}
	}
	return s, nil
}

// parseMetrics reads Prometheus' text form: by series, as it is written there.
func parseMetrics(r io.Reader) (map[string]float64, error) {
	values := map[string]float64{}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		if line == "" || line[0] == '#' {
			continue
		}
		at := strings.LastIndexByte(line, ' ')
		if at < 0 {
			continue
		}
		if v, err := strconv.ParseFloat(line[at+1:], 64); err == nil {
			values[line[:at]] = v
		}
	}
	return values, lines.Err()
}
