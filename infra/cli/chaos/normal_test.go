package chaos

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	selectUndecided = `select count(*) from unnest($1::text[]) as o(id) where not exists (select from streams s where s.stream = 'order-' || o.id)`
	selectUnseen    = `select count(*) from unnest($1::text[]) as o(id) where not exists (select from order_view v where v.order_id = o.id)`
	selectRelayed   = `select coalesce(max(e.position), 0), coalesce((select min(position) from checkpoints where projection = 'relay'), 0) from events e`
)

// late is how old something must be to count as late.
const late = 2 * time.Second

// behind is what was late at a time: acknowledged orders without a record, events that are
// not published, acknowledged orders that the views do not show.
type behind struct {
	at                          time.Time
	recorded, published, viewed int
}

// watcher looks again and again at what is late.
type watcher struct {
	pool *pgxpool.Pool
	load *load

	mu    sync.Mutex
	heads []head   // of the log, over time
	seen  []behind // by every look that succeeded
	err   error    // of the last look
}

// head is where the log ended at a time.
type head struct {
	at       time.Time
	position int64
}

// look looks once.
func (w *watcher) look() {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	b := behind{at: time.Now()}
	var old []string
	for _, t := range w.load.answers() {
		if promised(t.word) && b.at.Sub(t.at) > late {
			old = append(old, t.order)
		}
	}
	var end, relayed int64
	err := errors.Join(
		w.pool.QueryRow(ctx, selectUndecided, old).Scan(&b.recorded),
		w.pool.QueryRow(ctx, selectUnseen, old).Scan(&b.viewed),
		w.pool.QueryRow(ctx, selectRelayed).Scan(&end, &relayed))
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err = err; err != nil {
		return
	}
	w.heads = append(w.heads, head{b.at, end})
	b.published = unpublished(w.heads, relayed)
	w.seen = append(w.seen, b)
}

// unpublished is how many events that were there a while ago are not published. heads end
// with now.
func unpublished(heads []head, relayed int64) int {
	now := heads[len(heads)-1]
	for _, h := range slices.Backward(heads) {
		if now.at.Sub(h.at) >= late {
			return int(max(0, h.position-relayed))
		}
	}
	return int(max(0, now.position-relayed)) // nothing older is known
}

// since gives what was seen by looks that began after from, and the error of the last.
func (w *watcher) since(from time.Time) ([]behind, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	first := slices.IndexFunc(w.seen, func(b behind) bool { return b.at.After(from) })
	if first < 0 {
		return nil, w.err
	}
	return slices.Clone(w.seen[first:]), w.err
}

func TestWhatIsPublishedLateIsCounted(t *testing.T) {
	at := time.Now()
	heads := []head{{at, 10}, {at.Add(time.Second), 20}, {at.Add(3 * time.Second), 50}}
	for relayed, want := range map[int64]int{50: 0, 20: 0, 15: 5, 0: 20} {
		if got := unpublished(heads, relayed); got != want {
			t.Errorf("published up to %d: %d are late, want %d", relayed, got, want)
		}
	}
	if got := unpublished(heads[:1], 4); got != 6 {
		t.Errorf("at the first look %d are late, want 6", got)
	}
}

// awaitNormal waits until buyers are served as before, and what they bought is recorded,
// published and seen within the usual time, and notes when each was. It gives when all was.
func (s *site) awaitNormal(w *watcher, mended time.Time, r *result) time.Time {
	s.t.Helper()
	r.BuyersMS, r.RecordedMS, r.PublishedMS, r.ViewedMS = -1, -1, -1, -1
	set := func(ms *int64, at time.Time, is bool) {
		if is && *ms < 0 {
			*ms = max(0, at.Sub(mended).Milliseconds())
		}
	}
	var last error
	for deadline := time.Now().Add(recovery); time.Now().Before(deadline); {
		began, ok := w.load.normal(mended)
		set(&r.BuyersMS, began, ok)
		var looks []behind
		looks, last = w.since(mended)
		for _, b := range looks { // mending may have taken long
			set(&r.RecordedMS, b.at, b.recorded == 0)
			set(&r.PublishedMS, b.at, b.published == 0)
			set(&r.ViewedMS, b.at, b.viewed == 0)
		}
		if min(r.BuyersMS, r.RecordedMS, r.PublishedMS, r.ViewedMS) >= 0 {
			r.NormalMS = max(r.BuyersMS, r.RecordedMS, r.PublishedMS, r.ViewedMS)
			return mended.Add(time.Duration(r.NormalMS) * time.Millisecond)
		}
		time.Sleep(50 * time.Millisecond) // between two looks
	}
	r.NormalMS = -1
	s.found("not all is as before %s after the end of the fault: buyers %d ms, recorded %d, published %d, in the views %d; %v",
		recovery, r.BuyersMS, r.RecordedMS, r.PublishedMS, r.ViewedMS, last)
	return time.Now()
}
