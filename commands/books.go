package commands

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"seckill/domain"
	"seckill/eventstore"
)

// books is what the log says about one sale, folded in one pass as far as the
// evidence beside it asks: a few numbers per order and stock, whatever the number
// of events. The evidence is put in first, the log is read after it.
type books struct {
	evidence
	stocks map[string]*stockBook // by stream
	moves  halves
	orders map[string]*orderBook // by order id
	// unread holds, by stream, the first event that cannot be read. What is told of
	// the stream ends before it.
	unread map[string]*UnreadableError
	// limit and allowed are the most that the terms ever let a buyer have.
	limit   int64
	allowed int
	sale    map[int64]eventstore.Hash // of the sale's own stream, by version
	fold    domain.Sale
	// fields is what a gate's record of the sale must say, by the version that one was
	// seen to have applied.
	fields map[int64][]SaleField
	// lists are the buyers whose list in the gate names an order that may be of somebody
	// else, by order.
	lists map[string][]string
	// strays are keys and tickets in the gate that name no order of their bucket; twice
	// are the orders that two of a kind name.
	strays []strayUse
	twice  map[string]bool
	stock  map[string]ViewStock     // what stock_log must sum to, by SKU
	count  map[countsKey]ViewCounts // what sale_summary must count
	// overdraft is the most that the terms ever let a stock stream go below zero.
	overdraft map[string]int64
}

// evidence is what stood beside the log, before the log was read.
type evidence struct {
	cuts   []cut
	guards map[string]guardSeen // by stock stream
	views  ViewSnapshot
	// claimsAt is the head of the log before the claims were read.
	claimsAt int64
	parked   map[string]map[string]int64 // by projection and sequence: first position
}

// guardSeen is a guard and the version of its stream at the same moment.
type guardSeen struct {
	guard   eventstore.Guard
	version int64
}

// stockBook is a stock stream.
type stockBook struct {
	key   domain.StockKey
	now   domain.Account
	least domain.Account // where fewest were left
	// movedIn and movedOut are in now as released and reserved.
	movedIn, movedOut int64

	seen     *stockCut
	expected int64 // what the gate must have had left at the cut
	prefix   bool  // what the gate had applied is in the stream

	guard   *guardSeen
	atGuard domain.Account
}

// stockCut is what the gate had of a stock at a cut.
type stockCut struct {
	applied   eventstore.Mark
	available int64
	epoch, n  int64
	// before is the version that was applied before the gate was scanned.
	before int64
}

// letter is what a gate's record says of an order; 0 for nothing.
type letter uint8

const (
	letterAccepted letter = iota + 1
	letterEnded
	letterTombstone
	letterRefused
)

func letterOf(s GateOrderState) letter {
	switch s {
	case OrderAccepted:
		return letterAccepted
	case OrderEnded:
		return letterEnded
	case OrderTombstone:
		return letterTombstone
	case OrderRefused:
		return letterRefused
	}
	return 0
}

// told is what somebody says of an order's units: held ones, and what became of it.
type told struct {
	letter letter
	held   int32
}

// orderBook is what the log and the stores beside it say of one order. It is small
// on purpose: there is one for each order of a sale.
type orderBook struct {
	buyer  string
	payBy  int64 // seconds since 1970; 0 for none
	units  int64
	digest uint64 // OrderDigest
	key    uint64 // keyDigest
	ticket uint64 // keyDigest, with no body
	// gateKey and gateTicket are what the gate was seen to have of them; 0 for none.
	gateKey, gateTicket uint64
	// ordinal is the place among its buyer's orders that its event tells.
	ordinal int32
	status  status
	refund  bool
	placed  bool // its first event placed it
	inView  viewRow
	folded  viewRow // what the row must be at the view's checkpoint
	claim   claimRow
	gate    told
	bucket  int16
	listed  bool
	// byList: nobody but the gate's list has said yet who the buyer is. mixed: what was
	// seen tells different buyers.
	byList, mixed bool
	// counted is the item whose hold was added last, counted from 1: a scan may give
	// one twice.
	counted uint8
	// then and now are what the stock streams say of it: up to what the gate had
	// applied before it was scanned, and up to the head.
	then, now told
	atClaims  status // status when the claims were read
}

type viewRow struct {
	digest   uint64 // OrderDigest
	position int64
	version  int32
	units    int32
	status   status
	refund   bool
}

// claimRow is what the claims say of an order; n counts its rows.
type claimRow struct {
	n        uint8
	live     bool
	stranger bool // a buyer that is not the order's
	quantity int32
	ordinal  int32
	key      uint64 // keyDigest
}

// status is an order's status in one byte; 0 for none.
type status uint8

var statuses = [...]domain.OrderStatus{"", domain.OrderStatusQueued, domain.OrderStatusPlaced, domain.OrderStatusPaid,
	domain.OrderStatusCancelled, domain.OrderStatusExpired, domain.OrderStatusRejected}

func statusOf(s domain.OrderStatus) status {
	for i, known := range statuses {
		if known == s {
			return status(i)
		}
	}
	return 0
}

func (s status) domain() domain.OrderStatus { return statuses[s] }

func (s status) live() bool { return domain.Order{Status: s.domain()}.Standing() == domain.Live }

func newBooks(sale FoldedSale) *books {
	b := &books{
		stocks: map[string]*stockBook{}, moves: halves{}, orders: map[string]*orderBook{}, unread: map[string]*UnreadableError{},
		sale: map[int64]eventstore.Hash{}, fields: map[int64][]SaleField{}, lists: map[string][]string{}, twice: map[string]bool{}, stock: map[string]ViewStock{}, count: map[countsKey]ViewCounts{},
		overdraft: map[string]int64{},
	}
	b.guards = map[string]guardSeen{}
	b.limit, b.allowed = sale.Terms.LimitPerBuyer, sale.Terms.OrdersPerBuyer
	return b
}

// order gives the book of an order, made where there is none.
func (b *books) order(id string) *orderBook {
	o, ok := b.orders[id]
	if !ok {
		o = &orderBook{}
		b.orders[id] = o
	}
	return o
}

func (b *books) stockOf(stream string) (*stockBook, error) {
	s, ok := b.stocks[stream]
	if !ok {
		key, err := domain.ParseStockStream(stream)
		if err != nil {
			return nil, err
		}
		s = &stockBook{key: key}
		b.stocks[stream] = s
	}
	return s, nil
}

// booksPage is how many records are read in one statement.
const booksPage = 2000

// read folds every record of the sale up to a position.
func (b *books) read(ctx context.Context, log eventstore.Reader, sale string, head int64) error {
	if head == 0 {
		return nil
	}
	var after int64
	for {
		page, err := log.Find(ctx, eventstore.Filter{SaleID: sale, To: head}, after, booksPage)
		if err != nil {
			return fmt.Errorf("read the records of sale %s after %d: %w", sale, after, err)
		}
		for i := range page {
			if err := b.add(&page[i]); err != nil {
				return err
			}
			after = page[i].Position
		}
		if len(page) < booksPage {
			return nil
		}
	}
}

func (b *books) add(r *eventstore.Record) error {
	if b.unread[r.Stream] != nil {
		return nil
	}
	ev, err := decode(r)
	var unread *UnreadableError
	if errors.As(err, &unread) {
		b.unread[r.Stream] = unread
		return nil
	}
	switch {
	case strings.HasPrefix(r.Stream, "stock-"):
		return b.addStock(r, ev)
	case strings.HasPrefix(r.Stream, "order-"):
		b.addOrder(r, ev)
	case strings.HasPrefix(r.Stream, "sale-"):
		return b.addSale(r, ev)
	}
	return nil
}

// addSale brings the sale's own stream forward, and what a gate that stands there
// must say.
func (b *books) addSale(r *eventstore.Record, ev domain.Event) error {
	b.sale[r.Version], b.fold = r.Hash, b.fold.FoldSale(ev)
	b.addTerms(ev)
	for stream, units := range overdrafts(b.fold) {
		b.overdraft[stream] = max(b.overdraft[stream], units)
	}
	for _, c := range b.cuts {
		if c.seen.Sale.Applied != r.At() || b.fields[r.Version] != nil {
			continue
		}
		fields, err := SaleFields(b.fold)
		if err != nil {
			return err
		}
		b.fields[r.Version] = fields
	}
	return nil
}

func (b *books) addTerms(ev domain.Event) {
	var terms domain.SaleTerms
	switch ev := ev.(type) {
	case *domain.SaleScheduled:
		terms = ev.SaleTerms
	case *domain.SaleRevised:
		terms = ev.SaleTerms
	case *domain.SwitchFlipped:
		if ev.On && ev.Name == domain.SkipPurchaseLimit {
			terms.LimitPerBuyer = domain.MaxQuantity
		}
	}
	b.limit, b.allowed = max(b.limit, terms.LimitPerBuyer), max(b.allowed, terms.OrdersPerBuyer)
}
