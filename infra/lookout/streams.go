package lookout

import (
	"sync"

	"seckill/api"
)

// Streams hands frames to all who watch. The zero value lets nobody watch.
type Streams struct {
	// Most is how many may watch at once.
	Most int

	mu       sync.Mutex
	watching map[*watcher]struct{}
	number   uint64
}

type watcher struct {
	frames chan api.OverviewFrame
	of     *Streams
}

// Watch gives the frames from now on; ok is false where too many watch.
func (s *Streams) Watch() (w api.OverviewWatch, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.watching) >= s.Most {
		return nil, false
	}
	if s.watching == nil {
		s.watching = map[*watcher]struct{}{}
	}
	one := &watcher{frames: make(chan api.OverviewFrame, 1), of: s}
	s.watching[one] = struct{}{}
	return one, true
}

// Watching tells how many watch.
func (s *Streams) Watching() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.watching)
}

// Send gives text to everybody, in the place of what they have not taken. The text is
// shared.
func (s *Streams) Send(text []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.number++
	for w := range s.watching {
		select {
		case <-w.frames:
		default:
		}
		w.frames <- api.OverviewFrame{Number: s.number, JSON: text} // nobody else sends
	}
}

// Frames has the newest that was not taken.
func (w *watcher) Frames() <-chan api.OverviewFrame { return w.frames }

// End ends the watch.
func (w *watcher) End() {
	w.of.mu.Lock()
	defer w.of.mu.Unlock()
	delete(w.of.watching, w)
}
