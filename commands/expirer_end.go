package commands

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"seckill/domain"
	"seckill/eventstore"
)

// sweep is an ExpirySweep on its way.
type sweep struct {
	ExpirySweep
	example string
	cause   error
}

// How long an order rests: one that needs nothing until the read model will have
// seen it, one that fails at first and at most.
const (
	restSettled = 10 * time.Second
	restFailed  = time.Second
	restMost    = time.Minute
)

// expiring ends an order whose time to pay is over.
func expiring(l life, now time.Time) (domain.OrderChange, error) { return l.Expire(now), nil }

// end ends the orders of a page that are still due, many at once, and brings
// their units into the gate.
func (e *Expirer) end(ctx context.Context, page []Due, s *sweep) {
	var (
		all     sync.WaitGroup
		room    = make(chan struct{}, e.opts.AtOnce)
		results = make([]expired, len(page))
		now     = e.env.Now()
	)
	for i, due := range page {
		if now.Before(e.resting[due.Order].until) {
			results[i] = expired{rests: true}
			continue
		}
		room <- struct{}{}
		all.Go(func() {
			defer func() { <-room }()
			results[i] = e.endOne(ctx, due.Order)
		})
	}
	all.Wait()
	var records []eventstore.Record
	for i, due := range page {
		if results[i].err == nil || ctx.Err() == nil { // or it failed for that reason
			e.note(due, results[i], s)
		}
		records = append(records, results[i].records...)
	}
	e.push(ctx, records)
}

// expired is what became of one order of a page.
type expired struct {
	settled
	err   error
	rests bool
}

func (e *Expirer) endOne(ctx context.Context, order string) expired {
	ref, err := domain.ParseOrderID(order)
	if err != nil {
		return expired{err: err}
	}
	done, err := e.orders.record(ctx, change{ref: ref, actor: Actor{By: "expiry"}, decide: expiring, known: true})
	return expired{settled: done, err: err}
}

// note counts what became of an order, and says when it is looked at again.
func (e *Expirer) note(due Due, x expired, s *sweep) {
	now := e.env.Now()
	was := e.resting[due.Order]
	switch {
	case x.rests:
		if was.wait == 0 {
			return
		}
	case x.err != nil:
		wait := min(max(2*was.wait, restFailed), restMost)
		e.resting[due.Order] = rest{until: now.Add(wait), wait: wait}
		e.env.Log.Warn("due order not ended; tried again", "order_id", due.Order, "error", x.err)
		s.example, s.cause = due.Order, x.err
	case x.answer.Status == domain.OrderStatusPlaced:
		e.resting[due.Order] = rest{until: x.answer.PayBy}
		return
	default:
		if len(x.records) > 0 {
			s.Expired++
		}
		e.resting[due.Order] = rest{until: now.Add(restSettled)}
		return
	}
	s.Failed++
	if !due.PayBy.IsZero() {
		s.Overdue = max(s.Overdue, now.Sub(due.PayBy))
	}
}

// push brings each stock of which units came back up to its stream, once for all
// of them. What stays behind the lane keeper brings up.
func (e *Expirer) push(ctx context.Context, records []eventstore.Record) {
	if len(records) == 0 {
		return
	}
	e.env.step("orders.after-commit")
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), applyBudget)
	defer cancel()
	done := map[string]bool{}
	for i := range records {
		stream := records[i].Stream
		if !strings.HasPrefix(stream, "stock-") || done[stream] {
			continue
		}
		done[stream] = true
		key, err := domain.ParseStockStream(stream)
		if err == nil {
			_, err = e.orders.Follow.CatchUpStock(ctx, domain.Place{Store: e.env.Store, Sale: key.Sale, Bucket: key.Bucket}, key.SKU)
		}
		if err != nil && !errors.Is(err, ErrHashMissing) {
			e.env.Log.Warn("units of expired orders returned in the log; the gate follows later", "stream", stream, "error", err)
		}
	}
	e.env.step("orders.after-push")
}
