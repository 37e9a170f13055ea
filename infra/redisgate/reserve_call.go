package redisgate

import (
	"hash/maphash"
	"slices"
	"strconv"

	"seckill/commands"
	"seckill/domain"
)

// maxBatch bounds MaxBatch: the shape of a purchase is a byte, and what a call reads of
// a sale goes on the stack of Lua at once.
const maxBatch = 255

// reserveCall is a batch on its way into arguments of the script. It is used again and
// again, since with many purchases a second garbage costs more than anything else here.
type reserveCall struct {
	batch   []*ask // in the order of the call once call has been made
	places  []domain.Place
	groups  []*group
	keys    []string
	args    []any
	blobs   []byte
	lengths []byte
	seen    map[uint64]struct{}
	seed    maphash.Seed
	answers []commands.Verdict
}

func newReserveCall() any {
	return &reserveCall{seen: map[uint64]struct{}{}, seed: maphash.MakeSeed()}
}

func (c *reserveCall) reset() {
	clear(c.batch)
	clear(c.args)
	clear(c.seen)
	c.batch, c.places, c.groups = c.batch[:0], c.places[:0], c.groups[:0]
	c.keys, c.args, c.blobs, c.lengths = c.keys[:0], c.args[:0], c.blobs[:0], c.lengths[:0]
}

// admits tells whether a purchase of this place may go with those that are there.
func (c *reserveCall) admits(p domain.Place) bool {
	for _, have := range c.places {
		if have.Sale == p.Sale {
			return have.Bucket == p.Bucket
		}
	}
	c.places = append(c.places, p)
	return true
}

// group is the purchases of a call that are judged over the same items.
type group struct {
	place   domain.Place
	items   []string
	asked   []string // Items of the reservation that made the group
	members []*ask
	shapes  []shape
	column  []byte // the shape of each member, counted from 1
	width   int    // how many fields each member has
}

// shape is what of a purchase many have in common.
type shape struct {
	may   string
	fault domain.Outcome
	lines []domain.Line
}

func (s *shape) of(r *commands.Reservation) bool {
	return s.fault == r.TicketFault && slices.Equal(s.lines, r.Lines) && s.may == may(r)
}

// may gives what the script is told of the buyer: whether he may buy, or the limit of a
// promise.
func may(r *commands.Reservation) string {
	switch {
	case r.Promised > 0:
		return strconv.FormatInt(-r.Promised, 10)
	case r.Eligible:
		return "1"
	}
	return "0"
}

// gather sorts the batch by what is judged over the same items; those of a sale that
// have others in mind are a group of their own.
func (c *reserveCall) gather() {
	for _, a := range c.batch {
		gr := c.groupOf(&a.r)
		gr.members = append(gr.members, a)
		gr.column = append(gr.column, gr.shapeOf(&a.r))
		switch {
		case a.ticket != "":
			gr.width = 4
		case a.key != "" && gr.width < 3:
			gr.width = 3
		}
	}
	c.batch = c.batch[:0]
	for _, gr := range c.groups {
		c.batch = append(c.batch, gr.members...)
	}
}

func (c *reserveCall) groupOf(r *commands.Reservation) *group {
	for _, gr := range c.groups {
		if gr.place == r.Place && slices.Equal(gr.asked, r.Items) && gr.holds(r.Lines) {
			return gr
		}
	}
	gr := &group{place: r.Place, asked: r.Items, width: 2}
	for _, sku := range r.Items {
		gr.item(sku)
	}
	for _, l := range r.Lines {
		gr.item(l.SKU)
	}
	c.groups = append(c.groups, gr)
	return gr
}

// item gives the place of an item in the group, from 1, and adds it if it is missing.
func (gr *group) item(sku string) int {
	i := slices.Index(gr.items, sku)
	if i < 0 {
		gr.items = append(gr.items, sku)
		return len(gr.items)
	}
	return i + 1
}

func (gr *group) holds(lines []domain.Line) bool {
	for i := range lines {
		if !slices.Contains(gr.items, lines[i].SKU) {
			return false
		}
	}
	return true
}

func (gr *group) shapeOf(r *commands.Reservation) byte {
	for i := range gr.shapes {
		if gr.shapes[i].of(r) {
			return byte(i + 1)
		}
	}
	gr.shapes = append(gr.shapes, shape{may: may(r), fault: r.TicketFault, lines: r.Lines})
	return byte(len(gr.shapes))
}

// What of the arguments only a call that may take carries.
const argBlobs, argLengths = 2, 3

// call writes the batch as the script reads it, and puts it into the order in which the
// script answers. It is lean until carry.
func (c *reserveCall) call(g *Gate, lane int) call {
	c.gather()
	c.keys = append(c.keys, g.keys.lane(lane), g.keys.journal(lane))
	c.args = append(c.args, g.opt.ProcessToken, boolArg(c.repeats()), "", "", len(c.groups))
	for _, gr := range c.groups {
		c.keys = append(append(c.keys, g.keys.sale(gr.place)), g.keys.stocks(gr.place, gr.items)...)
		c.describe(gr)
	}
	return call{sale: true, script: g.scripts.reserve, batch: len(c.batch), keys: c.keys, args: c.args}
}

// carry gives a call what the journal would carry of its purchases.
func (c *reserveCall) carry(into *call) {
	for i, a := range c.batch {
		if i > 0 {
			c.blobs, c.lengths = append(c.blobs, ','), append(c.lengths, ' ')
		}
		a.write()
		c.blobs, c.lengths = append(c.blobs, a.blob...), strconv.AppendInt(c.lengths, int64(len(a.blob)), 10)
	}
	into.args[argBlobs], into.args[argLengths] = c.blobs, c.lengths
}

// repeats tells whether an order, buyer, key or ticket may be in the batch twice. It is
// wrong on the safe side alone: the script takes more care then.
func (c *reserveCall) repeats() bool {
	fields := 0
	for _, a := range c.batch {
		for _, name := range [...]string{a.order, a.buyer, a.key, a.ticket} {
			if name != "" {
				fields++
				c.seen[maphash.String(c.seed, name)] = struct{}{}
			}
		}
	}
	return len(c.seen) < fields
}

// describe writes the arguments of a group. Fields go by reference: a string in an
// interface would be garbage.
func (c *reserveCall) describe(gr *group) {
	args := append(c.args, `"`+gr.place.Sale+`"`, len(gr.items))
	for _, sku := range gr.items {
		args = append(args, sku)
	}
	args = append(args, len(gr.shapes))
	for i := range gr.shapes {
		s, fault := &gr.shapes[i], ""
		if s.fault != 0 {
			fault = strconv.Itoa(int(s.fault))
		}
		args = append(args, s.may, fault, len(s.lines))
		for _, l := range s.lines {
			args = append(args, gr.item(l.SKU), l.Quantity)
		}
	}
	if len(gr.shapes) == 1 {
		gr.column = nil
	}
	args = append(args, len(gr.members), gr.column, gr.width)
	for _, a := range gr.members {
		args = append(args, &a.order, &a.buyer)
		if gr.width > 2 {
			args = append(args, &a.key)
		}
		if gr.width > 3 {
			args = append(args, &a.ticket)
		}
	}
	if gr.width > 2 {
		for _, a := range gr.members {
			args = append(args, &a.r.BodyHash)
		}
	}
	c.args = args
}
