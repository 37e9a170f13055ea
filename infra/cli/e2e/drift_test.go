package e2e

import (
	"maps"
	"strings"
	"testing"
	"time"

	"seckill/commands"
)

// drift is one way in which a test makes the books disagree.
type drift struct {
	name  string
	kind  string
	plant func(p *plant)
	// opts of the reconciler while it is planted.
	opts commands.ReconcilerOptions
}

// drifts are the ten of issue S3 and the others that a hand can plant.
var drifts = []drift{
	{name: "units too many in the gate", kind: commands.FindingGateAbove, plant: func(p *plant) {
		p.do("HINCRBY", p.stockKey(), "available", 5)
	}},
	{name: "units missing in the gate", kind: commands.FindingGateBelow, plant: func(p *plant) {
		p.do("HINCRBY", p.stockKey(), "available", -3)
	}},
	{name: "an order that the gate forgot", kind: commands.FindingNotInGate, plant: func(p *plant) {
		p.do("HDEL", p.stockKey(), "h:"+p.orders["b-2"])
		p.do("HINCRBY", p.stockKey(), "available", 1)
	}},
	{name: "an order that the buyer's list forgot", kind: commands.FindingNotInGate, plant: func(p *plant) {
		p.do("HDEL", p.saleKey(), "b:b-2")
	}},
	{name: "an applied place of another history", kind: commands.FindingNotPrefix, plant: func(p *plant) {
		p.do("HSET", p.stockKey(), "applied", "4:"+strings.Repeat("ab", 32))
	}},
	{name: "a purchase whose journal entry was deleted", kind: commands.FindingStranded, plant: func(p *plant) {
		p.orders["late"] = p.buy("late")
		p.skipJournal()
	}},
	{name: "a record of a buyer without units", kind: commands.FindingOrphan, plant: func(p *plant) {
		order := p.buy("late")
		p.skipJournal()
		p.do("HDEL", p.stockKey(), "h:"+order)
		p.do("HINCRBY", p.stockKey(), "available", 1)
	}},
	{name: "an entry that nobody records", kind: commands.FindingOverdue, opts: commands.ReconcilerOptions{Deadline: time.Nanosecond}, plant: func(p *plant) {
		p.orders["late"] = p.buy("late")
	}},
	{name: "an entry that was deleted before it was recorded", kind: commands.FindingOverdue, plant: func(p *plant) {
		p.orders["late"] = p.buy("late")
		p.do("DEL", p.key("journal"))
	}},
	{name: "a guard written by hand", kind: commands.FindingGuard, plant: func(p *plant) {
		p.sql(`update guards set reserved = reserved - 4 where stream = $1 and version = (select max(version) from guards where stream = $1)`, "stock-"+p.sale+"-item-0")
	}},
	{name: "a claim of an order that does not exist", kind: commands.FindingClaim, plant: func(p *plant) {
		p.sql(`insert into claims (sale_id, buyer_id, ordinal, order_id, quantity, live, key, body_hash) values ($1, 'nobody', 1, 'none', 1, true, '', '')`, p.sale)
	}},
	{name: "a claim that was deleted", kind: commands.FindingClaim, plant: func(p *plant) {
		p.sql(`delete from claims where order_id = $1`, p.orders["b-3"])
	}},
	{name: "a claim that counts no more", kind: commands.FindingClaim, plant: func(p *plant) {
		p.sql(`update claims set live = false where order_id = $1`, p.orders["b-3"])
	}},
	{name: "an order with two claims", kind: commands.FindingDoubleClaim, plant: func(p *plant) {
		p.sql(`insert into claims select sale_id, buyer_id, 2, order_id, quantity, live, key, body_hash from claims where order_id = $1`, p.orders["b-3"])
	}},
	{name: "a row missing in order_view", kind: commands.FindingViewMissing, plant: func(p *plant) {
		p.sql(`delete from order_view where order_id = $1`, p.orders["b-1"])
	}},
	{name: "a stale row in order_view", kind: commands.FindingViewStale, plant: func(p *plant) {
		p.sql(`update order_view set status = 'paid' where order_id = $1`, p.orders["b-1"])
	}},
	{name: "a row too many in order_view", kind: commands.FindingViewExtra, plant: func(p *plant) {
		p.sql(`insert into order_view select 'made-up', sale_id, buyer_id, bucket, lines, units, amount_minor, currency, status, reason, refund_due, placed_at,
			accepted_at, pay_by, entry, version, trace_id, position from order_view where order_id = $1`, p.orders["b-1"])
	}},
	{name: "a wrong sum in stock_log", kind: commands.FindingStockLog, plant: func(p *plant) {
		p.sql(`update stock_log set quantity = -2 where order_id = $1`, p.orders["b-1"])
	}},
	{name: "a wrong count in sale_summary", kind: commands.FindingSummary, plant: func(p *plant) {
		p.sql(`update sale_summary set placed = placed + 1 where sale_id = $1 and placed > 0`, p.sale)
	}},
	{name: "a sequence that was set aside", kind: commands.FindingParked, plant: func(p *plant) { p.park(p.orders["b-1"]) }},
	{name: "an order long unpaid", kind: commands.FindingOrderDue, opts: commands.ReconcilerOptions{Grace: time.Nanosecond}, plant: func(p *plant) {
		p.unpaid()
	}},
}

func TestEveryPlantedDriftIsFoundNamedRightlyRepairedAndGone(t *testing.T) {
	for _, d := range drifts {
		t.Run(d.kind+": "+d.name, func(t *testing.T) {
			t.Parallel()
			p := newPlant(t, 6)
			if s, _ := p.reconcile(); s.Drift != 0 {
				t.Fatalf("before: got %+v", s.Findings)
			}
			d.plant(p)
			p.node.Reconciler.ReconcilerOptions = d.opts
			s, kinds := p.reconcile()
			if len(kinds) != 1 || kinds[d.kind] == 0 {
				t.Fatalf("found %+v, want %s alone", s.Findings, d.kind)
			}
			for _, f := range s.Findings {
				if f.Cause == "" || f.Repair == "" || f.Detail == "" {
					t.Errorf("finding %+v lacks a cause, a repair or a detail", f)
				}
			}
			before := p.head()
			again, _ := p.reconcile()
			if p.head() != before || len(again.Findings) != len(s.Findings) {
				t.Errorf("a report without a repair: %d events and %d findings, want none and %d", p.head()-before, len(again.Findings), len(s.Findings))
			}
			mended := p.repair()
			if mended.Drift != 0 {
				t.Fatalf("after the repair: left %+v, repairs %+v", mended.Findings, mended.Repairs)
			}
			if len(mended.Repairs) == 0 || !mended.Repairs[0].Done || p.head() == before {
				t.Errorf("repairs: got %+v with %d events, want some, noted", mended.Repairs, p.head()-before)
			}
			once := p.head()
			if twice := p.repair(); twice.Drift != 0 || len(twice.Repairs) != 0 || p.head() != once {
				t.Errorf("a second repair: got %+v with %d events, want nothing", twice, p.head()-once)
			}
			if _, kinds := p.reconcile(); len(kinds) != 0 {
				t.Errorf("the next run: got %v, want nothing", maps.Keys(kinds))
			}
			p.node.Reconciler.ReconcilerOptions = commands.ReconcilerOptions{}
			p.standing()
		})
	}
}
