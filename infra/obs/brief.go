package obs

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"
)

// Bounds of the warnings and errors that one message may write.
const (
	// briefLines is how many lines of a message are written in a second.
	briefLines = 10
	briefFor   = time.Second
	// maxMessages bounds the messages that are told apart. Messages are constants of
	// the program, so there are fewer.
	maxMessages = 512
)

// alarmKey is the field of lines that are never left out: what a person must look
// at.
const alarmKey = "alarm"

// leftOut is the message of the line that says how many lines are missing.
const leftOut = "more lines of this message were left out"

// brief is a handler that keeps a crowd from filling the disk: while a store is away
// every request has the same to say. Of each message at the levels warning and error
// it writes ten lines a second and counts the rest; the count follows as a line of
// its own, with the first record after that second, whatever it says.
type brief struct {
	slog.Handler
	state *briefState
}

// briefState is shared by all handlers that were derived from one.
type briefState struct {
	out slog.Handler // without anybody's fields

	mu       sync.Mutex
	messages map[briefKey]*briefCount
	next     time.Time // when the first second with something left out is over
}

type briefKey struct {
	level   slog.Level
	message string
}

// briefCount is what came of one message in one second.
type briefCount struct {
	began time.Time
	lines int // written
	left  int // not written
}

func newBrief(out slog.Handler) slog.Handler {
	return &brief{Handler: out, state: &briefState{out: out, messages: map[briefKey]*briefCount{}}}
}

// Handle writes a record, or counts it.
func (b *brief) Handle(ctx context.Context, r slog.Record) error {
	over, write := b.state.take(&r)
	for _, o := range over {
		if err := b.state.out.Handle(ctx, o); err != nil {
			return err
		}
	}
	if !write {
		return nil
	}
	return b.Handler.Handle(ctx, r)
}

// WithAttrs is slog.Handler's.
func (b *brief) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &brief{Handler: b.Handler.WithAttrs(attrs), state: b.state}
}

// WithGroup is slog.Handler's.
func (b *brief) WithGroup(name string) slog.Handler {
	return &brief{Handler: b.Handler.WithGroup(name), state: b.state}
}

// take gives the counts of seconds that are over, and whether to write r.
func (s *briefState) take(r *slog.Record) (over []slog.Record, write bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.next.IsZero() && !r.Time.Before(s.next) {
		over = s.sweep(r.Time, false)
	}
	if r.Level < slog.LevelWarn || isAlarm(r) {
		return over, true
	}
	key := briefKey{r.Level, r.Message}
	c := s.messages[key]
	if c == nil || r.Time.Sub(c.began).Abs() >= briefFor { // or the clock was set
		if c == nil && len(s.messages) >= maxMessages {
			over = append(over, s.sweep(r.Time, true)...)
		}
		c = &briefCount{began: r.Time}
		s.messages[key] = c
	}
	if c.lines < briefLines {
		c.lines++
		return over, true
	}
	c.left++
	if s.next.IsZero() {
		s.next = c.began.Add(briefFor)
	}
	return over, false
}

// sweep forgets the seconds that are over by now, or all, and gives a record for each
// that left something out.
func (s *briefState) sweep(now time.Time, all bool) (over []slog.Record) {
	s.next = time.Time{}
	keys := slices.SortedFunc(maps.Keys(s.messages), func(a, b briefKey) int {
		return s.messages[a].began.Compare(s.messages[b].began)
	})
	for _, key := range keys {
		c := s.messages[key]
		if ends := c.began.Add(briefFor); !all && now.Before(ends) {
			if c.left > 0 && s.next.IsZero() {
				s.next = ends
			}
			continue
		}
		delete(s.messages, key)
		if c.left > 0 {
			r := slog.NewRecord(now, key.level, leftOut, 0)
			r.AddAttrs(slog.String("message", key.message), slog.Int("lines", c.left), slog.Time("since", c.began))
			over = append(over, r)
		}
	}
	return over
}

func isAlarm(r *slog.Record) (found bool) {
	r.Attrs(func(a slog.Attr) bool {
		found = a.Key == alarmKey
		return !found
	})
	return found
}
