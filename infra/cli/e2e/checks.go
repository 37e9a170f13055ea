package e2e

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
	"time"

	"seckill/commands"
	"seckill/domain"
	"seckill/eventstore"
	"seckill/eventstore/pgstore"
	"seckill/infra/testenv"
)

// bodyOf digests what is bought, as the API digests a body.
func bodyOf(lines []domain.Line) string {
	sum := sha256.Sum256([]byte(fmt.Sprint(lines)))
	return hex.EncodeToString(sum[:16])
}

// fold is everything a log says, read once from its first position.
type fold struct {
	sales    map[string]domain.Sale
	accounts map[string]domain.Account // by stock stream
	orders   map[string]domain.Order
	decided  map[string]int // deciding events by order
	versions map[string]int64
	limits   map[string]int64 // the highest limit that a sale had so far
	held     map[string]int64 // units of live orders, by sale and buyer
	head     eventstore.Mark
}

// StandingChecks hold after every case, once everything is drained: the fold of
// the log alone (C1, C5, C6), the gate against it (C2), every accepted order
// decided once and in the view (C3), the stock log against it (C4), and a
// reconciliation without findings.
func StandingChecks(t testing.TB, n *Node, sale string, accepted map[string]string) {
	t.Helper()
	StandingChecksOf(t, n, []string{sale}, accepted)
}

// StandingChecksOf are they of several sales at once; accepted are the orders of all.
func StandingChecksOf(t testing.TB, n *Node, sales []string, accepted map[string]string) {
	t.Helper()
	n.AwaitDecided(t, accepted)
	f := readFold(t, n.Store)
	for order, buyer := range accepted {
		if f.decided[order] != 1 {
			t.Errorf("C3: order %s of %s has %d deciding events, want 1", order, buyer, f.decided[order])
		}
	}
	checkLimits(t, f)
	for _, sale := range sales {
		checkGate(t, n, f, sale)
	}
	checkViews(t, n, f, accepted)
	checkAudit(t, n)
}

// readFold folds the whole log and checks it as it goes.
func readFold(t testing.TB, log eventstore.Reader) *fold {
	t.Helper()
	f := &fold{
		sales: map[string]domain.Sale{}, accounts: map[string]domain.Account{}, orders: map[string]domain.Order{},
		decided: map[string]int{}, versions: map[string]int64{}, limits: map[string]int64{}, held: map[string]int64{},
	}
	for {
		page, err := log.ReadAll(context.Background(), f.head.Number, 1000)
		if err != nil {
			t.Fatalf("read the log: %v", err)
		}
		for i := range page {
			f.add(t, &page[i])
		}
		if len(page) == 0 {
			return f
		}
	}
}

func (f *fold) add(t testing.TB, r *eventstore.Record) {
	t.Helper()
	if err := eventstore.CheckNext(f.head, r); err != nil {
		t.Fatalf("C6: %v", err)
	}
	f.head = r.Head()
	if r.Version != f.versions[r.Stream]+1 {
		t.Errorf("C6: %s has version %d after %d", r.Stream, r.Version, f.versions[r.Stream])
	}
	f.versions[r.Stream] = r.Version
	ev, err := domain.Decode(r.Type, r.Schema, r.Payload)
	if err != nil {
		t.Fatalf("position %d: %v", r.Position, err)
	}
	switch {
	case strings.HasPrefix(r.Stream, "sale-"):
		id := strings.TrimPrefix(r.Stream, "sale-")
		f.sales[id] = f.sales[id].FoldSale(ev)
		f.limits[id] = max(f.limits[id], f.sales[id].Terms.LimitPerBuyer)
	case strings.HasPrefix(r.Stream, "stock-"):
		a := f.accounts[r.Stream].Fold(ev)
		f.accounts[r.Stream] = a
		key, err := domain.ParseStockStream(r.Stream)
		if err != nil {
			t.Fatal(err)
		}
		if !a.Within(f.sales[key.Sale].OverdraftIn(key.SKU, key.Bucket)) {
			t.Errorf("C1: at position %d %s has %d left", r.Position, r.Stream, a.Left())
		}
	case strings.HasPrefix(r.Stream, "order-"):
		f.addOrder(t, strings.TrimPrefix(r.Stream, "order-"), ev)
	}
}

// addOrder checks at every event of an order that it is decided once at most, and that its
// buyer does not hold more than the sale has allowed so far: also for a while.
func (f *fold) addOrder(t testing.TB, id string, ev domain.Event) {
	t.Helper()
	before := unitsLive(f.orders[id])
	o := f.orders[id].FoldOrder(ev)
	f.orders[id] = o
	switch ev.(type) {
	case *domain.OrderPlaced, *domain.OrderRejected:
		if f.decided[id]++; f.decided[id] > 1 {
			t.Errorf("C3: order %s is decided once more by %s", id, ev.EventType())
		}
	}
	key := o.SaleID + "/" + o.BuyerID
	more := unitsLive(o) - before
	if f.held[key] += more; more > 0 && f.held[key] > f.limits[o.SaleID] {
		t.Errorf("C5: with order %s buyer %s holds %d units of sale %s, the limit is %d", id, o.BuyerID, f.held[key], o.SaleID, f.limits[o.SaleID])
	}
}

// unitsLive are the units that an order holds.
func unitsLive(o domain.Order) (units int64) {
	if o.Standing() != domain.Live {
		return 0
	}
	for _, l := range o.Lines {
		units += l.Quantity
	}
	return units
}

// placed counts the live orders of a sale.
func (f *fold) placed(sale string) int {
	n := 0
	for _, o := range f.orders {
		if o.SaleID == sale && o.Standing() == domain.Live {
			n++
		}
	}
	return n
}

// checkLimits compares with the terms as they are at the end.
func checkLimits(t testing.TB, f *fold) {
	t.Helper()
	for key, units := range f.held {
		sale, buyer, _ := strings.Cut(key, "/")
		if limit := f.sales[sale].Terms.LimitPerBuyer; units > limit {
			t.Errorf("C5: buyer %s holds %d units of sale %s, the limit is %d", buyer, units, sale, limit)
		}
	}
}

// checkGate waits until the gate has what the fold has, and reconciles.
func checkGate(t testing.TB, n *Node, f *fold, sale string) {
	t.Helper()
	for stream, account := range f.accounts {
		key, err := domain.ParseStockStream(stream)
		if err != nil {
			t.Fatal(err)
		}
		if key.Sale != sale || f.sales[sale].Gateless() {
			continue // without a gate the reconciliation compares guards and fold
		}
		place := domain.Place{Store: n.Env.Store, Sale: sale, Bucket: key.Bucket}
		testenv.Eventually(t, n.patience(30*time.Second), func() error {
			seen, err := n.Gate.Peek(context.Background(), place, []string{key.SKU})
			if err != nil {
				return err
			}
			if got := seen.Stocks[0].Available; got != account.Left() || !seen.Lane.Selling() {
				return fmt.Errorf("C2: the gate has %d of %s left (selling %t), the fold %d", got, stream, seen.Lane.Selling(), account.Left())
			}
			return nil
		})
	}
}

func checkViews(t testing.TB, n *Node, f *fold, accepted map[string]string) {
	t.Helper()
	var report commands.ReconcileReport
	testenv.Eventually(t, n.patience(60*time.Second), func() error {
		for order, buyer := range accepted {
			got, ok, err := n.Finder.View.Order(context.Background(), order)
			if err != nil {
				return err
			}
			want := f.orders[order]
			if !ok || got.Status != want.Status || got.BuyerID != buyer {
				return fmt.Errorf("C3: the view says %q of order %s, the fold %q", got.Status, order, want.Status)
			}
		}
		var err error
		report, err = n.Reconciler.Reconcile(context.Background(), "")
		return err
	})
	for _, s := range report.Sales {
		for _, finding := range s.Findings {
			t.Errorf("C4: reconciliation of sale %s: %+v", s.Sale, finding)
		}
	}
}

// checkAudit audits the whole log, as an auditor would the morning after.
func checkAudit(t testing.TB, n *Node) {
	t.Helper()
	evidence := pgstore.NewEvidence(n.pool)
	keys, err := evidence.SealKeys(context.Background())
	if err != nil {
		t.Fatalf("read the keys of the seals: %v", err)
	}
	auditor := commands.Auditor{Log: evidence, Stored: evidence, KeysOfStore: keys, Heads: evidence}
	report, err := auditor.Verify(context.Background(), commands.AuditOptions{})
	if err != nil {
		t.Fatalf("audit: %v", err)
	}
	for _, fault := range report.Faults {
		t.Errorf("C6: the audit found %+v", fault)
	}
}

// AwaitDecided waits until every accepted order is placed or rejected.
func (n *Node) AwaitDecided(t testing.TB, accepted map[string]string) {
	t.Helper()
	left := make(map[string]string, len(accepted))
	for order, buyer := range accepted {
		left[order] = buyer
	}
	testenv.Eventually(t, n.patience(90*time.Second), func() error {
		for order, buyer := range left {
			answer, err := n.Finder.Find(context.Background(), buyer, order)
			if err != nil {
				return fmt.Errorf("C3: order %s of %s: %w", order, buyer, err)
			}
			if answer.Status == domain.OrderStatusQueued {
				return fmt.Errorf("C3: order %s of %s is still queued", order, buyer)
			}
			delete(left, order)
		}
		return nil
	})
}
