package commands_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"seckill/commands"
	"seckill/domain"
	"seckill/eventstore"
	"seckill/eventstore/seal"
)

// ledger writes the log of a sale with two buckets that has ended.
type ledger struct {
	*vault
	opens  time.Time
	node   string
	group  []eventstore.Append
	placed int
}

func newLedger(t testing.TB) *ledger {
	l := &ledger{vault: newVault(t), opens: time.Date(2026, 11, 11, 0, 0, 0, 0, time.UTC), node: "api-1"}
	began := time.Now()
	l.env.Now = func() time.Time { return l.opens.Add(24*time.Hour + time.Since(began)) }
	l.put(domain.SaleStream(vaultSale), &domain.SaleScheduled{SaleID: vaultSale, SaleTerms: domain.SaleTerms{
		Title: "Tea & 汉字", OpensAt: l.opens, ClosesAt: l.opens.Add(time.Hour), Buckets: 2, AutoOpen: true,
		Items: []domain.ItemTerms{{SKU: "tea", Title: "Tea", Price: cny(1990), Stock: 1_000_000}},
	}.WithDefaults()}, "")
	for bucket := range 2 {
		l.put(domain.StockStream(vaultSale, "tea", bucket), &domain.StockReleased{SaleID: vaultSale, SKU: "tea", Bucket: bucket, Quantity: 500_000}, "")
	}
	l.flush()
	return l
}

func cny(minor int64) domain.Money { return domain.Money{Minor: minor, Currency: "CNY"} }

// put adds an event to the group that flush stores.
func (l *ledger) put(stream string, e domain.Event, order string) {
	l.t.Helper()
	stored := l.event(e, order)
	stored.Metadata = fmt.Appendf(nil, `{"trace_id":"t","node":%q}`, l.node)
	l.group = append(l.group, eventstore.Append{Stream: stream, Expected: eventstore.AnyVersion, Events: []eventstore.NewEvent{stored}})
}

func (l *ledger) flush() {
	l.t.Helper()
	l.submit(l.group...)
	l.group = nil
}

// buy places an order of a buyer, accepted so many milliseconds after the opening.
func (l *ledger) buy(buyer string, millis int) (order string) {
	l.t.Helper()
	l.placed++
	order = fmt.Sprintf("040g000328t5cy4t0410%028d", l.placed)
	bucket := l.placed % 2
	l.put(domain.StockStream(vaultSale, "tea", bucket), &domain.StockReserved{SaleID: vaultSale, SKU: "tea", Bucket: bucket, OrderID: order, BuyerID: buyer, Quantity: 1, Entry: "1-1.1"}, order)
	l.put(domain.OrderStream(order), &domain.OrderPlaced{OrderID: order, SaleID: vaultSale, BuyerID: buyer, Bucket: bucket,
		Lines: []domain.OrderLine{{SKU: "tea", Quantity: 1, Price: cny(1990)}}, Amount: cny(1990), AcceptedAt: l.opens.Add(time.Duration(millis) * time.Millisecond), TermsVersion: 1}, order)
	return order
}

func (l *ledger) back(order string, e domain.Event) {
	l.t.Helper()
	var number int
	if _, err := fmt.Sscanf(order[20:], "%d", &number); err != nil {
		l.t.Fatal(err)
	}
	switch e := e.(type) {
	case *domain.StockReturned:
		e.SaleID, e.SKU, e.Bucket, e.OrderID, e.Quantity = vaultSale, "tea", number%2, order, 1
	case *domain.StockWrittenOff:
		e.SaleID, e.SKU, e.Bucket, e.OrderID, e.Quantity = vaultSale, "tea", number%2, order, 1
	}
	l.put(domain.StockStream(vaultSale, "tea", number%2), e, order)
}

func (l *ledger) closer() *commands.Closer {
	return &commands.Closer{Env: l.env, Log: l.store, Store: l.uuid, Key: func(context.Context) (seal.Key, error) { return l.key, nil }}
}

func (l *ledger) state() (*commands.SignedStatement, *commands.Statement) {
	l.t.Helper()
	x, err := l.closer().State(context.Background(), vaultSale)
	if err != nil {
		l.t.Fatal(err)
	}
	s, err := x.Check(l.keys())
	if err != nil {
		l.t.Fatal(err)
	}
	return x, s
}

func (l *ledger) keys() map[string]ed25519.PublicKey {
	return map[string]ed25519.PublicKey{l.key.ID(): l.key.Public()}
}

// wholeSale writes one order of each fate.
func (l *ledger) wholeSale() {
	l.t.Helper()
	for i := range 20 {
		paid := l.buy(fmt.Sprintf("paid-%d", i), 10*i)
		l.put(domain.OrderStream(paid), &domain.OrderPaid{OrderID: paid, PaymentID: "p", Amount: cny(1990)}, paid)
	}
	l.buy("placed", 300)
	gone := l.buy("gone", 310)
	l.put(domain.OrderStream(gone), &domain.OrderCancelled{OrderID: gone, By: "buyer", Restock: true}, gone)
	l.back(gone, &domain.StockReturned{Reason: "buyer"})
	l.put(domain.OrderStream(gone), &domain.OrderRefundDue{OrderID: gone, PaymentID: "late", Amount: cny(1990), Reason: domain.RefundLate}, gone)
	broken := l.buy("broken", 320)
	l.put(domain.OrderStream(broken), &domain.OrderPaid{OrderID: broken, PaymentID: "p", Amount: cny(1990)}, broken)
	l.put(domain.OrderStream(broken), &domain.OrderCancelled{OrderID: broken, By: "anna", Restock: false}, broken)
	l.back(broken, &domain.StockWrittenOff{Reason: "anna"})
	late := l.buy("late", 330)
	l.put(domain.OrderStream(late), &domain.OrderExpired{OrderID: late}, late)
	l.back(late, &domain.StockReturned{Reason: "expired"})
	refused := "040g000328t5cy4t0410ffffffffffffffffffffffffffff"
	l.put(domain.OrderStream(refused), &domain.OrderRejected{OrderID: refused, SaleID: vaultSale, BuyerID: "x", Lines: []domain.Line{{SKU: "tea", Quantity: 1}}, Reason: domain.RejectedGuard}, refused)
	l.put(domain.StockStream(vaultSale, "tea", 0), &domain.StockRefused{SaleID: vaultSale, SKU: "tea", OrderID: refused, BuyerID: "x", Quantity: 1, Reason: domain.RejectedGuard}, refused)
	l.put(domain.StockStream(vaultSale, "tea", 0), &domain.StockAdjusted{SaleID: vaultSale, SKU: "tea", Kind: "gate_above_log", Before: 9, After: 7, By: "anna", Note: "after the failover"}, "")
	l.flush()
}

func TestAStatementIsTheWholeAccountOfASale(t *testing.T) {
	l := newLedger(t)
	l.wholeSale()
	_, s := l.state()
	want := []commands.StatedItem{{SKU: "tea", Title: "Tea", Released: 1_000_000, Reserved: 24, Returned: 2, WrittenOff: 1, Refused: 1, Sold: 20, Placed: 1, Unsold: 999_978, Revenue: cny(39800)}}
	if diff := cmp.Diff(want, s.Items); diff != "" {
		t.Errorf("items (-want +got)\n%s", diff)
	}
	money := commands.StatedMoney{Revenue: cny(39800), RefundsDue: cny(3980), Refunds: []commands.StatedRefunds{{Reason: "cancelled", Count: 1, Amount: cny(1990)}, {Reason: "late", Count: 1, Amount: cny(1990)}}}
	if diff := cmp.Diff(money, s.Money); diff != "" {
		t.Errorf("money (-want +got)\n%s", diff)
	}
	orders := []commands.StatedOrders{
		{Status: "placed", Orders: 1, Units: 1}, {Status: "paid", Orders: 20, Units: 20}, {Status: "cancelled", Reason: "buyer", Orders: 1, Units: 1},
		{Status: "cancelled", Reason: "operator", Orders: 1, Units: 1}, {Status: "expired", Orders: 1, Units: 1}, {Status: "rejected", Reason: "guard", Orders: 1, Units: 1},
	}
	if diff := cmp.Diff(orders, s.Orders); diff != "" {
		t.Errorf("orders (-want +got)\n%s", diff)
	}
	if s.Findings.Total != 0 {
		t.Errorf("got findings %+v, want none", s.Findings.List)
	}
	if s.Repairs.Total != 1 || s.Repairs.List[0].By != "anna" || s.Repairs.List[0].Before != "9" {
		t.Errorf("repairs: got %+v", s.Repairs)
	}
	head, err := l.store.Head(t.Context())
	if err != nil || s.Log.First != 1 || s.Log.Last != head.Number || s.Log.Hash != head.Hash.String() || s.Log.Events != head.Number {
		t.Errorf("log: got %+v, want all up to %v, %v", s.Log, head, err)
	}
}

// Every way in which the books of a log can be wrong is planted once.
func TestAStatementFindsWhatIsWrongInTheLogItself(t *testing.T) {
	for kind, plant := range map[string]func(*ledger){
		commands.FindingNoReserved: func(l *ledger) {
			l.buy("b", 1)
			l.group = slices.DeleteFunc(l.group, func(a eventstore.Append) bool { return strings.HasPrefix(a.Stream, "stock-") })
		},
		commands.FindingNoOrder: func(l *ledger) {
			l.buy("b", 1)
			l.group = slices.DeleteFunc(l.group, func(a eventstore.Append) bool { return strings.HasPrefix(a.Stream, "order-") })
		},
		commands.FindingReturns: func(l *ledger) {
			order := l.buy("b", 1)
			l.put(domain.OrderStream(order), &domain.OrderExpired{OrderID: order}, order)
			l.back(order, &domain.StockReturned{})
			l.back(order, &domain.StockReturned{})
		},
		commands.FindingDoubleClaim: func(l *ledger) { l.buy("b", 1); l.buy("b", 2) },
		commands.FindingOversold: func(l *ledger) {
			l.put(domain.StockStream(vaultSale, "tea", 0), &domain.StockWithdrawn{SaleID: vaultSale, SKU: "tea", Quantity: 600_000}, "")
		},
		commands.FindingUnread: func(l *ledger) {
			l.put(domain.SaleStream(vaultSale), &domain.SalePaused{SaleID: vaultSale}, "")
			l.group[0].Events[0].Type = "sale.of_the_future"
		},
		commands.FindingWins: func(l *ledger) {
			l.put(domain.SaleStream(vaultSale), &domain.SaleTallied{SaleID: vaultSale, Node: "api-1", Asked: 2, Won: 2}, "")
			l.buy("b", 1)
		},
	} {
		t.Run(kind, func(t *testing.T) {
			l := newLedger(t)
			plant(l)
			l.flush()
			_, s := l.state()
			if s.Findings.Total != 1 || s.Findings.List[0].Kind != kind || s.Findings.List[0].Detail == "" {
				t.Fatalf("got %+v, want one of %s", s.Findings.List, kind)
			}
			if id := s.Findings.List[0].OrderID; strings.Contains(kind, "order") && kind != commands.FindingWins && !strings.HasPrefix(id, "040g") {
				t.Errorf("got no order: %+v", s.Findings.List[0])
			}
		})
	}
}

func TestAHoleInAStreamIsFound(t *testing.T) {
	l := newLedger(t)
	l.wholeSale()
	l.tamper(`update events set sale_id = '' where stream like 'stock-%' and version = 5`) // hidden from whoever asks for the sale
	_, s := l.state()
	if s.Findings.Total == 0 || s.Findings.List[0].Kind != commands.FindingHole {
		t.Errorf("got %+v, want the hole", s.Findings.List)
	}
}

// tallies lets three nodes tell the same arrivals, of which the second one wins
// more than its share.
func (l *ledger) tallies(won ...int64) {
	for i, n := range won {
		l.put(domain.SaleStream(vaultSale), &domain.SaleTallied{
			SaleID: vaultSale, Node: fmt.Sprintf("api-%d", i+1), Asked: 10_100, Won: n, Refused: []domain.TallyRefusal{{Code: "sold_out", Count: 10_000 - n}, {Code: "too_early", Count: 100}},
			Slices:  []domain.TallySlice{{Millis: -100, Asked: 100}, {Millis: 0, Asked: 1000, Won: n}, {Millis: 2000, Asked: 9000}},
			Buckets: []domain.TallyBucket{{Bucket: 0, Asked: 5000, Won: n / 2}, {Bucket: 1, Asked: 5100, Won: n - n/2}},
		}, "")
	}
	l.flush()
}

func TestANodeThatWinsMoreThanItsArrivalsShouldIsNamed(t *testing.T) {
	l := newLedger(t)
	l.tallies(100, 400, 100)
	_, s := l.state()
	if c := s.Chances; len(c.Flags) != 3 || !strings.Contains(c.Flags[1], "Node api-2 won 400 of 10100") || !strings.Contains(c.Flags[1], "200") {
		t.Errorf("got flags %q", c.Flags) // the two others have less than their share
	}
	if n := s.Chances.ByNode; len(n) != 3 || !n[1].Flagged || n[1].Expected != 200 || n[1].Rate != "3.96" {
		t.Errorf("got nodes %+v", n)
	}
}

func TestEqualNodesBucketsAndShardsAreNotNamed(t *testing.T) {
	l := newLedger(t)
	for i := range 600 {
		l.node = fmt.Sprintf("api-%d", 1+i%3)
		l.buy(fmt.Sprintf("b-%d", i), i)
	}
	l.flush()
	l.tallies(190, 205, 205)
	_, s := l.state()
	c := s.Chances
	if len(c.Flags) != 0 || c.Asked != 30_300 || c.Won != 600 || c.Before.Asked != 300 {
		t.Errorf("got %+v", c)
	}
	if a := c.Arrivals; len(a) != 2 || a[0] != (commands.StatedArrivals{FromMillis: 0, ToMillis: 10, Asked: 3000, Won: 600, Rate: "20.00"}) || a[1].Rate != "0.00" {
		t.Errorf("arrivals: got %+v", a)
	}
	if a := c.Accepted; len(a) != 10 || a[0] != (commands.StatedAccepted{FromMillis: 0, ToMillis: 59, Orders: 60, Kept: 60}) {
		t.Errorf("accepted: got %+v", a)
	}
	if c.Nodes.Seen != 3 || c.Nodes.Tallied != 3 || c.ByNode[0].Orders != 200 || c.ByBucket[0].Orders != 300 {
		t.Errorf("got %+v %+v %+v", c.Nodes, c.ByNode, c.ByBucket)
	}
}

func TestAStatementSaysWhichNodesNeverTold(t *testing.T) {
	l := newLedger(t)
	for i := range 4 {
		l.node = fmt.Sprintf("api-%d", i+1)
		l.buy(fmt.Sprintf("b-%d", i), i)
	}
	l.tallies(1, 1)
	_, s := l.state()
	if n := s.Chances.Nodes; n.Seen != 4 || n.Tallied != 2 || !slices.Equal(n.Missing, []string{"api-3", "api-4"}) {
		t.Errorf("got %+v", n)
	}
	if f := s.Chances.Flags; len(f) != 1 || !strings.HasPrefix(f[0], "2 nodes of 4 seen") {
		t.Errorf("got %q", f)
	}
}

func TestTheSameLogGivesTheSameStatementAndMoreOfTheLogAnother(t *testing.T) {
	l := newLedger(t)
	l.wholeSale()
	l.seal()
	first, s := l.state()
	if first.Issued.SealFirst != 1 || first.Issued.SealedTo != s.Log.Last {
		t.Errorf("got %+v, want the seals over the sale", first.Issued)
	}
	l.submit(eventstore.Append{Stream: "sale-00000001", Events: []eventstore.NewEvent{other(l.event(&domain.SaleClosed{SaleID: "00000001"}, ""))}})
	l.put(domain.SaleStream(vaultSale), &domain.SaleCleaned{SaleID: vaultSale}, "")
	l.flush()
	l.env.Now = func() time.Time { return l.opens.Add(48 * time.Hour) }
	again, _ := l.state()
	if again.SHA256 != first.SHA256 || !bytes.Equal(again.Statement, first.Statement) || again.Issued.Head <= first.Issued.Head {
		t.Errorf("another sale and the clean-up changed it:\n%s\n%s", first.Statement, again.Statement)
	}
	paid := "040g000328t5cy4t0410" + fmt.Sprintf("%028d", 21)
	l.put(domain.OrderStream(paid), &domain.OrderPaid{OrderID: paid, PaymentID: "q", Amount: cny(1990)}, paid)
	l.flush()
	if later, _ := l.state(); later.SHA256 == first.SHA256 {
		t.Error("a payment changed nothing")
	}
	closer := l.closer()
	if err := closer.Recompute(t.Context(), first, s); err != nil {
		t.Errorf("made again as of then: %v", err)
	}
	l.tamper(`update events set payload = convert_to(replace(convert_from(payload, 'UTF8'), '"quantity":1,', '"quantity":2,'), 'UTF8') where position = 4`)
	if err := closer.Recompute(t.Context(), first, s); !errors.Is(err, commands.ErrNotStated) {
		t.Errorf("after a change of the log: got %v", err)
	}
}

func other(e eventstore.NewEvent) eventstore.NewEvent {
	e.SaleID = "00000001"
	return e
}

func TestACloserRemembersUntilTheLogHasMoreOfTheSale(t *testing.T) {
	l := newLedger(t)
	l.buy("a", 1)
	l.flush()
	closer := l.closer()
	sum := func() string {
		t.Helper()
		x, err := closer.State(t.Context(), vaultSale)
		if err != nil {
			t.Fatal(err)
		}
		return x.SHA256
	}
	first := sum()
	if sum() != first {
		t.Error("it changed by itself")
	}
	l.buy("b", 2)
	l.flush()
	if sum() == first {
		t.Error("it remembers an older state")
	}
}

func TestASaleThatIsNotOverHasNoStatement(t *testing.T) {
	l := newLedger(t)
	l.env.Now = func() time.Time { return l.opens.Add(time.Minute) }
	var p *domain.Problem
	if _, err := l.closer().State(t.Context(), vaultSale); !errors.As(err, &p) || p.Code != domain.CodeNotEnded {
		t.Errorf("got %v, want not_ended", err)
	}
	if _, err := l.closer().State(t.Context(), "00000000"); !errors.As(err, &p) || p.Code != domain.CodeSaleNotFound {
		t.Errorf("got %v, want sale_not_found", err)
	}
}
