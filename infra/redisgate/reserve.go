package redisgate

import (
	"context"
	"errors"
	"fmt"

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
	if err := ctx.Err(); err != nil {
		return commands.Verdict{}, nothing(err)
	}
	a := g.asks.Get().(*ask)
	a.fill(r)
	lane := r.Place.Lane()
	if !g.lanes[lane].lean.on() {
		a.write() // here, where as many do it at once as there are buyers
	}
	start, err := g.lanes[lane].add(a, g.opt.InFlight, g.fullAt(lane), &g.running)
	if err != nil {
		return commands.Verdict{}, err
	}
	if start {
		go g.work(lane)
	}
	select {
	case <-a.done:
		return g.told(a)
	case <-ctx.Done():
	}
	if a.stage.CompareAndSwap(waiting, givenUp) {
		return commands.Verdict{}, nothing(ctx.Err())
	}
	select {
	case <-a.done: // answered in the same moment
		return g.told(a)
	default:
		return commands.Verdict{}, unknown(ctx.Err())
	}
}

// told gives what a was told, and a back. What was given up is not given back: somebody
// still holds it.
func (g *Gate) told(a *ask) (commands.Verdict, error) {
	v, err := a.verdict, a.err
	g.asks.Put(a)
	return v, err
}

// fill makes a the purchase r.
func (a *ask) fill(r commands.Reservation) {
	a.r = r
	both := "o:" + r.Order + "b:" + r.Buyer
	a.order, a.buyer = both[:2+len(r.Order)], both[2+len(r.Order):]
	a.key, a.ticket = "", ""
	if r.Key != "" {
		a.key = "k:" + r.Key
	}
	if r.Ticket != "" && r.TicketFault == 0 {
		a.ticket = ticketField(r.Ticket)
	}
	a.blob = a.blob[:0]
	a.stage.Store(waiting)
}

// write makes the purchase as the journal carries it, unless that is done.
func (a *ask) write() {
	if len(a.blob) == 0 {
		a.blob = commands.AppendPurchase(a.blob, &a.r)
	}
}

// send makes one call for the batch and answers everybody in it.
func (g *Gate) send(ctx context.Context, lane int, batch *reserveCall) {
	c, wrote, doubt, err := g.judge(ctx, lane, batch)
	for i, a := range batch.batch {
		if err != nil {
			a.answer(commands.Verdict{}, err)
			continue
		}
		v := batch.answers[i]
		v.Weak = own(v, a.r.Order) && g.weak(a.r.Strength, c, wrote)
		if doubt && !settles(v, a.r.Order) {
			// An attempt before this one may still arrive and take units.
			a.answer(commands.Verdict{}, unknown(errors.New("an earlier attempt of this call was not answered")))
			continue
		}
		a.answer(v, nil)
	}
}

// judge has the batch judged, by a lean call where the lane has nothing to give, and by
// one that can take else. doubt is that of the call that answered: a lean one takes
// nothing, whenever it arrives.
func (g *Gate) judge(ctx context.Context, lane int, batch *reserveCall) (c call, wrote, doubt bool, err error) {
	lean := &g.lanes[lane].lean
	asked := g.proofsFor(batch.batch)
	c = batch.call(g, lane)
	if lean.on() && len(batch.batch) >= leanFrom && asked.none() {
		reply, _, err := g.run(ctx, c)
		if err != nil || !wantsBlobs(reply) {
			if err == nil {
				_, err = batch.read(list(reply))
			}
			return c, false, false, err
		}
		lean.saw(len(batch.batch), true)
	}
	batch.carry(&c)
	c.proofs, c.proven = asked, new(proofs)
	reply, doubt, err := g.run(ctx, c)
	if err == nil {
		wrote, err = batch.read(list(reply))
	}
	if err == nil {
		lean.saw(len(batch.batch), wrote)
	}
	return c, wrote, doubt, err
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

// read reads what the script answered to the batch into answers. wrote tells that
// something was taken.
func (c *reserveCall) read(reply []any) (wrote bool, err error) {
	c.answers = c.answers[:0]
	if len(reply) > 2 {
		now, head := moment(reply[0]), entryID(reply[1])
		head.I = 0
		for rest := reply[2:]; len(rest) > 0 && len(c.answers) < len(c.batch); {
			if of, ok := rest[0].([]any); ok {
				v := verdict(of)
				v.Now, v.Epoch, v.Next = now, head.Epoch, head.N
				c.answers, rest = append(c.answers, v), rest[1:]
				continue
			}
			if len(rest) < 2 {
				break
			}
			v := commands.Verdict{Outcome: domain.Outcome(number(rest[0])), Now: now, Epoch: head.Epoch, Next: head.N}
			for n := number(rest[1]); n > 0 && len(c.answers) < len(c.batch); n-- {
				if v.Outcome == domain.Reserved {
					head.I++
					v.Order, v.Entry, wrote = c.batch[len(c.answers)].r.Order, head, true
				}
				c.answers = append(c.answers, v)
			}
			rest = rest[2:]
		}
	}
	if len(c.answers) != len(c.batch) {
		return false, unknown(fmt.Errorf("read the answer of script reserve: got %d answers for %d purchases", len(c.answers), len(c.batch)))
	}
	return wrote, nil
}

// verdict reads an answer about one purchase: outcome, order, and its entry or a time.
func verdict(a []any) commands.Verdict {
	if len(a) < 3 {
		return commands.Verdict{Outcome: domain.NotReady}
	}
	v := commands.Verdict{Outcome: domain.Outcome(number(a[0])), Order: text(a[1])}
	if v.Outcome == domain.TooEarly {
		v.OpensAt = moment(a[2])
	} else {
		v.Entry = entryID(a[2])
	}
	return v
}
