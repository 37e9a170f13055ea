package commands

import (
	"reflect"
	"strings"
	"testing"

	"seckill/domain"
)

func TestEveryKindOfFindingHasACauseAndARepair(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range findingForms {
		if f.kind == "" || f.cause == "" || f.repair == "" || seen[f.kind] {
			t.Errorf("%+v: want a kind that stands once, with a cause and a repair", f)
		}
		seen[f.kind] = true
		if byHand := strings.HasPrefix(f.repair, "nothing"); byHand != (f.way == byPerson) {
			t.Errorf("%s: says %q, and a repair does %d", f.kind, f.repair, f.way)
		}
		if f.danger && f.way == byPerson {
			t.Errorf("%s stops a sale, and nothing would ever start it again", f.kind)
		}
	}
	if kinds := FindingKinds(); len(kinds) != len(seen) {
		t.Errorf("got %d kinds, want %d", len(kinds), len(seen))
	}
}

func TestOrdersThatReallyAreTooManyAreNoMatterOfClaims(t *testing.T) {
	for _, c := range []struct {
		f    Finding
		want way
	}{
		{Finding{Kind: FindingDoubleClaim, OrderID: "o"}, byClaims},
		{Finding{Kind: FindingDoubleClaim, OrderIDs: []string{"o", "p"}}, byPerson},
		{Finding{Kind: FindingGateAbove}, byStock},
	} {
		if got := c.f.way(); got != c.want {
			t.Errorf("%+v: got way %d, want %d", c.f, got, c.want)
		}
	}
}

// recordOf is what a gate holds of an order that has items A and B.
func recordOf(state GateOrderState, listed bool, a, b int64) GateRecord {
	hold := func(q int64) ScannedHold {
		switch {
		case q > 0:
			return ScannedHold{State: domain.HoldTaken, Quantity: q}
		case q < 0:
			return ScannedHold{State: domain.HoldReturned, Quantity: -q}
		}
		return ScannedHold{}
	}
	return GateRecord{Record: ScannedOrder{Order: "o", State: state}, Listed: listed, Holds: []ScannedHold{hold(a), hold(b)}}
}

func TestAnOrderInTheGateIsJudgedByWhatTheGateHasApplied(t *testing.T) {
	reserved, returned, refused := &domain.StockReserved{Quantity: 2}, &domain.StockReturned{Quantity: 2}, &domain.StockRefused{Quantity: 2}
	at := func(facts ...stockFact) map[string][]stockFact { return map[string][]stockFact{"A": facts} }
	placed := func(facts ...stockFact) orderFacts { return orderFacts{decided: true, stock: at(facts...)} }
	for name, c := range map[string]struct {
		gate    GateRecord
		applied int64 // of A's stream
		log     orderFacts
		want    string
		off     int64 // of A
	}{
		"accepted and recorded":                   {recordOf(OrderAccepted, true, 2, 0), 5, placed(stockFact{5, reserved}), "", 0},
		"accepted, recorded, not yet applied":     {recordOf(OrderAccepted, true, 2, 0), 4, placed(stockFact{5, reserved}), "", 0},
		"returned in the log, not yet applied":    {recordOf(OrderAccepted, true, 2, 0), 5, placed(stockFact{5, reserved}, stockFact{6, returned}), "", 0},
		"returned and applied":                    {recordOf(OrderEnded, true, -2, 0), 6, placed(stockFact{5, reserved}, stockFact{6, returned}), "", 0},
		"returned, and the gate still holds it":   {recordOf(OrderAccepted, true, 2, 0), 6, placed(stockFact{5, reserved}, stockFact{6, returned}), FindingNotInGate, -2},
		"applied, and the gate has no units":      {recordOf(OrderAccepted, true, 0, 0), 5, placed(stockFact{5, reserved}), FindingNotInGate, 2},
		"applied, and the gate has fewer":         {recordOf(OrderAccepted, true, 1, 0), 5, placed(stockFact{5, reserved}), FindingNotInGate, 1},
		"applied, and the record is gone":         {recordOf(OrderUnknown, true, 2, 0), 5, placed(stockFact{5, reserved}), FindingNotInGate, 0},
		"applied, and a tombstone stands":         {recordOf(OrderTombstone, true, 2, 0), 5, placed(stockFact{5, reserved}), FindingNotInGate, 0},
		"applied, and its buyer's list lacks it":  {recordOf(OrderAccepted, false, 2, 0), 5, placed(stockFact{5, reserved}), FindingNotInGate, 0},
		"the log knows nothing, units are held":   {recordOf(OrderAccepted, true, 2, 0), 5, orderFacts{}, FindingStranded, -2},
		"the log knows nothing, nothing is held":  {recordOf(OrderAccepted, true, 0, 0), 5, orderFacts{}, FindingOrphan, 0},
		"a list that names nothing":               {recordOf(OrderUnknown, true, 0, 0), 5, orderFacts{}, FindingOrphan, 0},
		"a tombstone that the log was not told":   {recordOf(OrderTombstone, false, 0, 0), 5, orderFacts{}, "", 0},
		"rejected as lost, units are held":        {recordOf(OrderAccepted, true, 2, 0), 5, orderFacts{decided: true, rejected: true}, FindingStranded, -2},
		"rejected, its refusal not yet applied":   {recordOf(OrderAccepted, true, 2, 0), 5, orderFacts{decided: true, rejected: true, stock: at(stockFact{6, refused})}, "", 0},
		"rejected as lost, the record still says": {recordOf(OrderAccepted, true, 0, 0), 5, orderFacts{decided: true, rejected: true}, FindingOrphan, 0},
		"units of an item nobody recorded":        {recordOf(OrderAccepted, true, 0, 3), 5, orderFacts{}, FindingStranded, 0},
	} {
		if c.log.stock == nil {
			c.log.stock = map[string][]stockFact{}
		}
		g := &GateRecords{Orders: []GateRecord{c.gate}}
		g.Stocks = []StockHash{{}, {}}
		g.Stocks[0].Applied.Number = c.applied
		f, off := judgeRecord(g, 0, cut{skus: []string{"A", "B"}}, c.log)
		if f.Kind != c.want || off["A"] != c.off {
			t.Errorf("%s: got %q with the account off by %d, want %q and %d", name, f.Kind, off["A"], c.want, c.off)
		}
		if f.Kind == FindingNotInGate && !reflect.DeepEqual(f.about.wrong, []string{"A"}) {
			t.Errorf("%s: wrong are %v, want A", name, f.about.wrong)
		}
	}
}

func TestOnlyWhatStoodBeforeTheScanIsSuspected(t *testing.T) {
	placed, rejected := statusOf(domain.OrderStatusPlaced), statusOf(domain.OrderStatusRejected)
	has := told{letterAccepted, 1}
	for name, c := range map[string]struct {
		o    orderBook
		want bool
	}{
		"applied before and seen":              {orderBook{status: placed, then: has, now: has, gate: has, listed: true}, false},
		"applied before and not seen":          {orderBook{status: placed, then: has, now: has}, true},
		"returned since, seen before that":     {orderBook{status: placed, then: has, now: told{letterEnded, 0}, gate: has, listed: true}, false},
		"returned since, seen after that":      {orderBook{status: placed, then: has, now: told{letterEnded, 0}, gate: told{letterEnded, 0}, listed: true}, false},
		"recorded since":                       {orderBook{status: placed, now: has, gate: told{letter: letterAccepted}}, false},
		"seen and not in the log":              {orderBook{gate: has, listed: true}, true},
		"a tombstone that is not in the log":   {orderBook{gate: told{letter: letterTombstone}}, false},
		"rejected as lost with units held":     {orderBook{status: rejected, gate: has}, true},
		"rejected with its refusal in the log": {orderBook{status: rejected, now: told{letter: letterRefused}, gate: has}, false},
	} {
		if got := c.o.suspect(); got != c.want {
			t.Errorf("%s: got %t, want %t", name, got, c.want)
		}
	}
}

func TestAnOverdraftIsNotOversold(t *testing.T) {
	for overdraft, want := range map[int64]int{0: 1, 2: 1, 3: 0} {
		r := &reconciliation{sale: FoldedSale{Sale: domain.Sale{Terms: domain.SaleTerms{Items: []domain.ItemTerms{{SKU: "A", Overdraft: overdraft}}}}}}
		r.judgeRule(&stockBook{key: domain.StockKey{SKU: "A"}, least: domain.Account{Version: 9, Released: 5, Reserved: 8}})
		if len(r.report.Findings) != want {
			t.Errorf("3 units beyond the stock with an overdraft of %d: got %+v, want %d findings", overdraft, r.report.Findings, want)
		}
	}
}
