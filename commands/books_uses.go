package commands

import "seckill/domain"

// strayUse is a key or ticket that names, in the record of a bucket, what is no order
// of that bucket.
type strayUse struct {
	place domain.Place
	use   ScannedUse
}

// used notes which orders the keys and tickets of a gate's record name.
func (b *books) used(place domain.Place, uses []ScannedUse) {
	for _, u := range uses {
		if foreign(u.Order, place) {
			b.strays = append(b.strays, strayUse{place, u})
			continue
		}
		o := b.order(u.Order)
		o.bucket = int16(place.Bucket)
		into, is := &o.gateKey, keyDigest(u.Name, u.Body)
		if u.Ticket {
			into, is = &o.gateTicket, keyDigest(u.Name, "")
		}
		if *into != 0 && *into != is {
			b.twice[u.Order] = true // a scan may give one twice, but not two of one order
		}
		*into = is
	}
}

// useSuspect tells whether the key or the ticket by which the gate was seen to know
// an order may be wrong. What changed between the scan and the head of the log looks
// so too.
func (o *orderBook) useSuspect() bool {
	return o.useOff(o.gateKey, o.key) || o.useOff(o.gateTicket, o.ticket)
}

func (o *orderBook) useOff(is, want uint64) bool {
	switch {
	case o.status == 0: // where the gate has the order itself, that is looked at
		return is != 0 && !o.inGate()
	case !o.placed:
		return false // the log does not tell the key of what it rejected
	case is == 0:
		return want != 0 && o.then.letter != 0
	}
	return is != want
}
