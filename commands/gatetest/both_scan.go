package gatetest

import (
	"context"
	"slices"
	"strings"

	"seckill/commands"
	"seckill/domain"
)

// ScanOrders compares whole scans: pages are cut as each gate likes.
func (o *both) ScanOrders(ctx context.Context, place domain.Place, from string, max int) (commands.OrdersPage, error) {
	a, err1 := wholeOrders(ctx, o.a, place, max)
	b, err2 := wholeOrders(ctx, o.b, place, max)
	return agree(o, "scan orders", a, b, [2]error{err1, err2})
}

func (o *both) ScanHolds(ctx context.Context, place domain.Place, sku, from string, max int) (commands.HoldsPage, error) {
	a, err1 := wholeHolds(ctx, o.a, place, sku, max)
	b, err2 := wholeHolds(ctx, o.b, place, sku, max)
	return agree(o, "scan holds", a, b, [2]error{err1, err2})
}

func (o *both) Records(ctx context.Context, place domain.Place, skus []string, of []commands.OrderOf) (commands.GateRecords, error) {
	a, err1 := o.a.Records(ctx, place, skus, of)
	b, err2 := o.b.Records(ctx, place, skus, of)
	a.Lane.Server, b.Lane.Server = "", ""
	a.Peeked, b.Peeked = timeless(o.tb, a.Peeked).(commands.Peeked), timeless(o.tb, b.Peeked).(commands.Peeked)
	for _, r := range [][]commands.GateRecord{a.Orders, b.Orders} {
		for i := range r {
			slices.Sort(r[i].Record.SKUs)
		}
	}
	return agree(o, "records", a, b, [2]error{err1, err2})
}

func (o *both) Uses(ctx context.Context, place domain.Place, skus []string, of []commands.Use) (commands.GateUses, error) {
	a, err1 := o.a.Uses(ctx, place, skus, of)
	b, err2 := o.b.Uses(ctx, place, skus, of)
	a.Lane.Server, b.Lane.Server = "", ""
	a.Peeked, b.Peeked = timeless(o.tb, a.Peeked).(commands.Peeked), timeless(o.tb, b.Peeked).(commands.Peeked)
	return agree(o, "uses", a, b, [2]error{err1, err2})
}

// wholeOrders scans to the end and puts what was found in order, each once.
func wholeOrders(ctx context.Context, s commands.Scanner, place domain.Place, max int) (commands.OrdersPage, error) {
	var all commands.OrdersPage
	seen := map[string]bool{}
	for from := ""; ; {
		page, err := s.ScanOrders(ctx, place, from, max)
		if err != nil {
			return all, err
		}
		for _, o := range page.Orders {
			if !seen["o:"+o.Order] {
				seen["o:"+o.Order] = true
				slices.Sort(o.SKUs)
				all.Orders = append(all.Orders, o)
			}
		}
		for _, b := range page.Buyers {
			if !seen["b:"+b.Buyer] {
				seen["b:"+b.Buyer] = true
				all.Buyers = append(all.Buyers, b)
			}
		}
		for _, u := range page.Uses {
			if !seen[u.String()] {
				seen[u.String()] = true
				all.Uses = append(all.Uses, u)
			}
		}
		if from = page.Next; from == "" {
			slices.SortFunc(all.Uses, func(a, b commands.ScannedUse) int { return strings.Compare(a.String(), b.String()) })
			slices.SortFunc(all.Orders, func(a, b commands.ScannedOrder) int { return strings.Compare(a.Order, b.Order) })
			slices.SortFunc(all.Buyers, func(a, b commands.ScannedBuyer) int { return strings.Compare(a.Buyer, b.Buyer) })
			return all, nil
		}
	}
}

// wholeHolds does so for a stock hash.
func wholeHolds(ctx context.Context, s commands.Scanner, place domain.Place, sku string, max int) (commands.HoldsPage, error) {
	var all commands.HoldsPage
	seen := map[string]bool{}
	for from := ""; ; {
		page, err := s.ScanHolds(ctx, place, sku, from, max)
		if err != nil {
			return all, err
		}
		for _, h := range page.Holds {
			if !seen[h.ID] {
				seen[h.ID] = true
				all.Holds = append(all.Holds, h)
			}
		}
		if from = page.Next; from == "" {
			slices.SortFunc(all.Holds, func(a, b commands.ScannedHold) int { return strings.Compare(a.ID, b.ID) })
			return all, nil
		}
	}
}
