package projections

import (
	"context"
	"fmt"
	"sync"

	"seckill/eventstore"
)

// Log is the part of an event store that projections read.
type Log interface {
	ReadAll(ctx context.Context, after int64, max int) ([]eventstore.Record, error)
	Head(ctx context.Context) (eventstore.Mark, error)
}

// pages reads the log once for many runners that are at about the same place.
// Positions are dense, so page k is always the records k*size+1 to (k+1)*size.
// It keeps the pages used last; what it gives is shared and never changed.
type pages struct {
	log  Log
	size int64
	keep int

	mu   sync.Mutex
	held map[int64]*page
	used int64 // counts uses, to find the page that was not used for longest
}

type page struct {
	mu      sync.Mutex
	records []eventstore.Record
	used    int64 // guarded by pages.mu
}

func newPages(log Log, size, keep int) *pages {
	return &pages{log: log, size: int64(size), keep: keep, held: map[int64]*page{}}
}

// after gives records that follow position, at least one unless the log ends there.
func (p *pages) after(ctx context.Context, position int64) ([]eventstore.Record, error) {
	number := position / p.size
	first := number * p.size
	held := p.page(number)
	held.mu.Lock()
	defer held.mu.Unlock()
	have := int64(len(held.records))
	if first+have <= position && have < p.size {
		more, err := p.log.ReadAll(ctx, first+have, int(p.size-have))
		if err != nil && have == 0 && position > first {
			// The beginning of the page may be archived. What follows the position is
			// read for this one runner and not kept.
			if rest, err := p.log.ReadAll(ctx, position, int(first+p.size-position)); err == nil {
				return rest, nil
			}
		}
		if err != nil {
			return nil, fmt.Errorf("read the log after %d: %w", first+have, err)
		}
		for i := range more {
			if want := first + have + int64(i) + 1; more[i].Position != want {
				return nil, fmt.Errorf("read the log: position %d is missing: %w", want, eventstore.ErrLogChanged)
			}
		}
		if have > 0 && len(more) > 0 {
			// What is held may be of a log that went back since.
			if err := eventstore.CheckNext(held.records[have-1].Head(), &more[0]); err != nil {
				return nil, err
			}
		}
		// Readers hold the old slice; appending may only write behind its end.
		held.records = append(held.records, more...)
	}
	if position-first >= int64(len(held.records)) {
		return nil, nil
	}
	return held.records[position-first : len(held.records) : len(held.records)], nil
}

// page finds or makes a page, and lets go of the one unused for longest.
func (p *pages) page(number int64) *page {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.used++
	pg, ok := p.held[number]
	if !ok {
		if len(p.held) >= p.keep {
			p.drop()
		}
		pg = &page{}
		p.held[number] = pg
	}
	pg.used = p.used
	return pg
}

func (p *pages) drop() {
	oldest, at := int64(-1), p.used
	for number, pg := range p.held {
		if pg.used < at {
			oldest, at = number, pg.used
		}
	}
	delete(p.held, oldest)
}

// forget lets go of everything, where the log may have changed.
func (p *pages) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	clear(p.held)
}
