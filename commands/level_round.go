package commands

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"time"

	"seckill/domain"
)

// pendingMove is a move that left its donor and has not been seen to land.
type pendingMove struct {
	Move
	epoch, n int64 // of the donor's journal, at or after the move's entry
}

// landPause is the pause between two looks for moves that nobody waits for.
const landPause = 100 * time.Millisecond

// rest waits until the next look may begin.
func (l *Leveller) rest(began time.Time) {
	wait := l.opts.Pace - time.Since(began) + l.env.jitter(l.opts.Pace/2)
	if wait > 0 {
		pause(l.base, wait)
	}
}

// round looks once for everybody who came before it, answers whom it can, moves what
// is needed, and gives those who wait on.
func (l *Leveller) round(s *levelSale, sale *domain.Sale, asks []*levelAsk, even bool) []*levelAsk {
	l.land(s)
	if len(asks) == 0 && !even {
		pause(l.base, landPause)
		return nil
	}
	places, skus := Places(l.env.Store, *sale), sale.SKUs()
	ctx, cancel := l.step()
	defer cancel()
	l.opts.OnLook()
	levels, err := l.gate.Levels(ctx, places, skus)
	if err != nil {
		l.env.Log.Warn("buckets not looked at", "sale_id", sale.ID, "error", err)
		return l.late(asks, true)
	}
	plan := newLevelPlan(sale, levels, s.pending)
	var short, waiting []*levelAsk
	for _, a := range asks {
		switch plan.add(a) {
		case askServed:
			a.done <- UnitsHere
		case askShort:
			short = append(short, a)
		default:
			waiting = append(waiting, a)
		}
	}
	if even {
		plan.even()
	}
	l.move(s, plan, levels)
	if len(short) > 0 {
		if len(s.pending) == 0 && l.noneLeft(s, sale, levels) {
			for _, a := range short {
				a.done <- UnitsNone
			}
		} else {
			waiting = append(waiting, short...)
		}
	}
	return l.late(waiting, false)
}

// late answers those whose time is over, or all, and gives the others.
func (l *Leveller) late(asks []*levelAsk, all bool) []*levelAsk {
	now := time.Now()
	return slices.DeleteFunc(asks, func(a *levelAsk) bool {
		over := all || !now.Add(l.opts.Pace).Before(a.until)
		if over {
			a.done <- UnitsAway
		}
		return over
	})
}

// land sees which moves have reached the log, and brings those into the gate at once:
// whoever recorded them may have died before it did. What the journal lost with its
// epoch is the recovery's.
func (l *Leveller) land(s *levelSale) {
	if len(s.pending) == 0 {
		return
	}
	ctx, cancel := l.step()
	defer cancel()
	lanes := map[int]bool{}
	var asked []int
	for _, p := range s.pending {
		if lane := p.Place.Lane(); !lanes[lane] {
			lanes[lane] = true
			asked = append(asked, lane)
		}
	}
	cursors, err := l.log.Cursors(ctx, asked)
	if err != nil {
		return // the next round asks again
	}
	var left []pendingMove
	followed := map[string]bool{}
	for _, p := range s.pending {
		c := cursors[slices.Index(asked, p.Place.Lane())]
		if c.Epoch < p.epoch || (c.Epoch == p.epoch && c.N < p.n) {
			left = append(left, p)
			continue
		}
		to := p.Place
		to.Bucket = p.To
		if stream := domain.StockStream(to.Sale, p.SKU, to.Bucket); !followed[stream] {
			followed[stream] = true
			l.catchUp(ctx, to, p.SKU)
		}
	}
	l.setPending(s, left)
}

// catchUp brings a bucket's item to the head of its stream. What fails here the lane
// keeper brings up.
func (l *Leveller) catchUp(ctx context.Context, place domain.Place, sku string) {
	if _, err := l.follow.CatchUpStock(ctx, place, sku); err != nil && l.base.Err() == nil {
		l.env.Log.Warn("moved units reach their bucket later", "sale_id", place.Sale, "bucket", place.Bucket, "error", err)
	}
}

// move asks the gate for the moves of a plan.
func (l *Leveller) move(s *levelSale, plan *levelPlan, levels []BucketLevel) {
	if len(plan.draws) == 0 {
		return
	}
	all := slices.Clone(s.pending)
	for _, d := range plan.moves() {
		m := Move{Place: domain.Place{Store: l.env.Store, Sale: plan.sale.ID, Bucket: d.from}, To: d.to, SKU: plan.skus[d.sku], Quantity: d.units}
		m.ID = moveID(m, levels[d.from].Stocks[d.sku], levels[d.to].Stocks[d.sku], len(all))
		ctx, cancel := l.step()
		v, err := l.gate.Move(ctx, m)
		cancel()
		l.env.step("level.after-move")
		if err != nil {
			l.env.Log.Warn("units not moved", "sale_id", plan.sale.ID, "sku", m.SKU, "from", d.from, "to", d.to, "error", err)
			continue // where it was taken after all the recorder brings it
		}
		if v.Outcome == WithdrawTaken {
			l.opts.OnMove(v.Quantity)
			m.Quantity = v.Quantity
			all = append(all, pendingMove{m, v.Epoch, v.N})
		}
	}
	l.setPending(s, all)
}

// moveID names a move by what it answers to: two processes that have seen the same ask
// for the same move, and it is made once.
func moveID(m Move, from, to StockLevel, pending int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\n%s\n%d %s\n%d %s\n%d\n%d", m.Place.Sale, m.SKU, m.Place.Bucket, from.Applied, m.To, to.Applied, m.Quantity, pending))
	return hex.EncodeToString(sum[:16])
}
