package commands

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"seckill/domain"
	"seckill/eventstore"
)

// SaleNews tells what was appended to the streams of sales: part of an
// eventstore.Reader.
type SaleNews interface {
	Head(ctx context.Context) (eventstore.Mark, error)
	At(ctx context.Context, position int64) (r eventstore.Record, ok bool, err error)
	Find(ctx context.Context, f eventstore.Filter, after int64, max int) ([]eventstore.Record, error)
}

// saleNews is how far this directory has heard of all sales at once. A sale follows it
// in an era if everything that happened to it up to the mark is in its fold; when the
// log went back, or so much came that it is not read through, another era begins, and
// each sale is read once by itself before it follows again.
type saleNews struct {
	asking  chan struct{} // holds one while somebody asks
	changes atomic.Int64

	// Guarded by Sales.mu.
	heard    heard
	mark     eventstore.Mark // position and hash
	moves    int             // how often it was asked
	underway bool

	listed  map[string]bool // every sale of the era listEra
	order   []string        // the same, sorted, where it has as many
	listEra int
	list    []FoldedSale // of listed, as of listAt changes
	listAt  int64
}

// heard is the era of the news, when they were asked for last, since when the log is
// known to say nothing else, and whether it did not answer then.
type heard struct {
	era         int
	asked, seen time.Time
	away        bool
}

// place is how far the news were when somebody began to read a sale.
type place struct{ era, moves int }

func (s *Sales) place() place {
	s.mu.Lock()
	defer s.mu.Unlock()
	return place{s.news.heard.era, s.news.moves}
}

// follow notes that a sale was read after a place: it follows the news if they have
// not gone on meanwhile.
func (s *Sales) follow(c *cachedSale, before place) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if before != (place{s.news.heard.era, s.news.moves}) || s.news.underway {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.era = before.era
}

func (c *cachedSale) follows(h heard) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return h.era > 0 && c.era == h.era
}

// keepUp asks for news unless that was done a moment ago, and gives how far they are.
// One caller asks; the others wait for him only where what they have is stale, and
// within the budget: then the log counts as away.
func (s *Sales) keepUp(ctx context.Context, age time.Duration) heard {
	select {
	case s.news.asking <- struct{}{}:
	default:
		h := s.heardNow()
		if age < s.opts.Stale || h.away {
			return h
		}
		patience := time.NewTimer(s.opts.Budget)
		defer patience.Stop()
		select {
		case s.news.asking <- struct{}{}:
		case <-patience.C:
			return heard{away: true}
		case <-ctx.Done():
			return heard{away: true}
		}
	}
	defer func() { <-s.news.asking }()
	if h := s.heardNow(); (h.era > 0 || h.away) && s.now().Sub(h.asked) < s.opts.Fresh {
		return h
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.opts.Budget)
	defer cancel()
	_ = s.hearMore(ctx) // while the log is away everybody uses what is there
	return s.heardNow()
}

func (s *Sales) heardNow() heard {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.news.heard
}

// hearNow asks for what is new, whenever that was done last.
func (s *Sales) hearNow(ctx context.Context) error {
	select {
	case s.news.asking <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-s.news.asking }()
	return s.hearMore(ctx)
}

// newsMost bounds how much of the log is looked through for news; newsPage is how many
// of them are read at once.
const (
	newsMost = 100_000
	newsPage = 500
)

// hearMore brings every sale that follows to the head of the log. The caller holds
// asking.
func (s *Sales) hearMore(ctx context.Context) error {
	s.mu.Lock()
	s.news.underway = true
	from := s.news.mark
	s.mu.Unlock()
	began := s.now()
	head, whole, err := s.hearFrom(ctx, from)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.news.underway = false
	s.news.moves++
	s.news.heard.asked = s.now()
	s.news.heard.away = err != nil && (errors.Is(err, eventstore.ErrUnavailable) || ctx.Err() != nil)
	if err != nil {
		return err
	}
	if !whole {
		s.news.heard.era++
	}
	s.news.mark, s.news.heard.seen = head, began
	return nil
}

// hearFrom takes in what came after a place, and gives the head. whole is false where
// something may be missing.
func (s *Sales) hearFrom(ctx context.Context, from eventstore.Mark) (head eventstore.Mark, whole bool, err error) {
	news := s.opts.News
	head, err = news.Head(ctx)
	switch {
	case err != nil:
		return head, false, fmt.Errorf("read the head of the log: %w", err)
	case head == from:
		return head, true, nil
	case from.Number == 0, head.Number-from.Number > newsMost:
		return head, false, nil
	}
	r, ok, err := news.At(ctx, from.Number)
	if err != nil {
		return head, false, fmt.Errorf("read the log at %d: %w", from.Number, err)
	}
	if !ok || r.Hash != from.Hash || head.Number < from.Number {
		return head, false, nil // it went back
	}
	filter := eventstore.Filter{Prefix: domain.SaleStream(""), To: head.Number}
	for after := from.Number; ; {
		page, err := news.Find(ctx, filter, after, newsPage)
		if err != nil {
			return head, false, fmt.Errorf("read what happened to sales after %d: %w", after, err)
		}
		s.take(page)
		if len(page) < newsPage {
			return head, true, nil
		}
		after = page[len(page)-1].Position
	}
}

// take takes in what is new of sales. A sale that begins here follows from now on.
func (s *Sales) take(page []eventstore.Record) {
	for i := range page {
		r := &page[i]
		id := strings.TrimPrefix(r.Stream, domain.SaleStream(""))
		if ev, err := decode(r); err == nil && r.Version == 1 {
			sale := FoldedSale{Sale: domain.Sale{ID: id}}.with(ev, r)
			sale.SeenAt = s.now()
			s.begin(id, sale)
		}
		s.hear(id, r)
	}
}

// begin remembers a sale by its first event, unless it is remembered.
func (s *Sales) begin(id string, sale FoldedSale) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known[id] == nil {
		s.known[id] = &cachedSale{sale: sale, checked: s.now(), era: s.news.heard.era}
	}
}

// remembered gives the list of all sales in the order of their ids, and the ids of
// those that must be read first. ok is false where nobody knows which sales there are.
func (s *Sales) remembered() (list []FoldedSale, missing []string, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := &s.news
	if n.listed == nil || n.listEra != n.heard.era {
		return nil, nil, false
	}
	changes := n.changes.Load()
	if n.list != nil && n.listAt == changes {
		return n.list, nil, true
	}
	list = make([]FoldedSale, 0, len(n.listed))
	if len(n.order) != len(n.listed) {
		n.order = slices.Sorted(maps.Keys(n.listed))
	}
	for _, id := range n.order {
		sale, follows := s.known[id].standing(n.heard.era)
		if !follows {
			missing = append(missing, id)
			continue
		}
		list = append(list, sale)
	}
	if len(missing) == 0 {
		n.list, n.listAt = list, changes
	}
	return list, missing, true
}

// standing gives a sale, if it is known and follows the news of an era.
func (c *cachedSale) standing(era int) (sale FoldedSale, follows bool) {
	if c == nil {
		return sale, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sale, c.era == era
}

func sortSales(list []FoldedSale) {
	slices.SortFunc(list, func(a, b FoldedSale) int { return strings.Compare(a.ID, b.ID) })
}

// keepList remembers that these are all sales, each read after a place.
func (s *Sales) keepList(before place, ids []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := &s.news
	if before != (place{n.heard.era, n.moves}) || n.underway {
		return
	}
	n.listed, n.order, n.listEra, n.list = make(map[string]bool, len(ids)), nil, before.era, nil
	for _, id := range ids {
		n.listed[id] = true
		if c := s.known[id]; c != nil {
			c.mu.Lock()
			c.era = before.era
			c.mu.Unlock()
		}
	}
}
