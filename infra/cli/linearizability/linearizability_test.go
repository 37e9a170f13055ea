package linearizability

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"seckill/domain"
)

// How many rounds are played; `make linearizability` asks for more.
var (
	runs = flag.Int("histories.runs", 10, "rounds of histories: each is a fault, and a sale of each strategy and of several buckets")
	seed = flag.Uint64("histories.seed", 0, "seed of the first round, the next one's is one more; 0 draws one")
)

// allTerms are the sales of a round. What each buyer may have follows from chance.
func allTerms(chance *rand.Rand) []terms {
	ways := []terms{{Limit: 2, Orders: 1, Rebuy: true}, {Limit: 3, Orders: 3, Rebuy: true}, {Limit: 2, Orders: 1}}
	all := []terms{
		{Strategy: string(domain.StrategyRedisAsync), Buckets: 1}, {Strategy: string(domain.StrategyRedisAsync), Buckets: 3},
		{Strategy: string(domain.StrategyRedisSync), Buckets: 1}, {Strategy: string(domain.StrategyPostgres), Buckets: 1},
	}
	for i := range all {
		way := ways[chance.IntN(len(ways))]
		all[i].Limit, all[i].Orders, all[i].Rebuy = way.Limit, way.Orders, way.Rebuy
	}
	return all
}

// TestHistoriesOfServedSalesAreLinearizable plays rounds of histories against two API
// processes and two others, each round under another fault.
func TestHistoriesOfServedSalesAreLinearizable(t *testing.T) {
	h := newHouse(t)
	first := *seed
	if first == 0 {
		first = rand.Uint64() >> 12
	}
	seen := counts{}
	for run := range *runs {
		s := first + uint64(run)
		f := allFaults()[s%uint64(len(allFaults()))]
		began := time.Now()
		t.Logf("round %d of %d: %s; again with -histories.seed %d -histories.runs 1", run+1, *runs, f.name, s)
		playRound(t, h, f, s, seen)
		t.Logf("round %d took %s", run+1, time.Since(began).Round(time.Millisecond))
		if t.Failed() {
			return
		}
	}
	t.Logf("%v", seen)
	if *runs >= len(allFaults()) {
		seen.expect(t, "accepted", "repeat of", "sold out", "sold out after units came back", "limit exceeded", "key mismatch",
			"cancels", "payments", "looks", "returns", "releases", "withdrawals", "found out in the end")
	}
}

// playRound lets a crowd loose on each sale, breaks something meanwhile, waits until all
// is at rest, sells what is left, and checks.
func playRound(t *testing.T, h *house, f fault, s uint64, seen counts) {
	t.Helper()
	chance := rand.New(rand.NewPCG(s, 0))
	var asked atomic.Int64
	var markets []*market
	for i, of := range allTerms(chance) {
		markets = append(markets, h.market(of, 2+chance.IntN(4), s*16+uint64(i)+1, &asked))
	}
	over := make(chan struct{})
	deadline := time.Now().Add(2 * time.Minute)
	var crowds sync.WaitGroup
	for _, m := range markets {
		crowds.Go(func() { m.crowd(over, deadline) })
	}
	for asked.Load() < int64(len(markets)*workers*asks/4) && time.Now().Before(deadline) {
		time.Sleep(5 * time.Millisecond) // until the crowd is in the middle of it
	}
	var broke time.Duration
	if f.name != quiet {
		broke = time.Since(h.since)
	}
	f.do(h, chance)
	close(over)
	crowds.Wait()
	h.awake()
	var histories []*history
	for _, m := range markets {
		histories = append(histories, finish(t, h, m, broke))
	}
	for i, history := range histories {
		for _, finding := range history.findings {
			t.Errorf("sale %s %+v: %s", history.of.sale, history.of.terms, finding)
		}
		seen.of(history, len(markets[i].attempts))
	}
	want(t, fmt.Sprintf("%s-%d", strings.ReplaceAll(f.name, " ", "-"), s), histories...)
}

// finish brings a sale to rest, sells what is left of it, and makes its history; broke is
// when something was broken, 0 for never.
func finish(t *testing.T, h *house, m *market, broke time.Duration) *history {
	t.Helper()
	awaitRest(t, h.observer, m)
	e := ending{rested: time.Since(m.since), late: h.late}
	m.sellOut(time.Now().Add(time.Minute))
	awaitRest(t, h.observer, m)
	e.ended = time.Since(m.since)
	if err := e.read(context.Background(), h.observer.Store, m.id); err != nil {
		t.Fatalf("read the orders of sale %s: %v", m.id, err)
	}
	return m.history(&facts{sale: m.id, stock: m.stock, terms: m.terms, broke: broke}, e)
}
