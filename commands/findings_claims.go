package commands

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"seckill/domain"
	"seckill/eventstore"
)

// claimSuspect tells whether the claims may be wrong about an order. What changed
// between reading claims and log looks so too.
func (o *orderBook) claimSuspect() bool {
	c := o.claim
	switch {
	case c.n == 0:
		return o.placed && o.atClaims != 0
	case c.n > 1, c.stranger, !o.placed, int64(c.quantity) != o.units, c.ordinal != o.ordinal, c.key != o.key:
		return true
	}
	return c.live != o.atClaims.live() && c.live != o.status.live()
}

// judgeClaims checks that every order that was placed has its claim, every claim
// its order, and nobody more than the terms ever allowed.
func (r *reconciliation) judgeClaims(ctx context.Context) error {
	for id, o := range r.books.orders {
		if o.claimSuspect() && r.books.unread[domain.OrderStream(id)] == nil {
			r.doubtful[o.buyer] = true
		}
	}
	for _, buyer := range r.few(slices.Sorted(maps.Keys(r.doubtful)), "buyers' claims") {
		account, err := readAccount(ctx, r.Log, eventstore.ClaimKey{SaleID: r.sale.ID, BuyerID: buyer}, r.ordersOf(buyer))
		var unread *UnreadableError
		if errors.As(err, &unread) {
			continue // found already
		}
		if err != nil {
			return err
		}
		r.judgeAccount(account)
	}
	return nil
}

// ordersOf lists the orders of a buyer in the books.
func (r *reconciliation) ordersOf(buyer string) []string {
	var ids []string
	for id, o := range r.books.orders {
		if o.buyer == buyer {
			ids = append(ids, id)
		}
	}
	return ids
}

// buyerAccount is a buyer's claims in a sale and the fold of his orders, as they
// stood at one moment.
type buyerAccount struct {
	key      eventstore.ClaimKey
	claims   []eventstore.Claim
	orders   []placedOrder // that were placed, oldest first
	versions map[string]int64
}

type placedOrder struct {
	domain.Order
	position      int64
	key, bodyHash string
}

// claim gives the claim that an order must have.
func (p placedOrder) claim(ordinal int) eventstore.Claim {
	return eventstore.Claim{SaleID: p.SaleID, BuyerID: p.BuyerID, Ordinal: ordinal, OrderID: p.ID, Quantity: lineUnits(p.Order),
		Live: p.Standing() == domain.Live, Key: p.key, BodyHash: p.bodyHash}
}

// readAccount reads claims and the versions of the orders under the log lock, and
// the orders up to those versions. orders need not be complete: what the claims
// name is read as well.
func readAccount(ctx context.Context, log Log, key eventstore.ClaimKey, orders []string) (buyerAccount, error) {
	a := buyerAccount{key: key}
	for {
		var streams []string
		for _, id := range orders {
			streams = append(streams, domain.OrderStream(id))
		}
		_, err := log.Submit(ctx, eventstore.Work{
			Needs: eventstore.Needs{Streams: streams, Claims: []eventstore.ClaimKey{key}},
			Decide: func(look eventstore.Look) (*eventstore.Group, error) {
				a.claims, a.versions = look.Claims(key), map[string]int64{}
				for i, id := range orders {
					a.versions[id] = look.Stream(streams[i]).Version
				}
				return nil, nil
			},
		})
		if err != nil {
			return a, fmt.Errorf("read the claims of a buyer: %w", err)
		}
		known := len(orders)
		for _, c := range a.claims {
			if !slices.Contains(orders, c.OrderID) {
				orders = append(orders, c.OrderID)
			}
		}
		if len(orders) == known {
			return a, a.readOrders(ctx, log)
		}
	}
}

func (a *buyerAccount) readOrders(ctx context.Context, log eventstore.Reader) error {
	for id, version := range a.versions {
		var p placedOrder
		placed := false
		err := eachRecord(ctx, log, domain.OrderStream(id), 0, func(r *eventstore.Record) error {
			if r.Version > version {
				return nil
			}
			ev, err := decode(r)
			if err != nil {
				return err
			}
			if first, ok := ev.(*domain.OrderPlaced); ok {
				placed, p.position, p.key, p.bodyHash = true, r.Position, first.Key, first.BodyHash
			}
			p.Order = p.FoldOrder(ev)
			return nil
		})
		if err != nil {
			return err
		}
		if placed && p.BuyerID == a.key.BuyerID && p.SaleID == a.key.SaleID {
			a.orders = append(a.orders, p)
		}
	}
	slices.SortFunc(a.orders, func(x, y placedOrder) int { return cmp.Compare(x.position, y.position) })
	return nil
}

// wanted gives the claims that the buyer's orders make.
func (a *buyerAccount) wanted() []eventstore.Claim {
	want := make([]eventstore.Claim, len(a.orders))
	for i, o := range a.orders {
		want[i] = o.claim(i + 1)
	}
	return want
}

// judgeAccount names every order whose claim is not what the log says, and a buyer
// who really holds too much.
func (r *reconciliation) judgeAccount(a buyerAccount) {
	rows, doubled := map[string]int{}, map[string]bool{}
	for _, c := range a.claims {
		rows[c.OrderID]++
	}
	want := map[string]eventstore.Claim{}
	var live []string
	var units int64
	for _, c := range a.wanted() {
		want[c.OrderID] = c
		if c.Live {
			live, units = append(live, c.OrderID), units+c.Quantity
		}
		if rows[c.OrderID] == 0 {
			r.report.found(a.finding(FindingClaim, c.OrderID, "a placed order without a claim"))
		}
	}
	for _, c := range a.claims {
		w, ok := want[c.OrderID]
		if doubled[c.OrderID] {
			w.Ordinal = c.Ordinal // said already
		}
		switch {
		case !ok:
			r.report.found(a.finding(FindingClaim, c.OrderID, "a claim without an order of this buyer"))
		case rows[c.OrderID] > 1:
			rows[c.OrderID], doubled[c.OrderID] = 1, true
			r.report.found(a.finding(FindingDoubleClaim, c.OrderID, "an order with several claims"))
		case w != c:
			r.report.found(a.finding(FindingClaim, c.OrderID, claimSaid(c, w)))
		}
	}
	if units > r.books.limit || len(live) > r.books.allowed {
		f := a.finding(FindingDoubleClaim, "", fmt.Sprintf("holds %d units in %d orders; the terms never allowed more than %d in %d", units, len(live), r.books.limit, r.books.allowed))
		f.OrderIDs = live
		r.report.found(f)
	}
}

// claimSaid says in what a claim differs from what the order makes of it.
func claimSaid(is, want eventstore.Claim) string {
	if is.Quantity == want.Quantity && is.Live == want.Live && is.Ordinal == want.Ordinal {
		return "the claim has another idempotency key, or another body, than the order"
	}
	return fmt.Sprintf("the claim says %d units, live %t, number %d of the buyer; the order %d, %t, %d",
		is.Quantity, is.Live, is.Ordinal, want.Quantity, want.Live, want.Ordinal)
}

func (a *buyerAccount) finding(kind, order, detail string) Finding {
	return Finding{Kind: kind, OrderID: order, BuyerID: a.key.BuyerID, Detail: detail, about: about{orders: slices.Sorted(maps.Keys(a.versions))}}
}
