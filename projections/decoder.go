package projections

import (
	"sync"

	"seckill/domain"
	"seckill/eventstore"
)

// decoder reads each event of a shard once for all the projections that fold
// it: they get the same records at about the same time, from the bus or from the
// shared pages. Events are shared, and nobody changes them.
type decoder struct {
	mu sync.Mutex
	// held has events that somebody still waits for, by the first byte of their
	// payload; when it is full it becomes old, and what is older is forgotten.
	held, old map[*byte]shared
}

type shared struct {
	event domain.Event
	left  int // projections that have not had it yet
}

// decoderHolds bounds the events of a shard that are held, twice.
const decoderHolds = 1024

// decode gives the event of r, which readers projections fold.
func (d *decoder) decode(r *eventstore.Record, readers int) (domain.Event, error) {
	if readers < 2 || len(r.Payload) == 0 {
		return domain.Decode(r.Type, r.Schema, r.Payload)
	}
	key := &r.Payload[0]
	for _, m := range [...]map[*byte]shared{d.held, d.old} {
		if s, ok := m[key]; ok {
			if s.left--; s.left == 0 {
				delete(m, key)
			} else {
				m[key] = s
			}
			return s.event, nil
		}
	}
	event, err := domain.Decode(r.Type, r.Schema, r.Payload)
	if err != nil {
		return nil, err
	}
	if d.held == nil || len(d.held) >= decoderHolds {
		d.held, d.old = make(map[*byte]shared, decoderHolds), d.held
	}
	d.held[key] = shared{event: event, left: readers - 1}
	return event, nil
}
