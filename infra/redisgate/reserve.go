package redisgate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"seckill/commands"
	"seckill/domain"
)

// Reserve judges and takes in one step: see commands.Gate. Concurrent calls of a
// lane share script calls. A caller whose ctx ends before its purchase was sent
// hears that nothing happened; afterwards the outcome is unknown.
func (g *Gate) Reserve(ctx context.Context, r commands.Reservation) (commands.Verdict, error) {
	if err := r.Check(g.keys.store); err != nil {
		return commands.Verdict{}, nothing(err)
	}
	blob, err := commands.EncodePurchase(r)
	if err != nil {
		return commands.Verdict{}, nothing(err)
	}
	if err := ctx.Err(); err != nil {
		return commands.Verdict{}, nothing(err)
	}
	a := &ask{r: &r, blob: string(blob), done: make(chan struct{})}
	lane := r.Place.Lane()
	start, err := g.lanes[lane].add(a, g.opt.InFlight, g.opt.MaxBatch, &g.running)
	if err != nil {
		return commands.Verdict{}, err
	}
	if start {
		go g.work(lane)
	}
	select {
	case <-a.done:
		return a.verdict, a.err
	case <-ctx.Done():
	}
	if a.stage.CompareAndSwap(waiting, givenUp) {
		return commands.Verdict{}, nothing(ctx.Err())
	}
	select {
	case <-a.done: // answered in the same moment
		return a.verdict, a.err
	default:
		return commands.Verdict{}, unknown(ctx.Err())
	}
}

// send makes one call for the batch and answers everybody in it.
func (g *Gate) send(ctx context.Context, lane int, batch []*ask) {
	c := g.reserveCall(lane, batch)
	c.proofs, c.proven = g.proofsFor(batch), new(proofs)
	reply, doubt, err := g.run(ctx, c)
	answers := list(reply)
	if err == nil && len(answers) != len(batch)+2 {
		err = unknown(fmt.Errorf("read the answer of script reserve: got %d values for %d purchases", len(answers), len(batch)))
	}
	if err != nil {
		for _, a := range batch {
			a.answer(commands.Verdict{}, err)
		}
		return
	}
	now, head := moment(answers[0]), entryID(answers[1])
	wrote := !c.proofs.none() && slices.ContainsFunc(answers[2:], func(answer any) bool { return verdict("", answer).Outcome == domain.Reserved })
	for i, a := range batch {
		v := verdict(a.r.Order, answers[i+2])
		v.Now = now
		v.Weak = own(v, a.r.Order) && g.weak(a.r.Strength, c, wrote)
		if v.Outcome == domain.Reserved {
			v.Entry.Epoch, v.Entry.N = head.Epoch, head.N
		}
		if doubt && !settles(v, a.r.Order) {
			// An attempt before this one may still arrive and take units.
			a.answer(commands.Verdict{}, unknown(errors.New("an earlier attempt of this call was not answered")))
			continue
		}
		a.answer(v, nil)
	}
}

// settles tells whether v is an answer about this very order, which no late
// attempt can change.
func settles(v commands.Verdict, order string) bool {
	return own(v, order) || v.Outcome == domain.Refused
}

// own tells whether v says that this very order was accepted, now or before.
func own(v commands.Verdict, order string) bool {
	return (v.Outcome == domain.Reserved || v.Outcome == domain.SameOrder) && v.Order == order
}

// taken is what the script adds to the place in the entry of what it took.
const taken = 100

// verdict reads the answer about an own order; the clock and the entry are the
// batch's.
func verdict(own string, answer any) commands.Verdict {
	switch a := answer.(type) {
	case int64:
		if a > taken {
			return commands.Verdict{Outcome: domain.Reserved, Order: own, Entry: domain.EntryID{I: int(a - taken)}}
		}
		return commands.Verdict{Outcome: domain.Outcome(a)}
	case []any:
		if len(a) < 3 {
			break
		}
		v := commands.Verdict{Outcome: domain.Outcome(number(a[0])), Order: text(a[1])}
		if v.Outcome == domain.TooEarly {
			v.OpensAt = moment(a[2])
			return v
		}
		v.Entry = entryID(a[2])
		return v
	}
	return commands.Verdict{Outcome: domain.NotReady}
}

// group is the purchases of a call that are judged over the same items.
type group struct {
	number string
	place  domain.Place
	items  []string
	asked  []string // Items of the reservation that made the group
	lines  map[string]string
}

// reserveCall writes a batch as the script reads it.
func (g *Gate) reserveCall(lane int, batch []*ask) call {
	groups, member := gather(batch)
	c := call{sale: true, script: g.scripts.reserve, batch: len(batch), keys: []string{g.keys.lane(lane), g.keys.journal(lane)}}
	c.args = make([]any, 0, 2+2*len(groups)+11*len(batch))
	c.args = append(c.args, g.opt.ProcessToken, len(groups))
	for _, gr := range groups {
		c.keys = append(append(c.keys, g.keys.sale(gr.place)), g.keys.stocks(gr.place, gr.items)...)
		c.args = append(c.args, `"`+gr.place.Sale+`"`, len(gr.items))
		for _, sku := range gr.items {
			c.args = append(c.args, sku)
		}
	}
	for i, a := range batch {
		gr, key := member[i], ""
		if a.r.Key != "" {
			key = "k:" + a.r.Key
		}
		c.args = append(c.args, gr.number, "o:"+a.r.Order, "b:"+a.r.Buyer, key, a.r.BodyHash, mayArg(a.r), ticketArg(a.r), len(a.r.Lines))
		for _, l := range a.r.Lines {
			c.args = append(c.args, gr.lines[l.SKU], l.Quantity)
		}
		c.args = append(c.args, a.blob)
	}
	return c
}

// mayArg gives what the script is told of the buyer: whether he may buy, or the limit
// of a promise.
func mayArg(r *commands.Reservation) string {
	if r.Promised > 0 {
		return strconv.FormatInt(-r.Promised, 10)
	}
	return boolArg(r.Eligible)
}

// ticketArg gives what the script is told of a ticket: its field, the outcome of
// one that will not do, or nothing.
func ticketArg(r *commands.Reservation) string {
	switch {
	case r.TicketFault != 0:
		return strconv.Itoa(int(r.TicketFault))
	case r.Ticket != "":
		return ticketField(r.Ticket)
	}
	return ""
}

// gather sorts a batch into groups; member[i] is the group of batch[i].
func gather(batch []*ask) (groups, member []*group) {
	member = make([]*group, len(batch))
	for i, a := range batch {
		var mine *group
		for _, gr := range groups {
			if gr.place == a.r.Place && slices.Equal(gr.asked, a.r.Items) && gr.holds(a.r.Lines) {
				mine = gr
				break
			}
		}
		if mine == nil {
			mine = newGroup(a.r, len(groups)+1)
			groups = append(groups, mine)
		}
		member[i] = mine
	}
	return groups, member
}

func newGroup(r *commands.Reservation, n int) *group {
	gr := &group{number: strconv.Itoa(n), place: r.Place, asked: r.Items, lines: make(map[string]string, len(r.Items))}
	add := func(sku string) {
		if _, ok := gr.lines[sku]; !ok {
			gr.items = append(gr.items, sku)
			gr.lines[sku] = strconv.Itoa(len(gr.items))
		}
	}
	for _, sku := range r.Items {
		add(sku)
	}
	for _, l := range r.Lines {
		add(l.SKU)
	}
	return gr
}

func (gr *group) holds(lines []domain.Line) bool {
	for _, l := range lines {
		if _, ok := gr.lines[l.SKU]; !ok {
			return false
		}
	}
	return true
}
