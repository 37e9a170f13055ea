package bench

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"seckill/infra/load"
)

// Scenario is a kind of rehearsal, with what it is played with unless told otherwise.
type Scenario struct {
	Name string
	// About says what it is for, for people.
	About string
	Size
}

// Size is how much of what is sent.
type Size struct {
	// Rate is visitors a second: on average, or for a spike in its rush.
	Rate float64 `json:"rate"`
	// For is how long they come. Of a spike it follows from Buyers and Rate.
	For time.Duration `json:"-"`
	// Buyers is the number of distinct ones; 0: as many as visitors.
	Buyers int `json:"buyers"`
	// Stock of each item; 0: enough for everybody, for a spike a fifth of that.
	Stock int64    `json:"stock"`
	Mix   load.Mix `json:"-"`
	// Presses of one who repeats.
	Presses int     `json:"presses"`
	SKUs    int     `json:"skus"`
	Hot     float64 `json:"hot"`
}

// Names of scenarios that are treated apart.
const (
	Spike    = "spike"
	Refusals = "refusals"
	Drain    = "drain"
	HotSKU   = "hot-sku"
)

// Most of what can be asked for.
const (
	MostBuyers = 5_000_000
	MostRate   = 1_000_000
	MostSKUs   = 100
)

// Scenarios gives all of them.
func Scenarios() []Scenario {
	everybody := load.Mix{load.Purchases: 75, load.Polls: 2, load.Pages: 12, load.Payments: 5, load.Repeats: 3, load.Attackers: 3}
	buyers := load.Mix{load.Purchases: 1}
	return []Scenario{
		{Spike, "80 % of the buyers within a rush, the others in the 3 s after it: the opening of a sale", Size{Rate: 4_000, Buyers: 10_000, Mix: everybody, Presses: 3, SKUs: 1}},
		{"soak", "everything evenly and for long, with enough units for all: what grows that should not", Size{Rate: 200, For: 5 * time.Minute, Mix: everybody, Presses: 3, SKUs: 1}},
		{Refusals, "a sold-out sale that goes on being asked: what most buyers of a sale meet", Size{Rate: 2_000, For: 10 * time.Second, Stock: 1, Mix: buyers, Presses: 1, SKUs: 1}},
		{"repeat-clicks", "buyers who press again and again without waiting, under one key: one order each", Size{Rate: 300, For: 10 * time.Second, Mix: load.Mix{load.Repeats: 1}, Presses: 4, SKUs: 1}},
		{HotSKU, "ten items of which nine tenths want one, which sells out while the others do not", Size{Rate: 1_000, For: 10 * time.Second, Mix: buyers, Presses: 1, SKUs: 10, Hot: .9}},
		{Drain, "accepted as fast as it goes, for a few seconds: how long log and views take to follow", Size{Rate: 4_000, For: 4 * time.Second, Mix: buyers, Presses: 1, SKUs: 1}},
	}
}

// Find gives the scenario of this name.
func Find(name string) (Scenario, bool) {
	all := Scenarios()
	i := slices.IndexFunc(all, func(s Scenario) bool { return s.Name == name })
	if i < 0 {
		return Scenario{}, false
	}
	return all[i], true
}

// Validate refuses what cannot be played, each with what to write instead.
func (s Scenario) Validate() error {
	var errs []error
	refuse := func(when bool, format string, args ...any) {
		if when {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	refuse(!(s.Rate > 0 && s.Rate <= MostRate), "--rate must be above 0 and at most %d visitors a second", MostRate)
	refuse(s.Name == Spike && (s.Buyers < 1 || s.For != 0), "a spike is sized by --buyers and --rate: its length follows")
	refuse(s.Name != Spike && (s.For < time.Second/10 || s.For > 24*time.Hour), "--duration must be 100ms to 24h")
	refuse(s.Buyers < 0 || s.Buyers > MostBuyers, "--buyers must be 0 to %d", MostBuyers)
	refuse(s.Name != Spike && s.Rate*s.For.Seconds() > MostBuyers, "--rate for --duration are more than %d visitors", MostBuyers)
	refuse(s.Stock < 0, "--stock must be at least 1")
	refuse(s.Presses < 1 || s.Presses > 100, "--presses must be 1 to 100")
	refuse(s.SKUs < 1 || s.SKUs > MostSKUs, "--skus must be 1 to %d", MostSKUs)
	if err := s.Mix.Validate(); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// Tail is how long those of a spike come who are not of its rush, and Rush their share
// who are.
const (
	tail = 3 * time.Second
	rush = .8
)

// seed of every schedule: two runs of a scenario send the same.
const seed = 20261111

// arrivals gives when visitors come.
func (s Scenario) arrivals() []time.Duration {
	if s.Name != Spike {
		return load.Evenly(s.Rate, s.For, seed)
	}
	within := time.Duration(rush * float64(s.Buyers) / s.Rate * float64(time.Second))
	return load.Arrivals(s.Buyers, load.Shape{Rush: rush, RushFor: within, TailFor: tail}, seed)
}

// stock gives the units of each item.
func (s Scenario) stock(visitors int) int64 {
	switch {
	case s.Stock > 0:
		return s.Stock
	case s.Name == Spike:
		return max(int64(visitors)/5, 1)
	case s.Name == HotSKU: // the hot one sells out half way, the others do not
		return max(int64(float64(visitors)*s.Hot/2), 1)
	}
	return int64(visitors) + 1
}
