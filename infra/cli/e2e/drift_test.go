package e2e

import (
	"context"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"seckill/commands"
	"seckill/domain"
	"seckill/eventstore"
)

// drift is one way in which a test makes the books disagree.
type drift struct {
	name  string
	kind  string
	plant func(p *plant)
	// opts of the reconciler while it is planted.
	opts commands.ReconcilerOptions
	// undo takes back what the test did lawfully.
	undo func(p *plant)
}

// recordDrift writes a field of the gate's record of the sale.
func recordDrift(name, field, value string) drift {
	return drift{name: name, kind: commands.FindingSaleRecord, plant: func(p *plant) { p.do("HSET", p.saleKey(), field, value) }}
}

// keyDrift changes the keys that the gate remembers, and ticketDrift the tickets.
func keyDrift(name string, change func(p *plant)) drift {
	return drift{name: "a key " + name, kind: commands.FindingKey, plant: change}
}

func ticketDrift(name string, change func(p *plant)) drift {
	return drift{name: "a ticket " + name, kind: commands.FindingTicket, plant: change}
}

// viewDrift changes a row of order_view.
func viewDrift(name, set string) drift {
	return drift{name: name + " in order_view", kind: commands.FindingViewStale, plant: func(p *plant) {
		p.sql(`update order_view set `+set+` where order_id = $1`, p.orders["b-1"])
	}}
}

// stockRowDrift changes a row of stock_log, and not what all of them sum to.
func stockRowDrift(name, set string) drift {
	return drift{name: name + " in stock_log", kind: commands.FindingStockLog, plant: func(p *plant) {
		p.sql(`update stock_log set `+set+` where order_id = $1`, p.orders["b-1"])
	}}
}

// guardDrift changes the newest guard of the item.
func guardDrift(name, set string) drift {
	return drift{name: name, kind: commands.FindingGuard, plant: func(p *plant) {
		p.sql(`update guards set `+set+` where stream = $1 and version = (select max(version) from guards where stream = $1)`, "stock-"+p.sale+"-item-0")
	}}
}

// claimDrift changes the claim of an order.
func claimDrift(name, set string) drift {
	return drift{name: name, kind: commands.FindingClaim, plant: func(p *plant) {
		p.sql(`update claims set `+set+` where order_id = $1`, p.orders["b-3"])
	}}
}

// anotherBuyer changes who a field of the gate says the buyer is.
const anotherBuyer = `local v = string.gsub(redis.call('HGET', KEYS[1], ARGV[1]), '|[^|]*$', '|somebody') return redis.call('HSET', KEYS[1], ARGV[1], v)`

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
	{name: "units that another buyer holds", kind: commands.FindingOrphan, plant: func(p *plant) {
		p.do("EVAL", anotherBuyer, "1", p.stockKey(), "h:"+p.orders["b-2"])
	}},
	{name: "an order of another buyer in the gate", kind: commands.FindingOrphan, plant: func(p *plant) {
		p.do("EVAL", anotherBuyer, "1", p.saleKey(), "o:"+p.orders["b-2"])
	}},
	{name: "an order that the buyer's list forgot", kind: commands.FindingNotInGate, plant: func(p *plant) {
		p.do("HDEL", p.saleKey(), "b:b-2")
	}},
	{name: "an applied place of another history", kind: commands.FindingNotPrefix, plant: func(p *plant) {
		p.do("HSET", p.stockKey(), "applied", "4:"+strings.Repeat("ab", 32))
	}},
	{name: "an applied place beyond the log", kind: commands.FindingNotPrefix, plant: func(p *plant) {
		p.do("HSET", p.stockKey(), "applied", "99:"+strings.Repeat("ab", 32))
	}},
	{name: "an applied place that cannot be read", kind: commands.FindingNotPrefix, plant: func(p *plant) {
		p.do("HSET", p.stockKey(), "applied", "99:abcd")
	}},
	{name: "an applied place that is gone", kind: commands.FindingNotPrefix, plant: func(p *plant) {
		p.do("HDEL", p.stockKey(), "applied")
	}},
	{name: "a record of the sale beyond the log", kind: commands.FindingNotPrefix, plant: func(p *plant) {
		p.do("HSET", p.saleKey(), "applied", "99:"+strings.Repeat("ab", 32))
	}},
	{name: "a record of the sale whose applied place cannot be read", kind: commands.FindingNotPrefix, plant: func(p *plant) {
		p.do("HSET", p.saleKey(), "applied", "nonsense")
	}},
	{name: "a list of a buyer that names no order of ours", kind: commands.FindingOrphan, plant: func(p *plant) {
		p.do("HSET", p.saleKey(), "b:zed", "no-order-of-ours")
	}},
	{name: "a list of a buyer that names what is no id at all", kind: commands.FindingOrphan, plant: func(p *plant) {
		p.do("HSET", p.saleKey(), "b:zed", "no order!")
	}},
	{name: "a list of a buyer that names another's order", kind: commands.FindingOrphan, plant: func(p *plant) {
		p.do("HSET", p.saleKey(), "b:zed", p.orders["b-1"])
	}},
	{name: "a hold of no order of ours", kind: commands.FindingStranded, plant: func(p *plant) {
		p.do("HSET", p.stockKey(), "h:made-up", "T|1|zed")
	}},
	keyDrift("the gate forgot", func(p *plant) { p.do("HDEL", p.saleKey(), p.keyField("b-1")) }),
	keyDrift("of another's order", func(p *plant) { p.do("HSET", p.saleKey(), p.keyField("b-1"), p.orders["b-2"]+"|"+p.body()) }),
	keyDrift("with another body", func(p *plant) { p.do("HSET", p.saleKey(), p.keyField("b-1"), p.orders["b-1"]+"|other") }),
	keyDrift("that no order came with", func(p *plant) { p.do("HSET", p.saleKey(), "k:0123", p.orders["b-1"]+"|"+p.body()) }),
	keyDrift("of an order that no store knows", func(p *plant) { p.do("HSET", p.saleKey(), "k:0123", p.ghost("b-1")+"|"+p.body()) }),
	keyDrift("of what is no order", func(p *plant) { p.do("HSET", p.saleKey(), "k:0123", "nonsense") }),
	ticketDrift("the gate forgot", func(p *plant) { p.do("HDEL", p.saleKey(), p.ticketField("b-1")) }),
	ticketDrift("of another's order", func(p *plant) { p.do("HSET", p.saleKey(), p.ticketField("b-1"), p.orders["b-2"]) }),
	ticketDrift("that no order came with", func(p *plant) { p.do("HSET", p.saleKey(), "t:0123", p.orders["b-1"]) }),
	ticketDrift("of an order that no store knows", func(p *plant) { p.do("HSET", p.saleKey(), "t:0123", p.ghost("b-1")) }),
	ticketDrift("of what is no order", func(p *plant) { p.do("HSET", p.saleKey(), "t:0123", "no order!") }),
	recordDrift("the end of the sale moved", "closes", "9999999999999999"),
	recordDrift("the opening moved", "opens", "1"),
	recordDrift("a limit lifted", "limit", "5"),
	recordDrift("more orders allowed", "orders_per_buyer", "5"),
	recordDrift("buying again allowed", "rebuy", "1"),
	recordDrift("paused by nobody", "paused", "1"),
	recordDrift("ended by nobody", "closed", "1"),
	recordDrift("waiting for a confirmation", "waits", "1"),
	recordDrift("other terms", "terms", `{"version":1,"limit_per_buyer":9}`),
	recordDrift("terms that cannot be read", "terms", "nonsense"),
	{name: "the gate sells while the sale is paused", kind: commands.FindingSaleRecord, plant: func(p *plant) {
		if _, err := p.node.Operator.Pause(context.Background(), p.sale, domain.PausedByOperator, commands.Actor{By: "tester"}); err != nil {
			p.t.Fatal(err)
		}
		p.do("HSET", p.saleKey(), "paused", "0")
	}, undo: func(p *plant) {
		if _, err := p.node.Operator.Resume(context.Background(), p.sale, domain.PausedByOperator, commands.Actor{By: "tester"}); err != nil {
			p.t.Fatal(err)
		}
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
	guardDrift("a guard beyond its stream", "version = version + 5"),
	guardDrift("an overdraft that nobody allowed", "overdraft = overdraft + 10"),
	claimDrift("a claim with another key", "key = 'another'"),
	claimDrift("a claim with another body", "body_hash = 'another'"),
	claimDrift("a claim with another number", "ordinal = 7"),
	claimDrift("a claim with another quantity", "quantity = quantity + 1"),
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
	viewDrift("another time to pay", "pay_by = pay_by + interval '1 day'"),
	viewDrift("no time to pay", "pay_by = null"),
	viewDrift("another amount", "amount_minor = amount_minor + 1"),
	viewDrift("another currency", "currency = 'XXX'"),
	viewDrift("another buyer", "buyer_id = 'somebody'"),
	viewDrift("money due back", "refund_due = true"),
	viewDrift("other lines", `lines = '[{"sku":"item","quantity":1,"price_minor":1,"currency":"CNY"}]'`),
	viewDrift("lines that are none", `lines = '"x"'`),
	viewDrift("other units", "units = units + 1"),
	viewDrift("a reason", "reason = 'lost'"),
	viewDrift("another time of placing", "placed_at = placed_at - interval '1 hour'"),
	viewDrift("another time of accepting", "accepted_at = accepted_at - interval '1 hour'"),
	viewDrift("another entry", "entry = '9-9.9'"),
	viewDrift("another position", "position = position + 1000"),
	viewDrift("another bucket", "bucket = bucket + 1"),
	viewDrift("another trace", "trace_id = 'none'"),
	{name: "a row too many in order_view", kind: commands.FindingViewExtra, plant: func(p *plant) {
		p.sql(`insert into order_view select 'made-up', sale_id, buyer_id, bucket, lines, units, amount_minor, currency, status, reason, refund_due, placed_at,
			accepted_at, pay_by, entry, version, trace_id, position from order_view where order_id = $1`, p.orders["b-1"])
	}},
	{name: "a wrong sum in stock_log", kind: commands.FindingStockLog, plant: func(p *plant) {
		p.sql(`update stock_log set quantity = -2 where order_id = $1`, p.orders["b-1"])
	}},
	stockRowDrift("another order", "order_id = 'none'"),
	stockRowDrift("another position", "position = position + 1000000"),
	stockRowDrift("another time", "at = at - interval '1 hour'"),
	stockRowDrift("an item that is not sold", "sku = 'none'"),
	{name: "a wrong amount in sale_summary", kind: commands.FindingSummary, plant: func(p *plant) {
		p.sql(`update sale_summary set amount_minor = amount_minor + 1 where (sale_id, shard) in (select sale_id, shard from sale_summary where sale_id = $1 and placed > 0 limit 1)`, p.sale)
	}},
	{name: "a row of nothing in sale_summary", kind: commands.FindingSummary, plant: func(p *plant) {
		p.sql(`insert into sale_summary (store, sale_id, shard, currency, placed, rejected, paid, cancelled, expired, units, amount_minor)
			select store, sale_id, shard, 'XXX', 0, 0, 0, 0, 0, 0, 0 from sale_summary where sale_id = $1 limit 1`, p.sale)
	}},
	{name: "another currency in sale_summary", kind: commands.FindingSummary, plant: func(p *plant) {
		p.sql(`update sale_summary set currency = 'XXX' where sale_id = $1 and placed > 0`, p.sale)
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
			if d.undo != nil {
				d.undo(p)
			}
			p.standing()
		})
	}
}

// TestHalfAMoveIsFoundAndLeftToAPerson: who writes around the log's one writer may keep
// guard and account in step, and still the other bucket knows of nothing.
func TestHalfAMoveIsFoundAndLeftToAPerson(t *testing.T) {
	t.Parallel()
	p := newPlant(t, 2)
	stream := domain.StockStream(p.sale, "item", 0)
	name, schema, payload, err := domain.Encode(&domain.StockMovedIn{SaleID: p.sale, SKU: "item", MoveID: "made-up", From: 1, Quantity: 5})
	if err != nil {
		t.Fatal(err)
	}
	_, err = p.node.Store.Submit(t.Context(), eventstore.Work{
		Needs: eventstore.Needs{Streams: []string{stream}, Guards: []string{stream}},
		Decide: func(look eventstore.Look) (*eventstore.Group, error) {
			guard := look.Guard(stream)
			guard.Released += 5
			return &eventstore.Group{Guards: []eventstore.Guard{guard}, Appends: []eventstore.Append{{Stream: stream, Expected: eventstore.AnyVersion,
				Events: []eventstore.NewEvent{{ID: uuid.New(), Type: name, Schema: schema, SaleID: p.sale, Payload: payload, Metadata: []byte(`{}`)}}}}}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, run := range []string{"a report", "a repair"} {
		s, kinds := p.reconcile()
		if run == "a repair" {
			s = p.repair()
		}
		if len(s.Findings) != 1 || kinds[commands.FindingMove] != 1 || s.Findings[0].SKU != "item" || !strings.Contains(s.Findings[0].Detail, "made-up") {
			t.Errorf("%s: got %+v, want the one side of the move", run, s.Findings)
		}
	}
}
