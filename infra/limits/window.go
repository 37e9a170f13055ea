package limits

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"time"
)

// Verdict is what a limit says of one attempt: it may pass, or after Wait another
// one may.
type Verdict struct {
	OK   bool
	Wait time.Duration
}

// Limiter counts attempts of buyers and says which of them pass.
type Limiter interface {
	Take(ctx context.Context, buyer string) Verdict
}

// MaxLimit is the highest limit per buyer: every attempt of it costs memory in
// every place.
const MaxLimit = 100

// Options of a window. Limit is required; zero values take the defaults.
type Options struct {
	// Limit is how many attempts of a buyer pass within Window, 1 to MaxLimit.
	Limit int
	// Window is the length of the window. Default 1 s.
	Window time.Duration
	// Capacity is how many buyers of one window are remembered, rounded up to a power
	// of two. Default 131,072.
	Capacity int
	// Now tells the time; default time.Now.
	Now func() time.Time
}

func (o Options) withDefaults() Options {
	if o.Window == 0 {
		o.Window = time.Second
	}
	if o.Capacity == 0 {
		o.Capacity = 1 << 17
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

// Validate reports everything that is wrong with the options.
func (o Options) Validate() error {
	var bad []error
	if o.Limit < 1 || o.Limit > MaxLimit {
		bad = append(bad, fmt.Errorf("limit %d: want 1 to %d", o.Limit, MaxLimit))
	}
	if o.Window < 0 || (o.Window > 0 && o.Window < time.Millisecond) || o.Window > time.Hour {
		bad = append(bad, fmt.Errorf("window %s: want 1ms to 1h", o.Window))
	}
	if o.Capacity < 0 || o.Capacity > 1<<24 {
		bad = append(bad, fmt.Errorf("capacity %d: want at most %d", o.Capacity, 1<<24))
	}
	return errors.Join(bad...)
}

// Window limits the buyers of one process. It is safe for concurrent use, holds
// no lock for longer than a look at one buyer, and allocates nothing.
type Window struct {
	opt    Options
	start  time.Time
	seed   maphash.Seed // of this process: nobody outside can aim at another's place
	places *places
}

// NewWindow makes a window, or says everything that is wrong with its options.
func NewWindow(o Options) (*Window, error) {
	if err := o.Validate(); err != nil {
		return nil, fmt.Errorf("make a limit: %w", err)
	}
	o = o.withDefaults()
	return &Window{opt: o, start: o.Now(), seed: maphash.MakeSeed(), places: newPlaces(o)}, nil
}

// Take counts an attempt. It asks nobody, so ctx does not matter.
func (w *Window) Take(_ context.Context, buyer string) Verdict {
	got := w.enter(buyer, w.opt.Limit)
	return Verdict{OK: got.wait == 0, Wait: micros(got.wait)}
}

// Forgotten is how many buyers lost their place while their window still ran.
func (w *Window) Forgotten() uint64 { return w.places.lost() }

// enter counts an attempt at this node. The first free ones of a window need no
// further judgement.
func (w *Window) enter(buyer string, free int) entered {
	return w.places.enter(w.hash(buyer), w.now(), free)
}

// leave says what the shared judgement of an attempt was: wait is 0 where it
// passed, else the time for which no other one can.
func (w *Window) leave(buyer string, stamp int64, wait time.Duration) {
	until := int64(0)
	if wait > 0 {
		until = w.now() + wait.Microseconds()
	}
	w.places.leave(w.hash(buyer), stamp, until)
}

// hash is never 0, which marks an empty place. Two buyers of one hash would share
// a limit; with 64 bits that does not happen by chance.
func (w *Window) hash(buyer string) uint64 { return maphash.String(w.seed, buyer) | 1<<63 }

// now is in µs, and beyond one window from the start, so that a stamp of 0 is over.
func (w *Window) now() int64 {
	return (w.opt.Now().Sub(w.start) + w.opt.Window).Microseconds() + 1
}

func micros(n int64) time.Duration { return time.Duration(n) * time.Microsecond }
