package commands

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"seckill/domain"
	"seckill/eventstore"
)

// statementFold folds the records of one sale, in the order of the log, into what
// a statement is made of. It remembers some 400 bytes an order.
type statementFold struct {
	sale     domain.Sale
	terms    []datedTerms
	closedAt *time.Time
	log      StatedLog
	last     eventstore.Hash

	book     *statedBook
	stocks   map[string]*statedStock
	items    map[string]*StatedItem
	versions map[string]int64 // of streams that are few
	ended    map[string]bool  // streams that cannot be read on
	refunds  map[string]*StatedRefunds
	tally    *tallied
	findings StatedFindings
	repairs  StatedRepairs
}

// datedTerms are terms from a version of the sale's stream on.
type datedTerms struct {
	version int64
	terms   domain.Terms
}

// statedStock is one bucket of an item.
type statedStock struct {
	key      domain.StockKey
	account  domain.Account
	oversold bool
}

func newStatementFold(sale string) *statementFold {
	return &statementFold{
		sale: domain.Sale{ID: sale}, book: newStatedBook(), stocks: map[string]*statedStock{}, items: map[string]*StatedItem{},
		versions: map[string]int64{}, ended: map[string]bool{}, refunds: map[string]*StatedRefunds{}, tally: newTallied(),
		findings: StatedFindings{List: []StatedFinding{}}, repairs: StatedRepairs{List: []StatedRepair{}},
	}
}

func (f *statementFold) found(x StatedFinding) {
	f.findings.Total++
	if len(f.findings.List) < MaxStated {
		f.findings.List = append(f.findings.List, x)
	}
}

func (f *statementFold) repaired(x StatedRepair) {
	f.repairs.Total++
	if len(f.repairs.List) < MaxStated {
		f.repairs.List = append(f.repairs.List, x)
	}
}

// add folds the next record of the sale.
func (f *statementFold) add(r *eventstore.Record) error {
	if r.Type == (&domain.SaleCleaned{}).EventType() {
		return nil // the end of its life, no part of what happened in the sale
	}
	if f.log.First == 0 {
		f.log.First = r.Position
	}
	f.log.Last, f.last = r.Position, r.Hash
	f.log.Events++
	if f.ended[r.Stream] {
		return nil
	}
	ev, err := decode(r)
	if err != nil {
		f.unread(r, err)
		return nil
	}
	kind, _, _ := strings.Cut(r.Stream, "-")
	switch kind {
	case "sale":
		f.follows(r)
		f.addSale(r, ev)
	case "stock":
		f.follows(r)
		return f.addStock(r, ev)
	case "order":
		f.addOrder(r, ev)
	}
	return nil
}

func (f *statementFold) unread(r *eventstore.Record, err error) {
	var unread *UnreadableError
	if errors.As(err, &unread) {
		err = unread.Cause
	}
	f.ended[strings.Clone(r.Stream)] = true
	f.found(StatedFinding{Kind: FindingUnread, Position: r.Position, OrderID: strings.Clone(r.OrderID),
		Detail: fmt.Sprintf("%s version %d cannot be read, and nothing of this stream after it is counted: %v", r.Stream, r.Version, err)})
}

// follows checks that a stream goes on where it stood.
func (f *statementFold) follows(r *eventstore.Record) {
	if want := f.versions[r.Stream] + 1; r.Version != want {
		f.hole(r, want)
	}
	f.versions[r.Stream] = r.Version
}

func (f *statementFold) hole(r *eventstore.Record, want int64) {
	f.found(StatedFinding{Kind: FindingHole, Position: r.Position, OrderID: strings.Clone(r.OrderID),
		Detail: fmt.Sprintf("%s goes on with version %d where version %d is due", r.Stream, r.Version, want)})
}

func (f *statementFold) addSale(r *eventstore.Record, ev domain.Event) {
	f.sale = f.sale.FoldSale(ev)
	f.sale.Version = r.Version
	switch e := ev.(type) {
	case *domain.SaleScheduled, *domain.SaleRevised, *domain.SwitchFlipped:
		f.terms = append(f.terms, datedTerms{r.Version, f.sale.Judged()})
	case *domain.SaleClosed:
		if f.closedAt == nil && r.RecordedAt.Before(f.sale.Terms.ClosesAt) {
			at := r.RecordedAt.UTC()
			f.closedAt = &at
		}
	case *domain.SaleTallied:
		f.tally.add(e)
	case *domain.SaleRepaired:
		f.repaired(StatedRepair{Position: r.Position, At: r.RecordedAt.UTC(), Kind: e.Kind, OrderID: e.OrderID, Before: e.Before, After: e.After, By: e.By, Note: e.Note})
	}
}

// termsAt gives the terms of a version of the sale's stream, those of now for 0.
func (f *statementFold) termsAt(version int64) (t domain.Terms) {
	for _, d := range f.terms {
		if version == 0 || d.version <= version {
			t = d.terms
		}
	}
	return t
}

func (f *statementFold) item(sku string) *StatedItem {
	item, ok := f.items[sku]
	if !ok {
		item = &StatedItem{SKU: sku}
		f.items[sku] = item
	}
	return item
}

func (f *statementFold) addStock(r *eventstore.Record, ev domain.Event) error {
	s, ok := f.stocks[r.Stream]
	if !ok {
		key, err := domain.ParseStockStream(r.Stream)
		if err != nil {
			return fmt.Errorf("position %d: %w", r.Position, err)
		}
		s = &statedStock{key: key}
		f.stocks[strings.Clone(r.Stream)] = s
	}
	s.account = s.account.Fold(ev)
	f.units(r, s, ev)
	if s.account.Left() < 0 && !s.oversold {
		f.judgeStock(r, s)
	}
	return nil
}

// judgeStock checks the stock rule: no bucket ever gives more than it has, but for
// the overdraft that the operator allowed for the item.
func (f *statementFold) judgeStock(r *eventstore.Record, s *statedStock) {
	var beyond int64
	for _, o := range f.stocks {
		if o.key.SKU == s.key.SKU {
			beyond += max(0, -o.account.Left())
		}
	}
	if item, _ := f.sale.Item(s.key.SKU); beyond <= item.Overdraft {
		return
	}
	s.oversold = true
	f.found(StatedFinding{Kind: FindingOversold, Position: r.Position, SKU: s.key.SKU,
		Detail: fmt.Sprintf("bucket %d has given %d units more than were released into it", s.key.Bucket, -s.account.Left())})
}

// units keeps the account of the item and what is taken and given back for orders.
func (f *statementFold) units(r *eventstore.Record, s *statedStock, ev domain.Event) {
	item, sku, bucket := f.item(s.key.SKU), s.key.SKU, s.key.Bucket
	switch e := ev.(type) {
	case *domain.StockReleased:
		item.Released += e.Quantity
	case *domain.StockWithdrawn:
		item.Withdrawn += e.Quantity
	case *domain.StockMovedIn:
		item.Moved += e.Quantity
	case *domain.StockReserved:
		item.Reserved += e.Quantity
		f.book.order(e.OrderID, r.Position).reserved += f.book.weigh(sku, bucket, e.Quantity)
	case *domain.StockReturned:
		item.Returned += e.Quantity
		f.book.order(e.OrderID, r.Position).returned += f.book.weigh(sku, bucket, e.Quantity)
	case *domain.StockWrittenOff:
		item.WrittenOff += e.Quantity
		f.book.order(e.OrderID, r.Position).written += f.book.weigh(sku, bucket, e.Quantity)
	case *domain.StockRefused:
		if e.WithdrawID+e.MoveID == "" {
			item.Refused += e.Quantity
		}
	case *domain.StockAdjusted:
		f.repaired(StatedRepair{Position: r.Position, At: r.RecordedAt.UTC(), Kind: e.Kind, SKU: sku, Bucket: bucket,
			Before: fmt.Sprint(e.Before), After: fmt.Sprint(e.After), By: e.By, Note: e.Note})
	}
}

func (f *statementFold) addOrder(r *eventstore.Record, ev domain.Event) {
	o := f.book.order(strings.TrimPrefix(r.Stream, orderPrefix), r.Position)
	if want := int64(o.version) + 1; r.Version != want {
		f.hole(r, want)
	}
	o.version = int32(r.Version)
	switch e := ev.(type) {
	case *domain.OrderPlaced:
		f.judgeClaim(r, e)
		f.book.place(o, e)
		o.node = uint16(f.book.nodes.of(nodeOf(r)))
	case *domain.OrderRejected:
		f.book.reject(o, e)
		o.node = uint16(f.book.nodes.of(nodeOf(r)))
	case *domain.OrderPaid:
		if o.status == statedPlaced {
			o.status = statedPaid
		} else {
			f.refund(string(domain.RefundLate), e.Amount)
		}
	case *domain.OrderRefundDue:
		f.refund(string(e.Reason), e.Amount)
	case *domain.OrderCancelled:
		if o.status == statedPaid {
			f.refund("cancelled", f.money(o.amount))
		}
		f.book.end(o, statedCancelled, endedBy(e.By), e.Restock)
	case *domain.OrderExpired:
		f.book.end(o, statedExpired, "", true)
	}
}

// orderPrefix begins the names of order streams.
const orderPrefix = "order-"

// endedBy gives the reason of a cancelled order; the names of operators stand in
// the log.
func endedBy(by string) string {
	if by == domain.EndedByBuyer || by == domain.EndedByPayment {
		return by
	}
	return "operator"
}

// judgeClaim checks what a buyer holds with a further order against the terms it
// was judged by.
func (f *statementFold) judgeClaim(r *eventstore.Record, e *domain.OrderPlaced) {
	held, terms := f.book.buyers[f.book.buyer(e.BuyerID)], f.termsAt(e.TermsVersion)
	units := held.units
	for _, l := range e.Lines {
		units += l.Quantity
	}
	if int(held.live) >= terms.OrdersPerBuyer || units > terms.LimitPerBuyer {
		f.found(StatedFinding{Kind: FindingDoubleClaim, Position: r.Position, OrderID: e.OrderID, BuyerID: e.BuyerID,
			Detail: fmt.Sprintf("the buyer then holds %d units in %d orders; the terms allow %d in %d", units, held.live+1, terms.LimitPerBuyer, terms.OrdersPerBuyer)})
	}
}

// nodeOf gives the node that took a purchase, "" where it is not known.
func nodeOf(r *eventstore.Record) string {
	var m Meta
	if err := json.Unmarshal(r.Metadata, &m); err != nil {
		return ""
	}
	return m.Node
}

// money is an amount in the currency of the sale.
func (f *statementFold) money(minor int64) domain.Money {
	m := domain.Money{Minor: minor}
	if len(f.sale.Terms.Items) > 0 {
		m.Currency = f.sale.Terms.Items[0].Price.Currency
	}
	return m
}

func (f *statementFold) refund(reason string, amount domain.Money) {
	due, ok := f.refunds[reason]
	if !ok {
		due = &StatedRefunds{Reason: reason, Amount: f.money(0)}
		f.refunds[reason] = due
	}
	due.Count++
	due.Amount = f.plus(due.Amount, amount)
}

// plus adds amounts; what does not add up is a finding, and left out.
func (f *statementFold) plus(a, b domain.Money) domain.Money {
	sum, ok := a.Plus(b)
	if !ok {
		f.found(StatedFinding{Kind: FindingAmount, Detail: fmt.Sprintf("%s %s and %s %s do not add up", a.Amount(), a.Currency, b.Amount(), b.Currency)})
		return a
	}
	return sum
}
