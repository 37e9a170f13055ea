package commands

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"seckill/domain"
	"seckill/eventstore"
)

// order settles an order that the gate alone knows: it is recorded by what the
// journal still says of it, or else by what the gate holds, judged like any other;
// and rejected where nothing is held for it. It never races a recorder: only an
// undecided order is touched, under the log lock, and only while the lane's cursor
// has passed its entry under the epoch in which it was looked at.
func (m *mend) order(ctx context.Context, f Finding) (string, error) {
	if _, err := domain.ParseOrderID(f.OrderID); err != nil {
		return "it is no order id of ours: find out who wrote it", errNotMended
	}
	a, err := m.acceptedOf(ctx, f)
	if err != nil {
		return "", err
	}
	note, err := m.saleEvent(m.repaired(f, f.Detail, "decided in the log"))
	if err != nil {
		return "", err
	}
	lane, entry := f.about.place.Lane(), f.about.entry
	records, err := submitPage(ctx, m.Env, m.Log, []accepted{a}, pageWork{lane: lane, note: &note, check: func(look eventstore.Look) error {
		at := look.Cursor(lane)
		if at.Epoch != f.about.epoch || (entry.Epoch == at.Epoch && entry.N > at.N) {
			return errEpochMoved
		}
		if isCleaned(look, note.Stream) {
			return errNotMended
		}
		return nil
	}})
	switch {
	case errors.Is(err, errNotMended):
		return "the sale is cleaned up", errNotMended
	case err != nil:
		return "", err
	case len(records) == 0:
		return "it was decided meanwhile", errNotMended
	}
	if err := m.Follow.Push(ctx, records); err != nil {
		m.Env.Log.Warn("order settled; the gate follows later", "order_id", f.OrderID, "error", err)
	}
	m.followSale(ctx)
	return m.settled(records), nil
}

// settled says what became of an order.
func (m *mend) settled(records []eventstore.Record) string {
	for i := range records {
		ev, err := decode(&records[i])
		if err != nil {
			continue
		}
		switch ev := ev.(type) {
		case *domain.OrderPlaced:
			return "the order is placed"
		case *domain.OrderRejected:
			return "the order is rejected: " + string(ev.Reason)
		}
	}
	return "its units went back"
}

// acceptedOf gives the purchase of an order as the journal carries it, or as the
// gate holds it.
func (m *mend) acceptedOf(ctx context.Context, f Finding) (accepted, error) {
	entry := f.about.entry
	e, ok, err := m.Journal.Entry(ctx, f.about.place.Lane(), domain.EntryID{Epoch: entry.Epoch, N: entry.N})
	if err != nil {
		return accepted{}, fmt.Errorf("read entry %s: %w", entry, err)
	}
	if ok {
		entered, err := openEntry(e)
		purchases := entered.purchases
		if err == nil && entry.I >= 1 && entry.I <= len(purchases) && purchases[entry.I-1].Order == f.OrderID {
			a := purchases[entry.I-1]
			a.by = m.actor.By
			return a, nil
		}
	}
	a := accepted{entry: entry, terms: m.sale.Judged(), at: m.Env.Now().UnixMicro(), by: m.actor.By, Purchase: Purchase{
		Order: f.OrderID, Buyer: f.BuyerID, Sale: m.sale.ID, Bucket: f.about.place.Bucket,
	}}
	for i, hold := range f.about.record.Holds {
		if hold.State == domain.HoldTaken {
			a.Lines = append(a.Lines, domain.Line{SKU: f.about.seen[i], Quantity: hold.Quantity})
		}
	}
	if len(a.Lines) > 0 {
		for _, u := range f.about.uses {
			if u.Ticket {
				a.Ticket = u.Name
			} else {
				a.Key, a.Body = u.Name, u.Body
			}
		}
		return a, nil
	}
	// A refusal gives back what is held, which is nothing: its quantity does not
	// matter. It tells the gate that the buyer may buy again.
	a.lost = f.Detail
	skus := f.about.record.Record.SKUs
	if len(skus) == 0 {
		skus = f.about.seen[:1]
	}
	for _, sku := range skus {
		a.Lines = append(a.Lines, domain.Line{SKU: sku, Quantity: 1})
	}
	return a, nil
}

// claims writes a buyer's claims from the orders in the log, in one group with its
// note, if neither has moved since they were read together.
func (m *mend) claims(ctx context.Context, f Finding) (string, error) {
	key := eventstore.ClaimKey{SaleID: m.sale.ID, BuyerID: f.BuyerID}
	orders := f.about.orders
	for range noteTries {
		account, err := readAccount(ctx, m.Log, key, orders)
		if err != nil {
			return "", err
		}
		outcome, err := m.writeClaims(ctx, f, account)
		switch {
		case errors.Is(err, errCursorMoved):
			continue
		case err != nil:
			return "", fmt.Errorf("write the claims of a buyer: %w", err)
		case outcome == eventstore.Nothing:
			return "it was mended meanwhile", errNotMended
		}
		m.followSale(ctx)
		return fmt.Sprintf("the buyer has %d claims, as many as orders were placed", len(account.orders)), nil
	}
	return "", errMoves
}

// writeClaims writes the claims of an account and takes away what is beyond them.
// Nothing: they stand so already. errCursorMoved: an order or a claim has moved.
func (m *mend) writeClaims(ctx context.Context, f Finding, a buyerAccount) (eventstore.Outcome, error) {
	needs := eventstore.Needs{Claims: []eventstore.ClaimKey{a.key}, Streams: []string{domain.SaleStream(m.sale.ID)}}
	for id := range a.versions {
		needs.Streams = append(needs.Streams, domain.OrderStream(id))
	}
	want := a.wanted()
	note, err := m.saleEvent(m.repaired(f, fmt.Sprintf("%d claims: %s", len(a.claims), f.Detail), fmt.Sprintf("%d claims", len(want))))
	if err != nil {
		return 0, err
	}
	receipt, err := m.Log.Submit(ctx, eventstore.Work{Needs: needs, Decide: func(look eventstore.Look) (*eventstore.Group, error) {
		now := look.Claims(a.key)
		if slices.Equal(now, want) || isCleaned(look, note.Stream) {
			return nil, nil
		}
		for id, version := range a.versions {
			if look.Stream(domain.OrderStream(id)).Version != version {
				return nil, errCursorMoved
			}
		}
		for _, c := range now {
			if _, known := a.versions[c.OrderID]; !known {
				return nil, errCursorMoved
			}
		}
		claims := slices.Clone(want)
		for _, c := range now {
			if c.Ordinal > len(want) {
				claims = append(claims, eventstore.Claim{SaleID: c.SaleID, BuyerID: c.BuyerID, Ordinal: c.Ordinal})
			}
		}
		return &eventstore.Group{Claims: claims, Appends: []eventstore.Append{note}}, nil
	}})
	return receipt.Outcome, err
}
