package commands

import (
	"context"
	"errors"
	"slices"
	"time"

	"seckill/domain"
)

// offerPage bounds how many orders are asked for in one statement.
const offerPage = 200

// offer asks the gate again for what the log has not decided. Of a sale that is
// paused one is asked for in a round: the others would meet the same answer.
func (k *Kept) offer(ctx context.Context, lane int, purchases []keptPurchase) error {
	paused := map[string]bool{} // by sale
	defer func() { k.holdBack(lane, purchases, paused) }()
	for page := range slices.Chunk(purchases, offerPage) {
		page = slices.DeleteFunc(slices.Clone(page), func(p keptPurchase) bool { return paused[p.reservation.Place.Sale] })
		streams := make([]string, len(page))
		for i, p := range page {
			streams[i] = domain.OrderStream(p.reservation.Order)
		}
		states, err := k.log.States(ctx, streams)
		if err != nil {
			return err
		}
		for i, p := range page {
			sale := p.reservation.Place.Sale
			switch {
			case states[i].Version > 0:
				k.drop(lane, p.reservation.Order)
			case !paused[sale]:
				if paused[sale], err = k.offerOne(ctx, lane, p); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// holdBack remembers which of the purchases of a lane a pause holds back.
func (k *Kept) holdBack(lane int, purchases []keptPurchase, paused map[string]bool) {
	held := map[buyerOfSale]keptPurchase{}
	for _, p := range purchases {
		if r := &p.reservation; p.entry.N > 0 && paused[r.Place.Sale] {
			held[buyerOfSale{r.Place.Sale, r.Buyer}] = p
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(held) == 0 {
		delete(k.held, lane)
		return
	}
	k.held[lane] = held
}

// heldBack gives what a purchase in a paused sale meets though the gate forgot it: the
// order accepted before, where a buyer has one or the key is the same (Repeat), or
// KeyMismatch, where that came with another body. ok is false where it meets nothing.
func (k *Kept) heldBack(sale domain.Sale, r Reservation) (met domain.Outcome, order string, ok bool) {
	k.mu.Lock()
	p, ok := k.held[r.Place.Lane()][buyerOfSale{sale.ID, r.Buyer}]
	k.mu.Unlock()
	switch own := &p.reservation; {
	case !ok, !k.Holds(own.Order):
		return 0, "", false
	case r.Key == "" || r.Key != own.Key:
		return domain.Repeat, own.Order, sale.Terms.OrdersPerBuyer == 1
	case r.BodyHash != own.BodyHash:
		return domain.KeyMismatch, "", true
	default:
		return domain.Repeat, own.Order, true
	}
}

// offerOne asks the gate again under the same order id. paused: its sale sells
// nothing now and may go on later; the order is kept until then.
func (k *Kept) offerOne(ctx context.Context, lane int, p keptPurchase) (paused bool, err error) {
	asked, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	r := p.reservation
	v, err := k.ask(asked, &r, p.entry.N > 0)
	if err != nil {
		return false, err
	}
	if v.Outcome == domain.SoldOut && k.elsewhere(asked, &r) {
		return false, nil // offered again: it is not lost while a unit may be left
	}
	switch {
	case v.Outcome == domain.Reserved, v.Outcome == domain.SameOrder && v.Order == r.Order:
		k.Keep(r, v.Entry)
		k.env.Log.Info("acknowledged purchase offered again", "order_id", r.Order, "buyer_id", r.Buyer, "sale_id", r.Place.Sale, "gate", v.Outcome.String())
		return false, nil
	case v.Outcome == domain.NotReady:
		return false, k.withoutSale(ctx, lane, r)
	case v.Outcome == domain.Paused && !k.over(asked, r.Place.Sale, v.Now):
		return true, nil
	}
	return false, k.refused(asked, lane, r, v.Outcome)
}

// elsewhere tells whether other buckets of the sale may have units for r, and brings
// them to its own.
func (k *Kept) elsewhere(ctx context.Context, r *Reservation) bool {
	if k.Sales == nil || k.Buckets == nil {
		return false
	}
	sale, err := k.Sales.Get(ctx, r.Place.Sale)
	if err != nil {
		return true // asked again
	}
	ctx, cancel := context.WithTimeout(ctx, keptPause)
	defer cancel()
	return several(&sale.Sale) && k.Buckets.Bring(ctx, &sale.Sale, r.Place.Bucket, r.Lines) != UnitsNone
}

// ask asks the gate for r. accepted: it was seen that the gate accepted it, and so it
// is a promise by the window and the limit of then; any other is judged anew.
func (k *Kept) ask(ctx context.Context, r *Reservation, accepted bool) (Verdict, error) {
	r.Promised = 0
	if accepted {
		r.Promised = 1
	}
	v, err := k.gate.Reserve(ctx, *r)
	if err != nil || v.Outcome != domain.LimitExceeded || !accepted || k.Promises == nil {
		return v, err
	}
	if r.Promised, err = k.Promises.limit(ctx, r.Place.Sale); err != nil {
		return Verdict{}, err
	}
	return k.gate.Reserve(ctx, *r)
}

// over tells whether a sale is over for good at a time of the gate's clock, so that
// no end of a pause sells anything of it. Where the log cannot tell, it is not.
func (k *Kept) over(ctx context.Context, id string, at time.Time) bool {
	if k.Sales == nil {
		return false
	}
	sale, err := k.Sales.Fold(ctx, id)
	return err == nil && sale.Over(at)
}

// refused resolves an acknowledged purchase that the gate refuses: kept beyond what
// the gate has, as far as the overdraft goes, or lost.
func (k *Kept) refused(ctx context.Context, lane int, r Reservation, outcome domain.Outcome) error {
	ref, err := domain.ParseOrderID(r.Order)
	if err != nil {
		return err
	}
	// A tombstone may be that of a promise whose record failed.
	if (outcome == domain.SoldOut || outcome == domain.Refused) && k.Promises != nil {
		kept, err := k.Promises.Keep(ctx, ref, r)
		if kept {
			k.drop(lane, r.Order)
		}
		if errors.Is(err, ErrUnresolved) {
			return nil // ask again
		}
		if kept || err != nil {
			return err
		}
	}
	if err := k.lost.Declare(ctx, ref, r.Buyer); err != nil {
		if errors.Is(err, ErrUnresolved) {
			return nil
		}
		return err
	}
	k.drop(lane, r.Order)
	return nil
}

// withoutSale gives an acknowledged purchase up where its sale is over for the
// log; otherwise the gate is asked again later.
func (k *Kept) withoutSale(ctx context.Context, lane int, r Reservation) error {
	states, err := k.log.States(ctx, []string{domain.SaleStream(r.Place.Sale)})
	if err != nil || !saleOver(states[0]) {
		return err
	}
	ref, err := domain.ParseOrderID(r.Order)
	if err != nil {
		return err
	}
	gone, err := k.lost.DeclareSaleLost(ctx, ref, r.Buyer)
	if err == nil && gone {
		k.drop(lane, r.Order)
	}
	return err
}
