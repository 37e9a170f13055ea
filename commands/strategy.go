package commands

import (
	"context"

	"seckill/domain"
)

// ByStrategy asks, for each sale, whoever judges it: Gate, or Direct where the sale
// has no gate.
type ByStrategy struct {
	Sales  *Sales
	Gate   Gate
	Direct Gate
}

var (
	_ Gate = ByStrategy{}
	_ Gate = (*Direct)(nil)
)

// of gives who judges a sale.
func (b ByStrategy) of(ctx context.Context, sale string) Gate {
	if b.Sales.Gateless(ctx, sale) {
		return b.Direct
	}
	return b.Gate
}

// Reserve is Gate's.
func (b ByStrategy) Reserve(ctx context.Context, r Reservation) (Verdict, error) {
	if r.Place.Direct {
		return b.Direct.Reserve(ctx, r)
	}
	return b.Gate.Reserve(ctx, r)
}

// Resolve is Gate's. A sale that the log does not have is left to the gate.
func (b ByStrategy) Resolve(ctx context.Context, ref domain.OrderRef, buyer string) (Resolution, error) {
	return b.of(ctx, ref.Place.Sale).Resolve(ctx, ref, buyer)
}

// Order is Gate's. A sale that the log does not have is left to the gate.
func (b ByStrategy) Order(ctx context.Context, ref domain.OrderRef) (GateOrder, error) {
	return b.of(ctx, ref.Place.Sale).Order(ctx, ref)
}

// Gateless tells whether no gate holds anything of a sale. It never changes, so
// whatever is remembered will do; of a sale that cannot be read it is false.
func (s *Sales) Gateless(ctx context.Context, id string) bool {
	sale, ok := s.Known(id)
	if !ok {
		var err error
		if sale, err = s.Get(ctx, id); err != nil {
			return false
		}
	}
	return sale.Gateless()
}

// placeOfBuyer is where a buyer's purchases of a sale are served.
func placeOfBuyer(store uint8, sale domain.Sale, buyer string) domain.Place {
	return domain.Place{Store: store, Sale: sale.ID, Bucket: domain.HomeBucket(sale.ID, buyer, sale.Terms.Buckets), Direct: sale.Gateless()}
}

// stockStreams names every stock stream of a sale.
func stockStreams(sale domain.Sale) []string {
	var streams []string
	for bucket := range max(sale.Terms.Buckets, 1) {
		for _, sku := range sale.SKUs() {
			streams = append(streams, domain.StockStream(sale.ID, sku, bucket))
		}
	}
	return streams
}
