package commands

import (
	"seckill/domain"
	"seckill/eventstore"
)

// take notes what the views say.
func (b *books) take(v ViewSnapshot) {
	for _, row := range v.Orders {
		o := b.order(row.ID)
		o.inView = viewRow{version: int32(row.Version), status: statusOf(row.Status), units: int32(row.Units),
			refund: row.RefundDue, position: row.Position, digest: row.Digest}
		if o.buyer == "" {
			o.buyer = row.Buyer
		}
	}
	b.parked = map[string]map[string]int64{}
	for _, p := range v.Aside {
		if b.parked[p.Projection] == nil {
			b.parked[p.Projection] = map[string]int64{}
		}
		b.parked[p.Projection][p.Sequence] = p.First
	}
	v.Orders = nil // kept with the orders
	b.views = v
}

// claimed notes a claim.
func (b *books) claimed(c eventstore.Claim) {
	o := b.order(c.OrderID)
	if o.buyer != "" && o.buyer != c.BuyerID {
		o.claim.stranger = true
	}
	o.buyer = c.BuyerID
	o.claim.n++
	o.claim.live, o.claim.quantity = c.Live, int32(c.Quantity)
	o.claim.ordinal, o.claim.key = int32(c.Ordinal), keyDigest(c.Key, c.BodyHash)
}

// scanned notes what a gate's record of the sale says of orders.
func (b *books) scanned(place domain.Place, page OrdersPage) {
	for _, s := range page.Orders {
		o := b.order(s.Order)
		o.gate.letter, o.bucket = letterOf(s.State), int16(place.Bucket)
		o.mixed = o.mixed || (o.buyer != "" && s.Buyer != "" && o.buyer != s.Buyer)
		if o.buyer == "" {
			o.buyer = s.Buyer
		}
	}
	b.used(place, page.Uses)
	for _, list := range page.Buyers {
		for _, id := range list.Orders {
			o := b.order(id)
			o.bucket = int16(place.Bucket)
			switch {
			case o.buyer == "":
				o.buyer, o.byList = list.Buyer, true
			case o.buyer != list.Buyer:
				b.lists[id] = append(b.lists[id], list.Buyer)
			}
			o.listed = true
		}
	}
}

// held notes the holds of an item, which is the counted-from-1 item of the sale.
// What was withdrawn or moved has no buyer.
func (b *books) held(place domain.Place, holds []ScannedHold, item uint8) {
	for _, h := range holds {
		if h.Buyer == "" || h.State != domain.HoldTaken {
			continue
		}
		o := b.order(h.ID)
		if o.counted == item {
			continue
		}
		o.counted, o.bucket = item, int16(place.Bucket)
		o.gate.held += int32(h.Quantity)
		o.mixed = o.mixed || (o.buyer != "" && o.buyer != h.Buyer)
		if o.buyer == "" {
			o.buyer = h.Buyer
		}
	}
}

// inGate tells whether the gate was seen to know of an order.
func (o *orderBook) inGate() bool { return o.listed || o.gate.letter != 0 || o.gate.held > 0 }

// suspect tells whether what the gate was seen to hold of an order may be wrong.
// What changed between the scan and the head of the log looks so too.
func (o *orderBook) suspect() bool {
	switch {
	case o.then.letter != 0:
		listed := o.listed || o.gate.letter == letterRefused
		return (o.gate != o.then && o.gate != o.now) || !listed || o.mixed
	case o.status.domain() == domain.OrderStatusRejected:
		return o.now.letter == 0 && (o.gate.held > 0 || o.gate.letter == letterAccepted || o.gate.letter == letterEnded)
	case o.status != 0:
		return false // recorded after the scan began
	}
	return o.gate.held > 0 || o.listed || o.gate.letter == letterAccepted || o.gate.letter == letterEnded
}
