package plan

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"seckill/domain"
)

// costs are round figures, so that what follows from them can be done by hand.
func costs() Costs {
	c := Measured()
	c.APIRefused.Value, c.APIAccepted.Value, c.APIPoll.Value = 30, 40, 10
	c.GateAccepted.Value, c.GateRefused.Value, c.GateBytes.Value = 10, 1, 1<<20
	c.Recorded.Value, c.Projected.Value, c.Direct.Value, c.LogBytes.Value = 20_000, 30_000, 4_000, 1<<20
	c.NodeConns.Value = 20
	c.RequestBytes.Value, c.AnswerBytes.Value = 200, 500
	return c
}

func TestAPlanIsWhatItsWishNeeds(t *testing.T) {
	p := Make(Wish{Participants: 500_000, Share: 0.8, Seconds: 2, Headroom: 1.5, Stock: 10_000}, costs())
	got := []float64{p.PeakPerSecond, p.SizedPerSecond, p.BusiestAccepted, p.API.Cores, float64(p.API.Nodes), p.Gate.Load, float64(p.Gate.Servers),
		float64(p.Buckets), float64(p.Gate.Megabytes), float64(p.Log.Megabytes), float64(p.Bus.Projectors), float64(p.Conns), p.Seconds.SoldOut, p.Seconds.Recorded}
	want := []float64{200_000, 300_000, 10_000,
		12.4,                       // (10,000 × 60 µs + 290,000 × 30 µs) / 0.75
		4,                          // of four cores
		0.39, 1, 1, 10_000, 10_000, // 10,000 × 10 µs + 290,000 × 1 µs
		1, 160, // 10,000 purchases a second are 20,000 events; 8 processes
		0.05, 0.5}
	for i := range want {
		if math.Abs(got[i]-want[i]) > 1e-9 {
			t.Errorf("figure %d: got %v, want %v", i, got[i], want[i])
		}
	}
	// 320,000 answers a second of 200 and 500 bytes, and 30 % for what carries them.
	if want := (Wire{IngressMbit: 665.6, EgressMbit: 1664}); p.Wire != want || math.Abs(p.Seconds.Drain-(p.Seconds.Projected-0.05)) > 1e-9 {
		t.Errorf("got %+v and %v s to drain, want %+v and what follows the last unit", p.Wire, p.Seconds.Drain, want)
	}
	// 10,000 units recorded by 0.5 s are due 900 s later, and given up within half a second.
	if s := p.Seconds; s.ReturnsFrom != 900 || s.ReturnsUntil != 900.5 {
		t.Errorf("got %+v, want unpaid units back between 900 and 900.5 s", s)
	}
	if short := Make(Wish{Participants: 500_000, Share: 0.8, Seconds: 2, Headroom: 1.5, Stock: 10_000, PaymentWindow: 60}, costs()); short.Seconds.ReturnsFrom != 60 || short.Seconds.ReturnsUntil != 60.5 {
		t.Errorf("got %+v, want unpaid units back between 60 and 60.5 s", short.Seconds)
	}
	for _, row := range p.Rows() {
		if row.Why == "" || row.Much == "" || strings.Contains(row.Why, "?") {
			t.Errorf("%+v does not say what it was computed from", row)
		}
	}
	if p.Strategy != "redis-sync" {
		t.Errorf("got strategy %s, want redis-sync: all are recorded within half a second", p.Strategy)
	}
}

func TestTheStrategyFollowsFromRateAndStock(t *testing.T) {
	for _, c := range []struct {
		participants, stock int64
		want                domain.Strategy
	}{
		{2_000, 2_000, domain.StrategyPostgres}, // half of what PostgreSQL places
		{2_001, 2_001, domain.StrategyRedisSync},
		{16_000, 100, domain.StrategyPostgres}, // the crowd shares looks
		{16_001, 100, domain.StrategyRedisSync},
		{100_000, 10_000, domain.StrategyRedisSync}, // half a second of recording
		{100_000, 10_001, domain.StrategyRedisAsync},
	} {
		p := Make(Wish{Participants: c.participants, Share: 1, Seconds: 1, Headroom: 1, Stock: c.stock}, costs())
		if p.Strategy != string(c.want) || len(p.Reasons) == 0 {
			t.Errorf("%d buyers, %d units: got %s %q, want %s with reasons", c.participants, c.stock, p.Strategy, p.Reasons, c.want)
		}
	}
}

func TestAPlanWarnsWhereOneServerIsNotEnough(t *testing.T) {
	p := Make(Wish{Participants: 50_000_000, Share: 1, Seconds: 1, Headroom: 2, Stock: 5_000_000}, costs())
	all := strings.Join(p.Warnings, " ")
	for _, part := range []string{"One Redis is not enough", "One PostgreSQL records", "max_connections", "never measured", "over 64 lanes at most", "The gate keeps"} {
		if !strings.Contains(all, part) {
			t.Errorf("got %q, want a warning with %q", all, part)
		}
	}
	if p.Buckets != domain.Lanes || p.Gate.Servers <= domain.Lanes {
		t.Errorf("got %d buckets on %d masters", p.Buckets, p.Gate.Servers)
	}
	small := Make(Wish{Participants: 100, Share: 0.5, Seconds: 10, Headroom: 1, Stock: 200}, costs())
	if len(small.Warnings) != 2 || !strings.Contains(small.Warnings[0], "100 of them stay unsold") {
		t.Errorf("got %q, want that 100 units stay unsold, and the connections", small.Warnings)
	}
}

func TestWhatCannotBeMeantIsRefusedWithAWayOut(t *testing.T) {
	good := Wish{Participants: 10, Share: 0.5, Seconds: 2, Headroom: 1.5, Stock: 5}
	if err := good.Validate(); err != nil {
		t.Errorf("%+v: %v", good, err)
	}
	for name, change := range map[string]func(*Wish){
		"--participants":   func(w *Wish) { w.Participants = 0 },
		"--share":          func(w *Wish) { w.Share = 80 },
		"--seconds":        func(w *Wish) { w.Seconds = math.NaN() },
		"--payment-window": func(w *Wish) { w.PaymentWindow = -1 },
		"--headroom":       func(w *Wish) { w.Headroom = math.Inf(1) },
		"--stock":          func(w *Wish) { w.Stock = MostStock + 1 },
	} {
		w := good
		change(&w)
		if err := w.Validate(); err == nil || !strings.HasPrefix(err.Error(), name) || !strings.Contains(err.Error(), "want") {
			t.Errorf("%+v: got %v, want a sentence about %s", w, err, name)
		}
	}
}

// Whatever is wished, no figure is absurd, and more buyers never need less.
func TestEveryPlanIsFiniteAndGrowsWithItsWish(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := Wish{
			Participants: rapid.Int64Range(1, MostParticipants/2).Draw(t, "participants"), Share: rapid.Float64Range(1e-6, 1).Draw(t, "share"),
			Seconds: rapid.Float64Range(0.001, MostSeconds).Draw(t, "seconds"), Headroom: rapid.Float64Range(1, MostHeadroom).Draw(t, "headroom"),
			Stock: rapid.Int64Range(1, MostStock).Draw(t, "stock"),
		}
		if err := w.Validate(); err != nil {
			t.Fatal(err)
		}
		more := w
		more.Participants *= 2
		p, q := Make(w, Measured()), Make(more, Measured())
		for _, v := range []float64{p.PeakPerSecond, p.API.Cores, p.Gate.Load, p.Seconds.SoldOut, p.Seconds.Recorded, p.Seconds.Projected} {
			if math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
				t.Fatalf("got %v in %+v", v, p)
			}
		}
		if q.API.Nodes < p.API.Nodes || q.SizedPerSecond < p.SizedPerSecond || p.Buckets < 1 || p.Seconds.Projected < p.Seconds.Recorded {
			t.Fatalf("got %+v for twice the buyers of %+v", q, p)
		}
	})
}
