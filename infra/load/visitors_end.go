package load

import "time"

// Won is an order that a visitor was told of. Decided: its buyer saw it placed or
// rejected.
type Won struct {
	Buyer   int32
	Order   string
	Decided bool
}

// Won gives each order that was told, with its buyer, once, and when the last of them
// was first told, after the start.
func (v *Visitors) Won() (all []Won, last time.Duration) {
	type id struct {
		buyer int32
		order string
	}
	at, first := map[id]int{}, map[id]time.Duration{}
	for i := range v.at {
		who := &v.at[i]
		if who.order == "" {
			continue
		}
		w := id{v.Visits[i].Buyer, who.order}
		n, had := at[w]
		if !had {
			n = len(all)
			at[w], first[w] = n, who.won
			all = append(all, Won{Buyer: w.buyer, Order: w.order})
		}
		all[n].Decided = all[n].Decided || who.decided
		first[w] = min(first[w], who.won)
	}
	for _, when := range first {
		last = max(last, when)
	}
	return all, last
}

// Told counts the visitors whose last answer was this, by the number of the item.
func (v *Visitors) Told(verdict string) map[int32]int {
	n := map[int32]int{}
	for i := range v.at {
		if v.at[i].verdict == verdict {
			n[v.Visits[i].SKU]++
		}
	}
	return n
}

// unserved are the codes of buyers who were neither accepted nor refused for a reason
// that the sale or their request has; so are those who got no answer of the API.
var unserved = map[string]bool{"busy": true, "not_ready": true}

// AsExpected is the share of the answers to purchases, each try for itself, that were a
// unit, the own order, or a no with a reason: not busy, not ready, a fault, or none. It
// is what an installation's own success rate is of; 0 where there were no purchases.
func (a *Account) AsExpected() float64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	k := a.kinds[KindPurchase]
	if k == nil || k.Sent == 0 {
		return 0
	}
	failed := k.Failed + k.Waited
	for outcome, count := range k.Outcomes {
		if unserved[outcome] {
			failed += count
		}
	}
	return 1 - float64(failed)/float64(k.Sent)
}
