package figures

import (
	"fmt"
	"strings"
)

// Want is what is wanted of a row's value; the zero value is nothing.
type Want struct {
	Most  bool // Than is the most, else the least
	Than  float64
	Given bool
}

func atLeast(than float64) Want { return Want{Than: than, Given: true} }
func atMost(than float64) Want  { return Want{Than: than, Given: true, Most: true} }

// Reached tells whether a value is what is wanted.
func (w Want) Reached(value float64) bool {
	switch {
	case !w.Given:
		return true
	case w.Most:
		return value <= w.Than
	}
	return value >= w.Than
}

// Row is one line of the table.
type Row struct {
	ID    string
	Suite string
	// What is measured, and beside what; Yardstick is "" where there is nothing.
	What, Yardstick string
	// Unit is that of ours and the yardstick, ValueUnit that of the value.
	Unit, ValueUnit string
	Want            Want
}

// Suite is a benchmark that gives some rows.
type Suite struct {
	Name    string
	Package string
	// Bench is the pattern of the benchmarks.
	Bench string
	// Args stand behind -args in a full run, Short in one that shows that it works.
	Args, Short string
	// Minutes is about how long the full run takes.
	Minutes int
}

const e2e = "./infra/cli/e2e"

// Suites are the benchmarks in the order in which they are run.
func Suites() []Suite {
	return []Suite{
		{"refusals", e2e, "RefusalsBesideABareHandler", "-refusals.for 8s -refusals.rounds 5", "-refusals.for 1s -refusals.rounds 1", 4},
		{"crowded", e2e, "AcceptedBesideRefused", "-refusals.for 10s -refusals.rounds 3", "-refusals.for 1s -refusals.rounds 1", 2},
		{"accepted", e2e, "AcceptedBesideABareHandler", "-accepted.stock 100000 -accepted.rounds 3", "-accepted.stock 4000 -accepted.rounds 1", 2},
		{"placed", e2e, "PlacedBesideABareHandler", "-accepted.stock 150000 -accepted.rounds 3", "-accepted.stock 4000 -accepted.rounds 1", 3},
		{"click", e2e, "FromClickToPlaced", "-click.stock 100000 -click.for 60s", "-click.stock 3000 -click.for 3s", 2},
		{"gate", "./infra/redisgate", "GateBesideAPlainScript", "-gate.purchases 100000 -gate.rounds 9", "-gate.purchases 20000 -gate.rounds 1", 2},
		{"snapshot", "./eventstore/pgstore", "CommitBesideAnOpenSnapshot", "-snapshot.for 60s", "-snapshot.for 3s", 4},
		{"append", "./eventstore/pgstore", "AppendAgainstCopy", "-append.events 200000 -append.rounds 3", "-append.events 20000", 1},
		{"rebuild", "./projections", "Rebuild", "-rebuild.events 1000000", "-rebuild.events 20000", 3},
		{"buyers", e2e, "CostOfManyBuyers", "-buyers.few 10000 -buyers.many 1000000 -buyers.rounds 5", "-buyers.few 1000 -buyers.many 10000 -buyers.rounds 1", 4},
		{"sales", e2e, "LiveSales", "-sales.live 1,1000,10000 -sales.purchases 50000 -sales.rounds 2", "-sales.live 1,50 -sales.purchases 3000", 6},
		{"strategy", "./commands", "DirectBesideNaive", "-direct.for 8s -direct.rounds 3", "-direct.for 1s -direct.rounds 1 -direct.buyers 32", 3},
		{"console", e2e, "Console", "-console.buyers 20000 -console.watchers 3 -console.idle 20s -console.pairs 9", "-console.buyers 1000 -console.watchers 1 -console.pairs 1", 4},
		{"rehydrate", e2e, "Rehydrate", "-rehydrate.orders 100000", "-rehydrate.orders 5000", 1},
	}
}

// ProfileSuite is the benchmark that takes profiles instead of figures.
func ProfileSuite() Suite {
	return Suite{"profiles", e2e, "Profiles", "-profiles.purchases 100000 -profiles.refusals 10s", "-profiles.purchases 4000 -profiles.refusals 1s", 2}
}

const bare = "bare Echo POST, bind + JSON"

// Rows are the lines of the table in their order.
func Rows() []Row {
	return []Row{
		{"refusals", "refusals", "refusals over HTTP, stock gone, all gates on, in a sale for everybody", bare, "/s", "×", atLeast(0.8)},
		{"refusals-tickets", "refusals", "the same in a sale with tickets", bare, "/s", "×", atLeast(0.8)},
		{"accepted", "accepted", "accepted purchases over HTTP (202), load until the stock ends; the recorder, which has a machine of its own in use, begins afterwards", bare, "/s", "×", atLeast(0.5)},
		{"accepted-beside", "placed", "the same while the same process records and projects", bare, "/s", "×", Want{}},
		{"placed", "placed", "placed and projected, sustained: from the first request to the last row of the views, everything on this machine, load included", bare, "/s", "×", atLeast(0.3)},
		{"gate-reserve", "gate", "gate: reservations", plainEval, "/s", "×", atLeast(4)},
		{"gate-soldout", "gate", "gate: sold-out answers by the script", plainEval, "/s", "×", atLeast(6)},
		{"gate-look", "gate", "gate: sold-out answers by a look, as a node gives them", plainEval, "/s", "×", atLeast(6)},
		{"snapshot", "snapshot", "p99 of a commit while a snapshot is open beside it all the time", "without it", "ms", "×", atMost(1.5)},
		{"append", "append", "durable append, events of 300 B", "`psql \\copy` of the same rows into the same table", "events/s", "×", atLeast(0.8)},
		{"rebuild", "rebuild", "rebuild of all views", "the same fold as pure SQL, `INSERT … SELECT`, the faster of two ways", "events/s", "×", atLeast(0.7)},
		{"click", "click", "p99 from the click to placed, at half of the peak", "one fsync + one Redis round trip", "ms", "×", atMost(20)},
		{"memory", "buyers", "most memory of `serve` with 1,000,000 buyers", "", "MB", "MB", atMost(300)},
		{"winner", "buyers", "Redis, a winner", "", "B", "B", atMost(450)},
		{"loser", "buyers", "Redis, a loser", "", "B", "B", atMost(0)},
		{"cost-buyers", "buyers", "processor time a buyer of all processes and stores, 1,000,000 buyers", "10,000 buyers", "µs", "×", atMost(1.2)},
		{"cost-sales", "sales", "processor time a purchase of all processes and stores, 10,000 live sales", "1 live sale", "µs", "×", atMost(1.2)},
		{"strategy-postgres", "strategy", "strategy `postgres`, 32 buyers at once on one item", "naive `UPDATE … WHERE available > 0` from 32 connections", "/s", "×", atLeast(10)},
		{"crowded", "crowded", "p99 of accepted purchases beside a refused crowd, 99 for each", "without the crowd", "ms", "×", atMost(2)},
		{"console", "console", "what open consoles cost a sale at full rate, of its throughput", "without consoles", "/s", "%", atMost(3)},
		{"rehydrate", "rehydrate", "the gate of a sale built again from its log", "", "orders/s", "orders/s", Want{}},
	}
}

const plainEval = "`redis-benchmark`, EVALSHA of a plain four-outcome script, 50 connections, no pipelining"

// RowOf finds a row by its id.
func RowOf(id string) (Row, bool) {
	for _, r := range Rows() {
		if r.ID == id {
			return r, true
		}
	}
	return Row{}, false
}

// Choose gives the suites that are named, by their name or by a row of theirs, all for
// "".
func Choose(names string) ([]Suite, error) {
	if names == "" {
		return Suites(), nil
	}
	wanted := map[string]bool{}
	for _, name := range strings.Split(names, ",") {
		name = strings.TrimSpace(name)
		if row, ok := RowOf(name); ok {
			name = row.Suite
		}
		wanted[name] = true
	}
	var chosen []Suite
	for _, s := range Suites() {
		if wanted[s.Name] {
			chosen = append(chosen, s)
			delete(wanted, s.Name)
		}
	}
	for name := range wanted {
		return nil, fmt.Errorf("there is no figure and no suite called %q: see -list", name)
	}
	return chosen, nil
}
