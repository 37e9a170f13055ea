package simulation

import (
	"context"
	"errors"
	"fmt"
	"time"

	"seckill/commands"
	"seckill/domain"
)

// buyer is somebody who buys once, by the same key again where no answer came.
type buyer struct {
	name, key string
	lines     []domain.Line
	tries     int
	order     string
	// late: he comes after the storm, and does not give up.
	late bool
}

// ack is an order that a buyer was told of.
type ack struct {
	buyer *buyer
	polls int
}

// mostTries bounds how often a buyer tries.
const mostTries = 4

// prepare schedules a sale and starts every process.
func (w *World) prepare() {
	now := time.Now()
	w.terms = domain.SaleTerms{
		Title: "A sale", OpensAt: now.Add(-time.Minute), ClosesAt: now.Add(time.Hour), AutoOpen: true,
		Buckets: 1, LimitPerBuyer: int64(1 + w.rng.IntN(2)), OrdersPerBuyer: 1 + w.rng.IntN(2), Rebuy: w.rng.IntN(2) == 0,
		PaymentWindow: []int64{2, 3600}[w.rng.IntN(2)],
	}
	if w.rng.IntN(3) == 0 {
		w.terms.Buckets = 2 + w.rng.IntN(2)
	}
	for i := range 1 + w.rng.IntN(2) {
		w.terms.Items = append(w.terms.Items, domain.ItemTerms{
			SKU: string(rune('a' + i)), Price: domain.Money{Minor: 100, Currency: "CNY"}, Stock: int64(1 + w.rng.IntN(5)),
		})
	}
	w.reviveAll()
	w.schedule()
}

// schedule asks an API node for the sale.
func (w *World) schedule() {
	p := w.anyAPI()
	w.act(p, "operator", func(ctx context.Context) func() {
		sale, err := p.operator.Schedule(ctx, w.terms, commands.Actor{By: "operator"})
		return func() {
			if err != nil {
				w.violate("the sale is not scheduled in good weather: %v", err)
				return
			}
			w.sale, w.terms = sale.ID, sale.Terms
			w.tracef("operator: sale %s of %d buckets", sale.ID, w.terms.Buckets)
		}
	}, func() {})
}

// crowd plans who buys in the storm, and what the operator does.
func (w *World) crowd() {
	for i := range 6 + w.rng.IntN(10) {
		b := w.newBuyer(fmt.Sprintf("b%02d", i+1))
		w.after(w.sometime(), "", func() { w.click(b) })
	}
	for range w.rng.IntN(3) {
		do := []string{"pause", "release", "withdraw"}[w.rng.IntN(3)]
		w.after(w.sometime(), "", func() { w.operate(do) })
	}
}

func (w *World) newBuyer(name string) *buyer {
	b := &buyer{name: name}
	if w.terms.OrdersPerBuyer > 1 || w.rng.IntN(2) == 0 {
		b.key = "key-" + name
	}
	first := w.rng.IntN(len(w.terms.Items))
	b.lines = []domain.Line{{SKU: w.terms.Items[first].SKU, Quantity: 1}}
	if w.terms.LimitPerBuyer > 1 {
		switch w.rng.IntN(3) {
		case 0:
			b.lines[0].Quantity = 2
		case 1:
			if other := w.rng.IntN(len(w.terms.Items)); other != first {
				b.lines = append(b.lines, domain.Line{SKU: w.terms.Items[other].SKU, Quantity: 1})
			}
		}
	}
	w.buyers = append(w.buyers, b)
	return b
}

// click lets a buyer buy, through any API node.
func (w *World) click(b *buyer) {
	if w.lateOnly && !b.late { // he has gone home
		return
	}
	p := w.anyAPI()
	b.tries++
	if p == nil {
		w.later(b)
		return
	}
	req := commands.PurchaseRequest{
		Buyer: b.name, Sale: w.sale, Lines: b.lines, IdempotencyKey: b.key, Route: "purchase", BodyHash: fmt.Sprintf("%x", fmt.Sprint(b.lines)), TraceID: b.name,
	}
	strand := fmt.Sprintf("%s.%d", b.name, b.tries)
	w.act(p, strand, func(ctx context.Context) func() {
		result, err := p.purchaser.Purchase(ctx, req)
		return func() { w.told(p, b, result, err) }
	}, func() {
		w.tracef("%s: no answer, %s died", b.name, p.name)
		w.later(b)
	})
}

// later lets a buyer try again after a while.
func (w *World) later(b *buyer) {
	if b.tries < mostTries || !w.stormy {
		w.after(time.Duration(50+w.rng.IntN(900))*time.Millisecond, "", func() { w.click(b) })
	}
}

// told is what a buyer heard. An answer may be lost on its way to him.
func (w *World) told(p *process, b *buyer, result commands.PurchaseResult, err error) {
	if w.stormy && w.rng.IntN(1000) < w.weather.silent {
		w.tracef("%s: the answer of %s is lost", b.name, p.name)
		w.later(b)
		return
	}
	var problem *domain.Problem
	switch {
	case errors.As(err, &problem):
		w.tracef("%s: %s says %s", b.name, p.name, problem.Code)
	case err != nil:
		w.tracef("%s: %s fails: %v", b.name, p.name, err)
	default:
		w.tracef("%s: %s says %s, order %s %s", b.name, p.name, result.Outcome, short(result.Order.ID), result.Order.Status)
	}
	switch {
	case err != nil, result.Outcome == domain.NotReady, result.Outcome == domain.Paused, b.late && result.Outcome == domain.SoldOut:
		w.later(b)
	case result.Order.ID != "":
		w.acknowledged(b, result)
	}
}

// acknowledged notes that a buyer was told of an order, and lets him do something about it.
func (w *World) acknowledged(b *buyer, result commands.PurchaseResult) {
	id := result.Order.ID
	_, taken := w.accepted[b.order]
	if b.key != "" && taken && b.order != id && w.stats.GateFalls+w.stats.LogFalls == 0 {
		w.violate("C5: buyer %s asked twice under one key, and was told of order %s and then of %s", b.name, short(b.order), short(id))
		return
	}
	b.order = id
	if w.acks[id] != nil {
		return
	}
	w.acks[id] = &ack{buyer: b}
	if !w.stormy {
		return
	}
	switch w.rng.IntN(4) {
	case 0:
		w.after(time.Duration(w.rng.IntN(1500))*time.Millisecond, "", func() { w.end(b, id, "cancel", 1) })
	case 1:
		w.after(time.Duration(w.rng.IntN(1500))*time.Millisecond, "", func() { w.end(b, id, "pay", 1) })
	}
}

// end lets a buyer cancel or pay an order; an order that is not decided yet, or a store
// that is away, is tried again a few times.
func (w *World) end(b *buyer, id, how string, try int) {
	again := func() {
		if try < mostTries {
			w.after(500*time.Millisecond, "", func() { w.end(b, id, how, try+1) })
		}
	}
	p := w.anyAPI()
	if p == nil {
		again()
		return
	}
	w.act(p, fmt.Sprintf("%s.%s%d", b.name, how, try), func(ctx context.Context) func() {
		var err error
		var answer commands.OrderAnswer
		if how == "cancel" {
			answer, err = p.orders.Cancel(ctx, b.name, id, b.name)
		} else {
			var units int64
			for _, l := range b.lines {
				units += l.Quantity
			}
			paid := commands.Payment{Provider: "bank", EventID: id, PaymentID: id, Order: id, Amount: domain.Money{Minor: 100 * units, Currency: "CNY"}}
			answer, err = p.orders.Settle(ctx, paid, commands.Actor{By: "bank"})
		}
		return func() {
			w.tracef("%s: %s says to %s of order %s: %s %v", b.name, p.name, how, short(id), answer.Status, err)
			if wrong := (*commands.WrongStateError)(nil); err != nil && !errors.As(err, &wrong) {
				again()
			}
		}
	}, again)
}

// operate lets the operator pause, resume, release or withdraw.
func (w *World) operate(what string) {
	again := func() { w.after(300*time.Millisecond, "", func() { w.operate(what) }) }
	p := w.anyAPI()
	if p == nil {
		again()
		return
	}
	actor := commands.Actor{By: "operator"}
	sku := w.terms.Items[w.rng.IntN(len(w.terms.Items))].SKU
	units := int64(1 + w.rng.IntN(2))
	key := fmt.Sprintf("%s-%d", what, len(w.trace))
	w.act(p, "operator."+what, func(ctx context.Context) func() {
		var err error
		switch what {
		case "pause":
			_, err = p.operator.Pause(ctx, w.sale, domain.PausedByOperator, actor)
		case "resume":
			_, err = p.operator.Resume(ctx, w.sale, domain.PausedByOperator, actor)
		case "release":
			_, err = p.operator.Release(ctx, commands.Release{Sale: w.sale, SKU: sku, Quantity: units, Key: key}, actor)
		case "withdraw":
			_, err = p.operator.Release(ctx, commands.Release{Sale: w.sale, SKU: sku, Quantity: -units, Key: key}, actor)
		}
		return func() {
			w.tracef("operator: %s says to %s %d of %s: %v", p.name, what, units, sku, err)
			if what == "pause" {
				w.after(time.Duration(w.rng.IntN(2000))*time.Millisecond, "", func() { w.operate("resume") })
			} else if what == "resume" && err != nil {
				again()
			}
		}
	}, again)
}
