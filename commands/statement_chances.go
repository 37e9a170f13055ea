package commands

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"seckill/domain"
	"seckill/eventstore"
)

// tallied is the sum of what nodes told.
type tallied struct {
	asked, won int64
	refused    map[domain.Code]int64
	arrivals   map[int64]tallyCell // by the begin of the slice
	buckets    map[int]tallyCell
	nodes      map[string]map[int64]tallyCell
}

func newTallied() *tallied {
	return &tallied{refused: map[domain.Code]int64{}, arrivals: map[int64]tallyCell{}, buckets: map[int]tallyCell{}, nodes: map[string]map[int64]tallyCell{}}
}

func (t *tallied) add(e *domain.SaleTallied) {
	t.asked += e.Asked
	t.won += e.Won
	for _, r := range e.Refused {
		t.refused[r.Code] += r.Count
	}
	node := t.nodes[e.Node]
	if node == nil {
		node = map[int64]tallyCell{}
		t.nodes[e.Node] = node
	}
	for _, s := range e.Slices {
		for _, cells := range []map[int64]tallyCell{t.arrivals, node} {
			c := cells[s.Millis]
			cells[s.Millis] = tallyCell{c.asked + s.Asked, c.won + s.Won}
		}
	}
	for _, b := range e.Buckets {
		c := t.buckets[b.Bucket]
		t.buckets[b.Bucket] = tallyCell{c.asked + b.Asked, c.won + b.Won}
	}
}

// sum adds up cells.
func sum[K comparable](cells map[K]tallyCell) (all tallyCell) {
	for _, c := range cells {
		all.asked += c.asked
		all.won += c.won
	}
	return all
}

// rate gives won in the hundred asked, as a decimal with two places.
func rate(won, asked int64) string {
	if asked == 0 {
		return ""
	}
	r := won * 10_000 / asked
	return fmt.Sprintf("%d.%02d", r/100, r%100)
}

// suspicious tells whether a number is too far from what was to be expected: by
// more than a fifth, and by more than five times its root. Chance alone does so
// less than once in a million.
func suspicious(got, expected int64) bool {
	off := got - expected
	return off*off > 25*max(expected, 1) && max(off, -off)*5 > expected
}

// share is what orders say about one node, bucket or shard.
type share struct{ orders, kept int64 }

func (s share) plus(o *statedOrder) share {
	if o.status == statedNone || o.status == statedRejected {
		return s
	}
	s.orders++
	if o.status == statedPlaced || o.status == statedPaid {
		s.kept++
	}
	return s
}

// chances tells whether everybody had the same chance.
func (f *statementFold) chances() StatedChances {
	c := StatedChances{Flags: []string{}, Asked: f.tally.asked, Won: f.tally.won, Refused: refusalsOf(f.tally.refused), Arrivals: f.arrivals(), Accepted: f.accepted()}
	if c.Refused == nil {
		c.Refused = []domain.TallyRefusal{}
	}
	for begin, cell := range f.tally.arrivals {
		if begin < 0 {
			c.Before.Asked += cell.asked
			c.Before.Won += cell.won
			c.Before.FromMillis = min(c.Before.FromMillis, begin)
		}
	}
	c.Before.Rate = rate(c.Before.Won, c.Before.Asked)
	nodes, buckets, shards := map[string]share{}, map[int]share{}, map[int]share{}
	for i := range f.book.orders {
		o := &f.book.orders[i]
		node := f.book.nodes.list[o.node]
		nodes[node] = nodes[node].plus(o)
		buckets[int(o.bucket)] = buckets[int(o.bucket)].plus(o)
		shards[int(o.shard)] = shards[int(o.shard)].plus(o)
	}
	f.byNode(&c, nodes)
	f.byBucket(&c, buckets)
	f.byShard(&c, shards)
	return c
}

// tenths is how many parts arrivals and acceptances are cut into.
const tenths = 10

// arrivals cuts what was asked from the opening on into tenths, by arrival. A
// slice is never cut: where one holds more than a tenth there are fewer parts.
func (f *statementFold) arrivals() []StatedArrivals {
	var begins []int64
	var all int64
	for _, begin := range slices.Sorted(maps.Keys(f.tally.arrivals)) {
		if begin >= 0 {
			begins = append(begins, begin)
			all += f.tally.arrivals[begin].asked
		}
	}
	parts := []StatedArrivals{}
	var seen int64
	open := false
	for _, begin := range begins {
		if !open {
			parts, open = append(parts, StatedArrivals{FromMillis: begin}), true
		}
		part, cell := &parts[len(parts)-1], f.tally.arrivals[begin]
		part.Asked += cell.asked
		part.Won += cell.won
		part.ToMillis = sliceBegin(min(sliceOf(begin)+1, tallySlices-1))
		part.Rate = rate(part.Won, part.Asked)
		seen += cell.asked
		open = seen*tenths < all*int64(len(parts))
	}
	return parts
}

// accepted cuts the orders into tenths, by the gate's clock when it took them.
func (f *statementFold) accepted() []StatedAccepted {
	var orders []uint32
	for i := range f.book.orders {
		if s := f.book.orders[i].status; s != statedNone && s != statedRejected {
			orders = append(orders, uint32(i))
		}
	}
	at := func(i uint32) int64 { return f.book.orders[i].accepted }
	slices.SortFunc(orders, func(a, b uint32) int { return cmp.Or(cmp.Compare(at(a), at(b)), cmp.Compare(a, b)) })
	parts := []StatedAccepted{}
	opens := f.sale.Terms.OpensAt.UnixMicro()
	for i := range tenths {
		part := orders[i*len(orders)/tenths : (i+1)*len(orders)/tenths]
		if len(part) == 0 {
			continue
		}
		var s share
		for _, j := range part {
			s = s.plus(&f.book.orders[j])
		}
		parts = append(parts, StatedAccepted{
			FromMillis: (at(part[0]) - opens) / 1000, ToMillis: (at(part[len(part)-1]) - opens) / 1000, Orders: s.orders, Kept: s.kept,
		})
	}
	return parts
}

// byNode compares each node with what all won at the same moments.
func (f *statementFold) byNode(c *StatedChances, nodes map[string]share) {
	c.Nodes.Missing = []string{}
	for node := range f.tally.nodes {
		nodes[node] = nodes[node].plus(&statedOrder{})
	}
	c.ByNode = []StatedNode{}
	for _, node := range slices.Sorted(maps.Keys(nodes)) {
		cells, told := f.tally.nodes[node]
		s := nodes[node]
		if s.orders == 0 && !told {
			continue
		}
		if node != "" && s.orders > 0 {
			c.Nodes.Seen++
			if told {
				c.Nodes.Tallied++
			} else {
				c.Nodes.Missing = append(c.Nodes.Missing, node)
			}
		}
		all := sum(cells)
		n := StatedNode{Node: node, Asked: all.asked, Won: all.won, Rate: rate(all.won, all.asked), Expected: f.expected(cells), Orders: s.orders, Kept: s.kept}
		if n.Flagged = told && suspicious(n.Won, n.Expected); n.Flagged {
			c.Flags = append(c.Flags, fmt.Sprintf("Node %s won %d of %d; at the chance of all arrivals of the same moments it would have won %d.", node, n.Won, n.Asked, n.Expected))
		}
		c.ByNode = append(c.ByNode, n)
	}
	if missing := c.Nodes.Seen - c.Nodes.Tallied; missing > 0 {
		c.Flags = append(c.Flags, fmt.Sprintf("%d nodes of %d seen as buyers' nodes have tallied: what the others were asked is not known.", c.Nodes.Tallied, c.Nodes.Seen))
	}
}

// expected gives the wins of arrivals at the chance that all had at their moments.
func (f *statementFold) expected(cells map[int64]tallyCell) int64 {
	var thousandths int64
	for begin, cell := range cells {
		if all := f.tally.arrivals[begin]; all.asked > 0 {
			thousandths += cell.asked * all.won * 1000 / all.asked
		}
	}
	return (thousandths + 500) / 1000
}

// byBucket compares each home bucket with the rate of all.
func (f *statementFold) byBucket(c *StatedChances, buckets map[int]share) {
	all := sum(f.tally.buckets)
	for b := range f.tally.buckets {
		buckets[b] = buckets[b].plus(&statedOrder{})
	}
	c.ByBucket = []StatedBucket{}
	for _, bucket := range slices.Sorted(maps.Keys(buckets)) {
		cell, s := f.tally.buckets[bucket], buckets[bucket]
		b := StatedBucket{Bucket: bucket, Asked: cell.asked, Won: cell.won, Rate: rate(cell.won, cell.asked), Orders: s.orders, Kept: s.kept}
		if all.asked > 0 {
			b.Expected = cell.asked * all.won / all.asked
		}
		if b.Flagged = cell.asked > 0 && suspicious(b.Won, b.Expected); b.Flagged {
			c.Flags = append(c.Flags, fmt.Sprintf("Bucket %d won %d of %d; at the rate of all buckets it would have won %d.", bucket, b.Won, b.Asked, b.Expected))
		}
		c.ByBucket = append(c.ByBucket, b)
	}
}

// byShard compares the shards with each other.
func (f *statementFold) byShard(c *StatedChances, shards map[int]share) {
	var all int64
	for _, s := range shards {
		all += s.orders
	}
	c.ByShard = []StatedShard{}
	for shard := range eventstore.DefaultShards {
		s := StatedShard{Shard: shard, Orders: shards[shard].orders, Kept: shards[shard].kept, Expected: all / eventstore.DefaultShards}
		if s.Flagged = suspicious(s.Orders, s.Expected); s.Flagged {
			c.Flags = append(c.Flags, fmt.Sprintf("Shard %d has %d orders; an equal share would be %d.", shard, s.Orders, s.Expected))
		}
		c.ByShard = append(c.ByShard, s)
	}
}

// judgeWins finds that nodes told more wins than the log has decided.
func (f *statementFold) judgeWins() {
	var decided int64
	for i := range f.book.orders {
		if f.book.orders[i].status != statedNone {
			decided++
		}
	}
	if f.tally.won > decided {
		f.found(StatedFinding{Kind: FindingWins, Detail: fmt.Sprintf("nodes accepted %d purchases and the log has decided %d: what the others bought was lost with the gate, and none of them has asked since", f.tally.won, decided)})
	}
}
