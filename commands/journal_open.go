package commands

import (
	"encoding/json"
	"errors"
	"fmt"

	"seckill/domain"
)

var errFrame = errors.New("the frame of a journal entry cannot be read")

// opened is an entry taken apart: purchases, or what else took units, nil for none.
type opened struct {
	purchases []accepted
	taken     taken
}

// openEntry takes an entry apart. A purchase that cannot be read is bad, and
// does not hide its neighbours; a frame that cannot be read is an error.
func openEntry(e JournalEntry) (opened, error) {
	body, err := DecodeEntry(e.Body)
	var future *FutureEntryError
	if errors.As(err, &future) {
		return opened{}, err
	}
	if err != nil {
		return opened{}, fmt.Errorf("lane %d, entry %s: %w: %w", e.Lane, e.ID, errFrame, err)
	}
	purchases := make([]accepted, len(body.Purchases))
	for i, raw := range body.Purchases {
		id := e.ID
		id.I = i + 1
		purchases[i] = openPurchase(raw, id, body)
	}
	withdrawals, err := openWithdrawals(body, e.ID)
	if err != nil {
		return opened{}, err
	}
	moves, err := openMoves(body, e.ID)
	if err != nil {
		return opened{}, err
	}
	all := append(withdrawals, moves...)
	if len(all) == 0 {
		return opened{purchases: purchases}, nil
	}
	if len(all)+len(purchases) > 1 {
		// No gate writes it, and what is in one entry is recorded in one transaction.
		return opened{}, fmt.Errorf("lane %d, entry %s: %w: %d withdrawals or moves beside %d purchases", e.Lane, e.ID, errFrame, len(all), len(purchases))
	}
	return opened{taken: all[0]}, nil
}

func openPurchase(raw json.RawMessage, id domain.EntryID, body *EntryBody) accepted {
	a := accepted{raw: raw, entry: id, at: body.At}
	var err error
	if a.Purchase, err = decodePurchase(raw); err == nil {
		a.terms, err = checkRead(a.Purchase, body)
		a.terms.LimitPerBuyer = max(a.terms.LimitPerBuyer, a.Limit)
	}
	if err != nil {
		a.spoil(err)
	}
	return a
}

// spoil marks a purchase as one that cannot be recorded.
func (a *accepted) spoil(why error) {
	a.bad = why
	a.clean()
}

// checkRead tells what of a purchase that was read the log could not hold.
func checkRead(p Purchase, body *EntryBody) (domain.Terms, error) {
	terms, ok := body.Terms[p.Sale]
	if !ok {
		return terms, fmt.Errorf("the entry carries no terms of sale %q", p.Sale)
	}
	if _, _, err := priced(p.Lines, terms); err != nil {
		return terms, err
	}
	if _, err := domain.ParseOrderID(p.Order); err != nil {
		return terms, fmt.Errorf("order id %q: %w", p.Order, err)
	}
	if _, err := domain.ParseSaleID(p.Sale); err != nil {
		return terms, fmt.Errorf("sale id %q: %w", p.Sale, err)
	}
	if !domain.ValidBuyer(p.Buyer) {
		return terms, fmt.Errorf("buyer id %q is none that may buy", p.Buyer)
	}
	for _, l := range p.Lines {
		if !domain.ValidSKU(l.SKU) {
			return terms, fmt.Errorf("SKU %q is none that may be on sale", l.SKU)
		}
	}
	return terms, nil
}
