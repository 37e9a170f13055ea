package cli

import (
	"fmt"
	"math"
	"strings"
	"time"

	"seckill/commands"
	"seckill/domain"
	"seckill/infra/load"
)

// outcome is the result of a demo as --json prints it: its keys are fixed.
type outcome struct {
	SaleID     string         `json:"sale_id"`
	Strategy   string         `json:"strategy"`
	Stock      int64          `json:"stock"`
	Buyers     int            `json:"buyers"`
	Accepted   int            `json:"accepted"`
	Placed     int64          `json:"placed"`
	SoldOut    int            `json:"sold_out"`
	Refused    map[string]int `json:"refused"`
	Errors     int            `json:"errors"`
	Oversold   int64          `json:"oversold"`
	Undersold  int64          `json:"undersold"`
	Drift      int            `json:"drift"`
	AcceptPerS float64        `json:"accept_per_s"`
	PlacedPerS float64        `json:"placed_per_s"`
	P50MS      float64        `json:"p50_ms"`
	P99MS      float64        `json:"p99_ms"`
	DrainMS    int64          `json:"drain_ms"`
	// What became of some of the orders afterwards; drift covers it too.
	Paid      int64 `json:"paid"`
	Cancelled int64 `json:"cancelled"`
	Returned  int64 `json:"returned"`
}

// result is the outcome, and what the table tells beside it.
type result struct {
	outcome
	sent     *sent
	followed *load.Measurement
	report   commands.SaleReport
	rejected int64
	lost     map[string]bool // orders that were rejected
	life     life
	// firstAfter is from the start of the program to the first acceptance.
	firstAfter time.Duration
	drained    time.Duration // from the opening until all was projected
	recorded   time.Duration // the same, of the last acceptance
}

// judge puts the numbers together.
func (s *stage) judge(crowd *sent, followed *load.Measurement, report commands.SaleReport, views commands.ViewSnapshot) *result {
	r := &result{sent: crowd, followed: followed, report: report}
	r.count(s, views)
	r.time(s, crowd)
	return r
}

// count fills in what became of buyers and units. An answer that is no refusal
// and no acceptance is an error, and so is one that never came.
func (r *result) count(s *stage, views commands.ViewSnapshot) {
	r.SaleID, r.Strategy, r.Stock, r.Buyers = s.sale, s.demo.Strategy, *s.demo.Stock, *s.demo.Buyers
	r.Accepted, r.Errors, r.Drift = r.sent.OK, r.sent.Failed+r.sent.Unanswered, r.report.Drift
	r.Refused, r.lost = map[string]int{}, map[string]bool{}
	failed := map[string]bool{}
	for i := range r.sent.Sights {
		if sight := &r.sent.Sights[i]; sight.Failed {
			failed[sight.Outcome] = true
		}
	}
	for code, n := range r.sent.Outcomes {
		switch {
		case code == load.Accepted || failed[code]:
		case code == string(domain.CodeSoldOut):
			r.SoldOut = n
		default:
			r.Refused[code] = n
		}
	}
	for _, o := range views.Orders {
		switch o.Status {
		case domain.OrderStatusRejected:
			r.rejected++
			r.lost[o.ID] = true
		default:
			r.Placed += o.Units
		}
	}
	r.Oversold = max(r.Placed-r.Stock, 0)
	r.Undersold = max(min(r.Stock, int64(r.Buyers))-r.Placed, 0)
}

// time fills in rates and latencies.
func (r *result) time(s *stage, crowd *sent) {
	arrivals := load.Arrivals(*s.demo.Buyers, load.FlashSale(), demoSeed)
	var last time.Duration
	for i := range crowd.Sights {
		if sight := &crowd.Sights[i]; sight.OK {
			last = max(last, arrivals[i]+sight.Latency)
		}
	}
	r.recorded = last
	r.drained = max(crowd.watch.lastRise().Sub(s.opens), last)
	r.DrainMS = (r.drained - last).Milliseconds()
	r.AcceptPerS = rate(int64(r.Accepted), last)
	r.PlacedPerS = rate(r.Placed, r.drained)
	r.P50MS, r.P99MS = ms(crowd.Latency(50)), ms(crowd.Latency(99))
	if crowd.OK > 0 {
		r.firstAfter = s.opens.Add(crowd.FirstOK).Sub(s.began)
	}
}

// rate is n per second, to a tenth.
func rate(n int64, d time.Duration) float64 {
	if d <= 0 {
		return 0
	}
	return math.Round(float64(n)/d.Seconds()*10) / 10
}

// ms is a time in milliseconds, to a tenth.
func ms(d time.Duration) float64 { return math.Round(float64(d.Microseconds())/100) / 10 }

// broken says which invariants do not hold, "" when all do.
func (r *result) broken() string {
	var broken []string
	say := func(bad bool, format string, args ...any) {
		if bad {
			broken = append(broken, fmt.Sprintf(format, args...))
		}
	}
	say(r.Oversold > 0, "%d units were sold that do not exist", r.Oversold)
	say(r.Undersold > 0, "%d units were wanted and not sold", r.Undersold)
	say(r.Drift > 0, "gate, log and views differ in %d findings", r.Drift)
	say(r.followed.Failed+r.followed.Unanswered > 0, "%d accepted orders were not found decided", r.followed.Failed+r.followed.Unanswered)
	r.brokenLife(say)
	return strings.Join(broken, "; ")
}
