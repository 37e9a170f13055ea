package bench

import (
	"context"
	"fmt"
	"time"

	"seckill/commands"
	"seckill/infra/load"
)

// Names of checks.
const (
	checkOneOrder = "one order a buyer"
	checkDecided  = "every accepted order is decided"
	checkDrained  = "drained to the last view"
	checkBooks    = "gate, log and views agree"
	checkOversold = "nothing oversold"
	checkKept     = "no acceptance lost"
	checkUnsold   = "sold out means sold"
	checkRepelled = "attackers repelled"
)

func said(name string, ok bool, detail string, args ...any) Check {
	return Check{Name: name, OK: &ok, Detail: fmt.Sprintf(detail, args...)}
}

func unasked(name, why string) Check { return Check{Name: name, Detail: "not checked: " + why} }

// checks looks at what must hold after every rehearsal.
func (p *play) checks(ctx context.Context) []Check {
	all := []Check{p.oneOrder(), p.decided(ctx), p.drained()}
	all = append(all, p.books(ctx)...)
	for _, k := range p.report.Kinds {
		if k.Name == load.KindAttack {
			all = append(all, said(checkRepelled, k.Failed == 0, "%d of %d attacks were answered as they should be, %d were told to come again", k.OK, k.Sent, k.Refused))
		}
	}
	return all
}

func (p *play) oneOrder() Check {
	orders, doubles := map[int32]int{}, 0
	for _, w := range p.won {
		if orders[w.Buyer]++; orders[w.Buyer] == 2 {
			doubles++
		}
	}
	return said(checkOneOrder, doubles == 0, "%d buyers have an order, %d of them more than one", len(orders), doubles)
}

// decided asks for every order whose buyer did not see it decided.
func (p *play) decided(ctx context.Context) Check {
	a, err := p.attack()
	if err != nil {
		return said(checkDecided, false, "%v", err)
	}
	f := &load.Followers{Host: p.visitors.Host, Pause: 200 * time.Millisecond, Until: time.Now().Add(p.Patience)}
	for _, w := range p.won {
		if !w.Decided {
			f.Orders, f.Tokens = append(f.Orders, w.Order), append(f.Tokens, p.visitors.Tokens[w.Buyer])
		}
	}
	a.Conns, a.Build, a.Judge = 64, f.Build, f.Judge
	a.Arrivals = make([]time.Duration, len(f.Orders))
	run, err := load.Start(ctx, a, time.Now())
	if err != nil {
		return said(checkDecided, false, "%v", err)
	}
	m := run.Wait()
	missing := m.Failed + m.Unanswered
	if missing > 0 {
		return said(checkDecided, false, "%d of %d were not found decided: %v", missing, len(p.won), m.Outcomes)
	}
	return said(checkDecided, true, "%d of %d were seen so by their buyers, the others were asked for", len(p.won)-len(f.Orders), len(p.won))
}

func (p *play) drained() Check {
	b := p.report.Backlog
	switch {
	case !b.Seen:
		return unasked(checkDrained, "no metrics at "+b.From+" ("+b.Why+")")
	case !b.Drained:
		last := b.Samples[len(b.Samples)-1]
		return said(checkDrained, false, "after %s %d purchases were undecided, %d journal entries unrecorded, %d events unpublished, and views lacked %v",
			p.Patience, last.Undecided, last.Journal, last.Relay, last.Views)
	}
	return said(checkDrained, true, "first seen empty %.1f s after the last acceptance; the installation looks once a second", float64(b.AfterMS)/1000)
}

// books has the installation compare its books, and compares them with what buyers
// were told.
func (p *play) books(ctx context.Context) []Check {
	names := []string{checkBooks, checkOversold, checkKept, checkUnsold}
	if p.Operator.Token == "" {
		return notAll(names, "it takes an operator's token")
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	report, err := p.Operator.Reconcile(ctx, p.sale)
	if err != nil {
		return append([]Check{said(checkBooks, false, "the books could not be compared: %v", err)}, notAll(names[1:], "the books could not be compared")...)
	}
	return []Check{
		said(checkBooks, report.Drift == 0, "%d findings", report.Drift), oversold(report), p.kept(report), p.unsold(report),
	}
}

func notAll(names []string, why string) []Check {
	var all []Check
	for _, name := range names {
		all = append(all, unasked(name, why))
	}
	return all
}

func oversold(r commands.SaleReport) Check {
	for _, i := range r.Items {
		if sold := i.Reserved - i.Returned; sold > i.Released || i.Available < 0 {
			return said(checkOversold, false, "of %s %d units were sold and %d released, %d are left", i.SKU, sold, i.Released, i.Available)
		}
	}
	return said(checkOversold, true, "%d units sold of %d released", r.Reserved-r.Returned, r.Released)
}

// kept: an answer that got lost on the way is an order that its buyer does not know,
// so there may be more orders in the books than were told, and never fewer.
func (p *play) kept(r commands.SaleReport) Check {
	if !p.ours {
		return unasked(checkKept, "others may have bought or returned units in this sale")
	}
	told := int64(len(p.won) + p.primed)
	return said(checkKept, r.Reserved >= told, "%d orders were told, %d units are reserved", told, r.Reserved)
}

// unsold: an item that somebody was told is sold out has no unit left.
func (p *play) unsold(r commands.SaleReport) Check {
	told := p.visitors.Told("sold_out")
	n := 0
	for sku, count := range told {
		n += count
		for _, i := range r.Items {
			if i.SKU == p.skus[sku] && i.Available > 0 && p.ours {
				return said(checkUnsold, false, "%d buyers were told that %s is sold out, and %d units are left", count, i.SKU, i.Available)
			}
		}
	}
	if !p.ours {
		return unasked(checkUnsold, "others may have returned units in this sale")
	}
	return said(checkUnsold, true, "no unit is left of what %d were told is sold out", n)
}
