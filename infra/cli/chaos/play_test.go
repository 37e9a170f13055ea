package chaos

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"seckill/infra/testenv"
)

// recovery bounds how long anything may take to be as before; a minute and a half is much
// on a machine that does other things.
const recovery = 90 * time.Second

// play plays one cell and tells what came of it.
func (s *site) play(c cell) result {
	s.t.Helper()
	s.hold, s.findings = c.hold, nil
	s.felt.Store(0)
	r := result{Row: c.row, Fault: c.fault, Did: c.did, At: time.Now().UTC().Truncate(time.Second), Load: loadAverage()}
	l := newLoad(s.fronts(), s.openSales(c))
	l.start()
	begun := time.Now()
	testenv.Eventually(s.t, recovery, func() error {
		if _, ok := l.normal(begun); !ok {
			return fmt.Errorf("before %s not everybody is served", c.name())
		}
		return nil
	})
	w := &watcher{pool: s.rig.Pool, load: l}
	unwatch := every(100*time.Millisecond, w.look)
	broke := time.Now()
	mend := c.do(s)
	time.Sleep(c.hold) // so long it is broken
	mended := time.Now()
	mend()
	r.HoldMS = mended.Sub(broke).Milliseconds()
	over := s.awaitNormal(w, mended, &r)
	l.end()
	unwatch()
	r.saw(l.answers(), broke, over)
	s.settle(l, &r)
	r.Felt = s.felt.Load()
	r.Findings = append(r.Findings, s.findings...)
	s.tainted = len(r.Findings) > 0
	return r
}

// openSales makes the sales of a cell: one with plenty, and two that sell out soon after
// the fault, so that a unit too many would show.
func (s *site) openSales(c cell) []*saleRun {
	s.t.Helper()
	pause := time.Second / time.Duration(*rate)
	soon := func(every time.Duration) int { return int((c.hold + 4*time.Second) / every) }
	sales := []*saleRun{
		{strategy: "redis-async", every: pause, stock: 100_000, steady: 10},
		{strategy: "redis-sync", every: 2 * pause, stock: soon(2 * pause), steady: 5},
		{strategy: "postgres", every: 4 * pause, stock: soon(4 * pause), steady: 3},
	}
	for _, sale := range sales {
		buckets := map[string]int{"redis-async": 4, "redis-sync": 2, "postgres": 1}[sale.strategy]
		sale.id = s.openSale(fmt.Sprintf("%s by %s at %d", c.name(), sale.strategy, time.Now().UnixNano()), sale.strategy, sale.stock, buckets)
	}
	return sales
}

// settle ends a cell: whoever was told to come again comes again, the scarce sales sell
// out, and everything is checked.
func (s *site) settle(l *load, r *result) {
	for _, p := range s.procs {
		testenv.Eventually(s.t, recovery, p.child.Ready)
	}
	again := l.comeAgain(recovery)
	r.CameAgain, r.HadOrder, r.HadAfterRefusal = again.buyers, again.had, again.refused
	if len(again.left) > 0 {
		s.found("%d buyers who came again for %s got neither an order nor a refusal, such as %s", len(again.left), recovery, again.left[0])
	}
	for _, sale := range l.sales {
		if sale.scarce() {
			if err := l.sellOut(sale, recovery); err != nil {
				s.found("%v", err)
			}
		}
	}
	accepted := map[string]string{}
	for _, t := range l.answers() {
		if !allowed(t.word) {
			s.found("a buyer was told %s", t.word)
		}
		if !promised(t.word) {
			continue
		}
		if t.order == "" {
			s.found("a buyer was told %s without an order", t.word)
			continue
		}
		accepted[t.order] = t.buyer
	}
	r.Acknowledged = len(accepted)
	s.check(l, accepted)
	s.account(l, accepted, r)
}

// saw fills in what buyers were told by those who came from the break until all was as
// before.
func (r *result) saw(all []told, broke, over time.Time) {
	r.Answers = map[string]map[string]int{}
	for _, t := range all {
		if t.at.Before(broke) || t.sent.After(over) {
			continue
		}
		words := r.Answers[t.sale.strategy]
		if words == nil {
			words = map[string]int{}
			r.Answers[t.sale.strategy] = words
		}
		words[t.word]++
		r.SlowestMS = max(r.SlowestMS, t.at.Sub(t.sent).Milliseconds())
	}
}

func (r *result) refuse(reason string) {
	if r.Refused == nil {
		r.Refused = map[string]int{}
	}
	r.Refused[reason]++
}

// tell fails the test with what was found.
func (r *result) tell(t testing.TB) {
	t.Helper()
	t.Logf("%s/%s: buyers %d ms, record %d, published %d, views %d; slowest %d ms; %d acknowledged, %d lost, refused later %v; %d came again, %d had an order, %d of them after a 503; felt %d; %v",
		r.Row, r.Fault, r.BuyersMS, r.RecordedMS, r.PublishedMS, r.ViewedMS, r.SlowestMS, r.Acknowledged, r.Lost, r.Refused, r.CameAgain, r.HadOrder, r.HadAfterRefusal, r.Felt, r.Answers)
	for _, finding := range slices.Sorted(maps.Keys(setOf(r.Findings))) {
		t.Errorf("%s/%s: %s", r.Row, r.Fault, finding)
	}
}

func setOf(list []string) map[string]bool {
	set := map[string]bool{}
	for _, item := range list {
		set[item] = true
	}
	return set
}
