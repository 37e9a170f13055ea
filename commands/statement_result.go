package commands

import (
	"cmp"
	"maps"
	"slices"

	"seckill/domain"
)

// result makes the statement of what was folded. name gives the id of the order
// that a position is about.
func (f *statementFold) result(store string, name func(position int64) (string, error)) (*Statement, error) {
	s := &Statement{Form: StatementForm, Store: store, Sale: f.saleStated(), Log: f.log, Orders: f.ordersStated(), Items: []StatedItem{}}
	s.Log.Hash = f.last.String()
	s.Money = StatedMoney{Revenue: f.money(0), RefundsDue: f.money(0), Refunds: []StatedRefunds{}}
	f.sold()
	for _, sku := range f.skus() {
		item := f.item(sku)
		item.Unsold = item.Released - item.Withdrawn - item.Reserved + item.Returned
		s.Items = append(s.Items, *item)
		s.Money.Revenue = f.plus(s.Money.Revenue, item.Revenue)
	}
	for _, reason := range slices.Sorted(maps.Keys(f.refunds)) {
		s.Money.Refunds = append(s.Money.Refunds, *f.refunds[reason])
		s.Money.RefundsDue = f.plus(s.Money.RefundsDue, f.refunds[reason].Amount)
	}
	if err := f.judgeOrders(name); err != nil {
		return nil, err
	}
	s.Chances = f.chances()
	f.judgeWins()
	s.Findings, s.Repairs = f.findings, f.repairs
	return s, nil
}

func (f *statementFold) saleStated() StatedSale {
	s := StatedSale{ID: f.sale.ID, Title: f.sale.Terms.Title, OpensAt: f.sale.Terms.OpensAt, ClosesAt: f.sale.Terms.ClosesAt, ClosedAt: f.closedAt, Terms: f.sale.Terms}
	if n := len(f.terms); n > 0 {
		s.TermsVersion = f.terms[n-1].version
	}
	return s
}

// skus lists the items as they were scheduled, and then what else the log knows.
func (f *statementFold) skus() []string {
	skus := f.sale.SKUs()
	for _, sku := range slices.Sorted(maps.Keys(f.items)) {
		if !slices.Contains(skus, sku) {
			skus = append(skus, sku)
		}
	}
	return skus
}

// sold adds what orders hold to their items.
func (f *statementFold) sold() {
	for _, sku := range f.skus() {
		item := f.item(sku)
		terms, _ := f.sale.Item(sku)
		item.Title, item.Revenue = terms.Title, f.money(0)
	}
	for i := range f.book.orders {
		o := &f.book.orders[i]
		if o.status != statedPlaced && o.status != statedPaid {
			continue
		}
		for _, l := range f.book.linesOf(o) {
			item := f.item(f.book.items.list[l.item])
			if o.status == statedPlaced {
				item.Placed += l.quantity
				continue
			}
			item.Sold += l.quantity
			price, ok := f.money(l.price).Times(l.quantity)
			if !ok {
				f.found(StatedFinding{Kind: FindingAmount, Position: o.position, SKU: item.SKU, Detail: "the price of a line does not fit"})
			}
			item.Revenue = f.plus(item.Revenue, price)
		}
	}
}

func (f *statementFold) ordersStated() []StatedOrders {
	type kind struct{ status, reason uint8 }
	counts := map[kind]*StatedOrders{}
	for i := range f.book.orders {
		o := &f.book.orders[i]
		if o.status == statedNone {
			continue
		}
		k := kind{o.status, o.reason}
		if counts[k] == nil {
			counts[k] = &StatedOrders{Status: string(statedStatuses[o.status]), Reason: f.book.reasons.list[o.reason]}
		}
		counts[k].Orders++
		counts[k].Units += f.book.units(o)
	}
	list := []StatedOrders{}
	for _, n := range counts {
		list = append(list, *n)
	}
	slices.SortFunc(list, func(a, b StatedOrders) int {
		return cmp.Or(cmp.Compare(statusNumber(a.Status), statusNumber(b.Status)), cmp.Compare(a.Reason, b.Reason))
	})
	return list
}

func statusNumber(status string) int {
	return slices.Index(statedStatuses[:], domain.OrderStatus(status))
}

// judgeOrders compares, order by order, what it is about with what was taken and
// given back for it.
func (f *statementFold) judgeOrders(name func(position int64) (string, error)) error {
	for i := range f.book.orders {
		o := &f.book.orders[i]
		kind, detail := o.fault()
		if kind == "" {
			continue
		}
		x := StatedFinding{Kind: kind, Position: o.position, Detail: detail}
		if len(f.findings.List) < MaxStated {
			var err error
			if x.OrderID, err = name(o.position); err != nil {
				return err
			}
			if f.ended[domain.OrderStream(x.OrderID)] {
				continue // named already: it cannot be read
			}
		}
		f.found(x)
	}
	return nil
}

// fault says what is wrong with the units of an order, "" for nothing.
func (o *statedOrder) fault() (kind, detail string) {
	kept := o.status == statedPlaced || o.status == statedPaid
	over := o.status == statedCancelled || o.status == statedExpired
	switch {
	case o.status == statedNone:
		return FindingNoOrder, "units were taken or given back for an order that has no event of its own"
	case o.status == statedRejected && (o.reserved != 0 || o.returned != 0 || o.written != 0):
		return FindingNoOrder, "units were taken for an order that was rejected"
	case (kept || over) && o.reserved != o.lines:
		return FindingNoReserved, "the units that were taken are not those of the order"
	case kept && (o.returned != 0 || o.written != 0):
		return FindingReturns, "units of an order came back that is not over"
	case over && o.restock && (o.returned != o.lines || o.written != 0):
		return FindingReturns, "the units of an order that is over did not come back exactly once"
	case over && !o.restock && (o.written != o.lines || o.returned != 0):
		return FindingReturns, "the units of an order that was cancelled without restocking were not written off exactly once"
	}
	return "", ""
}
