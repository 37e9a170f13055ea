package limits

import (
	"context"
	"crypto/rand"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Shared limits buyers over all nodes that share a store. It is safe for
// concurrent use.
type Shared struct {
	local    *Window
	store    *Store
	endpoint string
	free     int
	node     string // this limiter among all that share the store
}

// NewShared shares the limit of a window under the name of an endpoint. The first
// free attempts of a buyer's window at this node pass without asking the store,
// and are told to it with the next one; 0 asks always.
func NewShared(local *Window, store *Store, endpoint string, free int) (*Shared, error) {
	if free < 0 || free >= local.opt.Limit || endpoint == "" {
		return nil, fmt.Errorf("share a limit: %d free attempts at %q: want a name, and less than the limit of %d", free, endpoint, local.opt.Limit)
	}
	return &Shared{local: local, store: store, endpoint: endpoint, free: free, node: strings.ToLower(rand.Text()[:10])}, nil
}

// Take counts an attempt. What this node can refuse for sure it refuses alone;
// where the store is away it lets pass what its own window does.
func (s *Shared) Take(ctx context.Context, buyer string) Verdict {
	got := s.local.enter(buyer, s.free)
	if got.wait > 0 || !got.ask {
		return Verdict{OK: got.wait == 0, Wait: micros(got.wait)}
	}
	wait := s.store.judge(ctx, s.ask(buyer, got))
	s.local.leave(buyer, got.stamp, max(wait, 0))
	return Verdict{OK: wait <= 0, Wait: max(wait, 0)}
}

func (s *Shared) ask(buyer string, got entered) *ask {
	a := &ask{
		key: s.endpoint + ":" + buyer, id: s.id(got.stamp), limit: s.local.opt.Limit,
		window: s.local.opt.Window, answer: make(chan time.Duration, 1),
	}
	for _, stamp := range got.sure {
		a.reports = append(a.reports, report{id: s.id(stamp), age: max(got.now-stamp, 0)})
	}
	return a
}

// id names an attempt: a buyer has no two of one stamp at a node.
func (s *Shared) id(stamp int64) string { return s.node + strconv.FormatInt(stamp, 36) }
