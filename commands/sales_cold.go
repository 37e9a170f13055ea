package commands

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"seckill/domain"
	"seckill/eventstore"
)

// cold gives a sale that is not remembered. Many who ask for one id share one
// question. Ids made up by the million cost ColdReads questions a second, and one
// list: whoever comes beyond them is answered by that.
func (s *Sales) cold(ctx context.Context, id string) (FoldedSale, error) {
	id = strings.Clone(id) // what is remembered must not keep the request that it was cut from
	question, found, miss := s.question(id)
	switch {
	case miss:
		return FoldedSale{}, errNoSale()
	case found != nil: // a moment ago
		sale, _ := found.look(heard{}, s.now())
		return sale, nil
	case question == nil:
		exists, err := s.listed(ctx, id)
		if err != nil {
			return FoldedSale{}, err
		}
		if !exists {
			return FoldedSale{}, errNoSale()
		}
		question = s.ask(id)
	}
	return question.get(ctx, s.now, s.opts.Fresh, func(ctx context.Context) (FoldedSale, error) {
		defer s.asked(id)
		return s.load(ctx, id)
	})
}

// question gives what to ask for an id, nil where no more may be asked in this
// second; or the sale, where it was found meanwhile; or miss, where the id is known
// to be of no sale.
func (s *Sales) question(id string) (question *shared[FoldedSale], found *cachedSale, miss bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	if missed, ok := s.unknown[id]; ok && now.Sub(missed) < s.opts.UnknownFor {
		return nil, nil, true
	}
	if found := s.known[id]; found != nil {
		return nil, found, false
	}
	if question, ok := s.loading[id]; ok {
		return question, nil, false
	}
	if now.Sub(s.window) >= time.Second {
		s.window, s.spent = now, 0
	}
	if s.spent >= s.opts.ColdReads {
		return nil, nil, false
	}
	s.spent++
	question = &shared[FoldedSale]{}
	s.loading[id] = question
	return question, nil, false
}

// ask gives the question for an id, whatever was asked already.
func (s *Sales) ask(id string) *shared[FoldedSale] {
	s.mu.Lock()
	defer s.mu.Unlock()
	question, ok := s.loading[id]
	if !ok {
		question = &shared[FoldedSale]{}
		s.loading[id] = question
	}
	return question
}

// asked ends the question for an id.
func (s *Sales) asked(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.loading, id)
}

// load reads a sale for the first time.
func (s *Sales) load(ctx context.Context, id string) (FoldedSale, error) {
	sale, err := s.Fold(ctx, id)
	var unknown *domain.Problem
	switch {
	case err == nil:
		return sale, nil
	case errors.As(err, &unknown):
		s.forget(id)
	case ctx.Err() != nil:
		err = fmt.Errorf("%w: %w", eventstore.ErrUnavailable, err)
	}
	return FoldedSale{}, err
}

// listed tells whether a list of all sales, a little old, has an id.
func (s *Sales) listed(ctx context.Context, id string) (bool, error) {
	ids, err := s.ids.get(ctx, s.now, s.opts.ListFresh, func(ctx context.Context) (map[string]bool, error) {
		all, err := s.IDs(ctx)
		ids := make(map[string]bool, len(all))
		for _, id := range all {
			ids[id] = true
		}
		return ids, err
	})
	return ids[id], err
}

// Recent is List, asked once for many, and at most Fresh old. What was scheduled
// through this process is always in it.
func (s *Sales) Recent(ctx context.Context) ([]FoldedSale, error) {
	return s.recent.get(ctx, s.now, s.opts.Fresh, s.List)
}

// Heard takes in what this process has stored, so that it knows what became of a
// sale before whoever changed it is answered. Other records are passed over.
func (s *Sales) Heard(records []eventstore.Record) {
	for i := range records {
		if id, ok := strings.CutPrefix(records[i].Stream, domain.SaleStream("")); ok {
			s.hear(id, &records[i])
		}
	}
}

func (s *Sales) hear(id string, r *eventstore.Record) {
	ev, err := decode(r)
	s.recent.forget()
	s.mu.Lock()
	c := s.known[id]
	s.news.changes.Add(1)
	if s.news.listed != nil {
		s.news.listed[id] = true
	}
	if c == nil {
		delete(s.unknown, id)
		if r.Version == 1 {
			s.ids.forget()
		}
		s.mu.Unlock()
		return // whoever asks for it reads it
	}
	s.mu.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case r.Version <= c.sale.Version:
	case err == nil && r.Version == c.sale.Version+1:
		now := s.now()
		c.sale = c.sale.with(ev, r)
		c.sale.SeenAt, c.checked = now, now
	default: // not the next one: whoever asks for it reads it
		c.checked, c.era = time.Time{}, 0
	}
}
