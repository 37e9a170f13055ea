package cli

import (
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"seckill/api"
	"seckill/infra/bench"
	"seckill/infra/config"
	"seckill/infra/lookout"
	"seckill/infra/obs"
)

// overview is what this process sees of the five things to watch, put together once a
// second however many look.
type overview struct {
	lookout.Streams
	node     string
	began    time.Time
	now      func() time.Time
	log      *slog.Logger
	metrics  *obs.Metrics // which count purchases
	settings config.Settings
	apps     func() []named

	mu       sync.Mutex
	outcomes []string
	minute   *lookout.Series // purchases, in the order of outcomes
	recent   *lookout.Series
	process  []processSeen // of the last minute
	baseline bench.Baseline
	warned   string // what was said of the baseline last
}

// named is an application, and the name of its database: "" where it is the only one.
type named struct {
	name string
	*app
}

// processSeen is the Go runtime at one time.
type processSeen struct {
	at time.Time
	lookout.Process
}

// Bounds of an overview.
const (
	mostStreams = 32
	successOver = time.Minute
	// alarmUnder is the share of the baseline under which purchases fail too often, and
	// alarmFrom how many purchases that takes.
	alarmUnder = 0.8
	alarmFrom  = 20
)

// newOverview sees applications; the settings name the process.
func newOverview(s config.Settings, m *obs.Metrics, apps func() []named) *overview {
	o := &overview{node: s.Node, began: time.Now(), now: time.Now, metrics: m, settings: s, apps: apps, minute: lookout.NewSeries(successOver), recent: lookout.NewSeries(growthOver)}
	o.Most = mostStreams
	o.outcomes = slices.Sorted(maps.Keys(m.PurchasesBy()))
	o.look()
	return o
}

// run puts together what is seen, once a second, and hands it to all who watch.
func (o *overview) run(ctx context.Context) error {
	tick := time.NewTicker(sampleEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		o.look()
		if o.Watching() == 0 {
			continue
		}
		text, err := json.Marshal(o.Overview())
		if err != nil {
			return err
		}
		o.Send(text)
	}
}

// look remembers what the process itself counts.
func (o *overview) look() {
	o.mu.Lock()
	defer o.mu.Unlock()
	now, counts := o.now(), o.metrics.PurchasesBy()
	values := make([]float64, len(o.outcomes))
	for i, outcome := range o.outcomes {
		values[i] = counts[outcome]
	}
	o.minute.Add(now, values...)
	o.recent.Add(now, values...)
	o.process = append(o.process, processSeen{now, lookout.LookAtProcess()})
	for len(o.process) > 2 && now.Sub(o.process[1].at) >= successOver {
		o.process = slices.Delete(o.process, 0, 1)
	}
	o.readBaseline()
}

// readBaseline takes the setting, or what a rehearsal wrote, which may be while this
// process runs.
func (o *overview) readBaseline() {
	o.baseline = bench.Baseline{Rate: float64(o.settings.SuccessBaseline)}
	if o.baseline.Rate == 0 {
		kept, ok, err := bench.ReadBaseline(filepath.Join(o.settings.DataDir, bench.BaselineFile))
		switch {
		case err != nil && err.Error() != o.warned && o.log != nil:
			o.warned = err.Error()
			o.log.Warn("the baseline of the rehearsal is not used", "error", err)
		case err == nil && ok:
			o.baseline = kept
		}
	}
	o.metrics.Baseline(o.baseline.Rate)
}

// Overview gives what is seen now.
func (o *overview) Overview() api.Overview {
	v := api.Overview{Node: o.node, At: o.now(), Purchases: o.purchases(), Process: o.runtime()}
	apps := o.apps()
	v.Backlog, v.Postgres = []api.OverviewStage{}, []api.OverviewPostgres{}
	first := true
	for _, a := range apps {
		if a.app == nil { // its database has not answered since the start
			v.Postgres = append(v.Postgres, api.OverviewPostgres{
				OverviewSeen: api.OverviewSeen{UnknownSince: &o.began}, Database: a.name, SlowOverSeconds: o.settings.SlowStatement.Seconds(),
				Statements: []api.OverviewStatement{}, Pools: []api.OverviewPool{},
			})
			continue
		}
		w := a.watching
		if first {
			v.Redis, first = w.redisView(), false
		} else { // the same servers, with connections of their own
			v.Redis.Pools = append(v.Redis.Pools, w.poolsView("redis")...)
		}
		v.Backlog = append(v.Backlog, w.backlogView(a.name)...)
		v.Postgres = append(v.Postgres, w.postgresView(a.name))
		w.salesView(&v)
	}
	slices.SortStableFunc(v.Sales.Sales, func(x, y api.OverviewSale) int {
		return strings.Compare(map[bool]string{true: "1"}[x.State == "scheduled"], map[bool]string{true: "1"}[y.State == "scheduled"])
	})
	if extra := len(v.Sales.Sales) - shownSales; extra > 0 {
		v.Sales.Sales, v.Sales.More = v.Sales.Sales[:shownSales], v.Sales.More+extra
	}
	return v
}

// purchases is how purchases of this process were answered.
func (o *overview) purchases() api.OverviewPurchases {
	o.mu.Lock()
	defer o.mu.Unlock()
	var p api.OverviewPurchases
	by, over := o.minute.Grown()
	p.WindowSeconds = over.Seconds()
	for i, n := range by {
		p.Answered += int64(n)
		if o.metrics.Failed(o.outcomes[i]) {
			p.Failed += int64(n)
		}
	}
	against := 1.0
	if o.baseline.Rate > 0 {
		against = o.baseline.Rate
		p.Baseline = &api.OverviewBaseline{Rate: o.baseline.Rate, Scenario: o.baseline.Scenario}
		if !o.baseline.At.IsZero() {
			p.Baseline.At = &o.baseline.At
		}
	}
	if p.Answered > 0 {
		rate := 1 - float64(p.Failed)/float64(p.Answered)
		share := rate / against
		p.SuccessRate, p.ShareOfBaseline = &rate, &share
		p.Alarm = share < alarmUnder && p.Answered >= alarmFrom
	}
	rates, _ := o.recent.PerSecond()
	for i, rate := range rates {
		o.addRate(&p.PerSecond, o.outcomes[i], rate)
	}
	return p
}

func (o *overview) addRate(to *api.OverviewPerSecond, outcome string, rate float64) {
	switch {
	case o.metrics.Failed(outcome):
		to.Errors += rate
	case outcome == "reserved":
		to.Reserved += rate
	case outcome == "repeat" || outcome == "same_order":
		to.Repeat += rate
	case outcome == "sold_out":
		to.SoldOut += rate
	case outcome == "limit_exceeded" || outcome == "rate_limited":
		to.Limit += rate
	case outcome == "too_early":
		to.Early += rate
	default:
		to.Other += rate
	}
}

// runtime is the Go runtime of this process.
func (o *overview) runtime() api.OverviewProcess {
	o.mu.Lock()
	defer o.mu.Unlock()
	first, last := o.process[0], o.process[len(o.process)-1]
	p := api.OverviewProcess{Goroutines: last.Goroutines, HeapBytes: last.Heap, HeapGoalBytes: last.HeapGoal}
	p99, longest := lookout.GCPauses(first.Process, last.Process)
	p.GCPauseP99Seconds, p.GCPauseLongestSeconds = p99.Seconds(), longest.Seconds()
	if over := last.at.Sub(first.at); over > 0 {
		p.GCPerMinute = float64(last.GCs-first.GCs) / over.Minutes()
	}
	if cpu := last.CPUTotal - first.CPUTotal; cpu > 0 {
		p.GCCPUShare = (last.GCSeconds - first.GCSeconds) / cpu
	}
	return p
}
