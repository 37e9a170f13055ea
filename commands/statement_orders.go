package commands

import (
	"crypto/sha256"

	"seckill/domain"
	"seckill/eventstore"
)

// statedOrder is what a statement keeps of an order: about 100 bytes. Units are
// kept as sums of quantity times a number for the stock they are of, so that units
// of another item or bucket do not make up for missing ones.
type statedOrder struct {
	position int64 // its first event, in any stream
	lines    uint64
	reserved uint64
	returned uint64
	written  uint64
	amount   int64
	accepted int64 // microseconds since 1970
	version  int32
	buyer    uint32
	first    uint32 // of its lines
	count    uint8
	status   uint8
	reason   uint8
	shard    uint8
	node     uint16
	bucket   uint16
	restock  bool
}

// statedLine is a line of an order.
type statedLine struct {
	quantity int64
	price    int64
	item     uint16
}

// statedBuyer is what a buyer holds at a place of the log.
type statedBuyer struct {
	units int64
	live  int32
}

// bookKey is a digest of an order's or a buyer's id: ids are long and many.
type bookKey [16]byte

func keyFor(id string) (k bookKey) {
	sum := sha256.Sum256([]byte(id))
	copy(k[:], sum[:])
	return k
}

// statedStatuses are the statuses by number; 0: no event of the order itself.
var statedStatuses = [...]domain.OrderStatus{"", domain.OrderStatusPlaced, domain.OrderStatusPaid, domain.OrderStatusCancelled, domain.OrderStatusExpired, domain.OrderStatusRejected}

// Numbers of statuses.
const (
	statedNone = iota
	statedPlaced
	statedPaid
	statedCancelled
	statedExpired
	statedRejected
)

// statedBook holds the orders and buyers of a sale.
type statedBook struct {
	orders  []statedOrder
	byOrder map[bookKey]uint32
	buyers  []statedBuyer
	byBuyer map[bookKey]uint32
	lines   []statedLine
	items   names
	nodes   names
	reasons names
}

func newStatedBook() *statedBook {
	b := &statedBook{byOrder: map[bookKey]uint32{}, byBuyer: map[bookKey]uint32{}}
	b.nodes.of("") // number 0 is the one that is not known, and the reason that is none
	b.reasons.of("")
	return b
}

// names numbers texts of which there are few.
type names struct {
	list   []string
	number map[string]int
}

func (n *names) of(name string) int {
	i, ok := n.number[name]
	if !ok {
		if n.number == nil {
			n.number = map[string]int{}
		}
		i = len(n.list)
		n.number[name] = i
		n.list = append(n.list, name)
	}
	return i
}

// order gives the book's line of an order, beginning it at a position.
func (b *statedBook) order(id string, position int64) *statedOrder {
	k := keyFor(id)
	i, ok := b.byOrder[k]
	if !ok {
		i = uint32(len(b.orders))
		b.byOrder[k] = i
		b.orders = append(b.orders, statedOrder{position: position, shard: uint8(eventstore.ShardOf(id, eventstore.DefaultShards))})
	}
	return &b.orders[i]
}

func (b *statedBook) buyer(id string) uint32 {
	k := keyFor(id)
	i, ok := b.byBuyer[k]
	if !ok {
		i = uint32(len(b.buyers))
		b.byBuyer[k] = i
		b.buyers = append(b.buyers, statedBuyer{})
	}
	return i
}

// weigh gives units of a stock as a number that units of another do not add up to.
func (b *statedBook) weigh(sku string, bucket int, quantity int64) uint64 {
	s := uint64(b.items.of(sku))<<16 | uint64(uint16(bucket)) | 1<<40
	s *= 0x9E3779B97F4A7C15
	s ^= s >> 29
	s *= 0xBF58476D1CE4E5B9
	return uint64(quantity) * (s | 1)
}

// units gives the units of an order's lines.
func (b *statedBook) units(o *statedOrder) (n int64) {
	for _, l := range b.linesOf(o) {
		n += l.quantity
	}
	return n
}

func (b *statedBook) linesOf(o *statedOrder) []statedLine {
	return b.lines[o.first : o.first+uint32(o.count)]
}

// place begins an order with its lines.
func (b *statedBook) place(o *statedOrder, e *domain.OrderPlaced) {
	o.status, o.amount, o.accepted, o.bucket = statedPlaced, e.Amount.Minor, e.AcceptedAt.UnixMicro(), uint16(e.Bucket)
	o.first, o.buyer = uint32(len(b.lines)), b.buyer(e.BuyerID)
	for _, l := range e.Lines {
		o.lines += b.weigh(l.SKU, e.Bucket, l.Quantity)
		b.lines = append(b.lines, statedLine{quantity: l.Quantity, price: l.Price.Minor, item: uint16(b.items.of(l.SKU))})
		o.count++
	}
	buyer := &b.buyers[o.buyer]
	buyer.live++
	buyer.units += b.units(o)
}

// reject begins an order that is not kept.
func (b *statedBook) reject(o *statedOrder, e *domain.OrderRejected) {
	o.status, o.reason, o.bucket, o.first = statedRejected, uint8(b.reasons.of(string(e.Reason))), uint16(e.Bucket), uint32(len(b.lines))
	for _, l := range e.Lines {
		b.lines = append(b.lines, statedLine{quantity: l.Quantity, item: uint16(b.items.of(l.SKU))})
		o.count++
	}
}

// end takes an order out of what its buyer holds.
func (b *statedBook) end(o *statedOrder, status uint8, reason string, restock bool) {
	if o.status == statedPlaced || o.status == statedPaid {
		buyer := &b.buyers[o.buyer]
		buyer.live--
		buyer.units -= b.units(o)
	}
	o.status, o.reason, o.restock = status, uint8(b.reasons.of(reason)), restock
}
