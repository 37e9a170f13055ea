package commands

import (
	"context"
	"sync"
	"time"

	"seckill/domain"
	"seckill/eventstore"
)

// sharedLooks lets many purchases share one look at the store: one is on its way at a
// time, and who comes meanwhile shares the next, so that each look begins after the
// purchases that it answers came.
type sharedLooks struct {
	every time.Duration

	mu      sync.Mutex
	waiting []*glance
	looking bool
}

// glance is a purchase that waits for a look. look and err stand once done is closed.
type glance struct {
	needs eventstore.Needs
	done  chan struct{}
	look  eventstore.Look
	err   error
}

// Bounds of a shared look: how many purchases one serves, and how long it may take.
const (
	maxGlances   = 1000
	glanceBudget = time.Second
)

// glance judges by a look without the lock, which takes nothing. domain.Reserved only
// says that the log must judge.
func (d *Direct) glance(ctx context.Context, q *question) (Verdict, error) {
	g := &glance{needs: pageNeeds(q.page()), done: make(chan struct{})}
	d.looks.mu.Lock()
	d.looks.waiting = append(d.looks.waiting, g)
	if !d.looks.looking {
		d.looks.looking = true
		d.running.Go(func() { d.lookForAll(context.WithoutCancel(ctx)) })
	}
	d.looks.mu.Unlock()
	select {
	case <-g.done:
	case <-ctx.Done():
		return Verdict{}, &GateError{Err: ctx.Err()}
	}
	if g.err != nil {
		return Verdict{}, &GateError{Err: g.err}
	}
	d.saw(g.look.Now())
	v, err := q.judge(g.look)
	if err != nil {
		return Verdict{}, &GateError{Err: err}
	}
	return v, nil
}

// lookForAll looks until nobody waits.
func (d *Direct) lookForAll(ctx context.Context) {
	for {
		d.looks.mu.Lock()
		n := min(len(d.looks.waiting), maxGlances)
		page := d.looks.waiting[:n:n]
		if d.looks.waiting = d.looks.waiting[n:]; n == 0 {
			d.looks.waiting, d.looks.looking = nil, false
		}
		d.looks.mu.Unlock()
		if n == 0 {
			return
		}
		began := d.env.Now()
		d.lookFor(ctx, page)
		if left := d.looks.every - d.env.Now().Sub(began); left > 0 {
			pause(ctx, left)
		}
	}
}

func (d *Direct) lookFor(ctx context.Context, page []*glance) {
	ctx, cancel := context.WithTimeout(ctx, glanceBudget)
	defer cancel()
	var all eventstore.Needs
	for _, g := range page {
		all.Streams = append(all.Streams, g.needs.Streams...)
		all.Guards = append(all.Guards, g.needs.Guards...)
		all.Claims = append(all.Claims, g.needs.Claims...)
	}
	look, err := d.log.LookAt(ctx, all)
	if err == nil {
		d.mu.Lock()
		d.doubt = false
		d.mu.Unlock()
	}
	for _, g := range page {
		g.look, g.err = look, err
		close(g.done)
	}
}

// Resolve is Gate's. Nothing is written: an order that the log does not have, and
// whose every purchase is past its deadline, can never be placed.
func (d *Direct) Resolve(ctx context.Context, ref domain.OrderRef, buyer string) (Resolution, error) {
	key, stream := eventstore.ClaimKey{SaleID: ref.Place.Sale, BuyerID: buyer}, domain.OrderStream(ref.ID)
	needs := eventstore.Needs{Streams: []string{stream}, Claims: []eventstore.ClaimKey{key}, Lanes: []int{ref.Lane}}
	// What the log has it has for good; the lock may be long in coming, such as while
	// the appender finds out what became of the very commit that is asked for.
	if look, err := d.log.LookAt(ctx, needs); err == nil && look.Stream(stream).Version > 0 {
		return Resolution{State: stateOfClaim(look.Claims(key), ref.ID), Epoch: look.Cursor(ref.Lane).Epoch}, nil
	}
	var res Resolution
	var now time.Time
	_, err := d.log.Submit(ctx, eventstore.Work{
		Needs: needs,
		Decide: func(look eventstore.Look) (*eventstore.Group, error) {
			res, now = Resolution{Epoch: look.Cursor(ref.Lane).Epoch}, look.Now()
			if look.Stream(stream).Version > 0 {
				res.State = stateOfClaim(look.Claims(key), ref.ID)
			}
			return nil, nil
		},
	})
	if err != nil {
		return Resolution{}, &GateError{Err: err}
	}
	d.saw(now)
	if res.State == OrderUnresolved && d.never(ref.ID, now) {
		res.State = OrderTombstone
	}
	return res, nil
}

// stateOfClaim gives the state of an order that the log has decided.
func stateOfClaim(claims []eventstore.Claim, order string) GateOrderState {
	for _, claim := range claims {
		if claim.OrderID == order && claim.Live {
			return OrderAccepted
		}
		if claim.OrderID == order {
			return OrderEnded
		}
	}
	return OrderRefused
}

// never tells whether an order that the log does not have can come into it no more:
// its purchase ended here without an order, or was not to be seen for so long that
// every deadline is over.
func (d *Direct) never(order string, now time.Time) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.flights[order] > 0:
		return false
	case d.void[order]:
		return true
	}
	return now.Sub(d.unknownSince(order, now)) > d.opts.Life
}

// maxUnknown bounds the orders that are remembered as not in the log.
const maxUnknown = 10_000

// unknownSince gives since when an order is known not to be in the log. Who calls
// holds d.mu. Forgetting one only delays.
func (d *Direct) unknownSince(order string, now time.Time) time.Time {
	since, ok := d.unknown[order]
	if ok {
		return since
	}
	if len(d.unknown) >= maxUnknown {
		clear(d.unknown)
	}
	// The latest time that was seen here: no deadline was counted from a later one.
	if d.seen.After(now) {
		now = d.seen
	}
	d.unknown[order] = now
	return now
}

// Order is Gate's. OpenFor is for how long the order is known not to be in the log.
func (d *Direct) Order(ctx context.Context, ref domain.OrderRef) (GateOrder, error) {
	stream := domain.OrderStream(ref.ID)
	look, err := d.log.LookAt(ctx, eventstore.Needs{Streams: []string{stream}, Lanes: []int{ref.Lane}})
	if err != nil {
		return GateOrder{}, &GateError{Err: err}
	}
	known := GateOrder{Direct: true, State: OrderUnknown, Epoch: look.Cursor(ref.Lane).Epoch}
	if look.Stream(stream).Version > 0 {
		known.State = OrderAccepted
		return known, nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.flights[ref.ID] > 0 {
		return GateOrder{Direct: true, Epoch: known.Epoch}, nil
	}
	known.OpenFor = max(0, look.Now().Sub(d.unknownSince(ref.ID, look.Now())))
	return known, nil
}

// TicketUsedBy tells whether an order of a buyer has used a ticket.
func (d *Direct) TicketUsedBy(ctx context.Context, sale, buyer, ticket string) (bool, error) {
	used, err := usedTickets(ctx, d.log, nil, eventstore.ClaimKey{SaleID: sale, BuyerID: buyer})
	for _, id := range used {
		if id == ticket {
			return true, nil
		}
	}
	return false, err
}
