package obs

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"
)

// diary is a log whose clock the test moves.
type diary struct {
	t   *testing.T
	out bytes.Buffer
	log slog.Handler
	now time.Time
}

func newDiary(t *testing.T) *diary {
	d := &diary{t: t, now: time.Date(2026, 11, 11, 0, 0, 0, 0, time.UTC)}
	d.log = NewLogger(&d.out, slog.LevelInfo).Handler()
	return d
}

func (d *diary) say(level slog.Level, message string, attrs ...slog.Attr) {
	d.t.Helper()
	r := slog.NewRecord(d.now, level, message, 0)
	r.AddAttrs(attrs...)
	if err := d.log.Handle(context.Background(), r); err != nil {
		d.t.Fatal(err)
	}
}

// lines gives what was written, and empties it.
func (d *diary) lines() (all []map[string]any) {
	d.t.Helper()
	for line := range strings.Lines(d.out.String()) {
		var fields map[string]any
		if err := json.Unmarshal([]byte(line), &fields); err != nil {
			d.t.Fatalf("not one JSON object: %v in %q", err, line)
		}
		all = append(all, fields)
	}
	d.out.Reset()
	return all
}

func TestACrowdOfEqualWarningsIsTenLinesASecondAndACount(t *testing.T) {
	d := newDiary(t)
	for i := range 1000 {
		d.say(slog.LevelWarn, "gate did not answer", slog.Int("i", i))
	}
	if got := d.lines(); len(got) != briefLines || got[9]["i"] != 9.0 {
		t.Fatalf("got %d lines, want the first %d", len(got), briefLines)
	}
	d.now = d.now.Add(briefFor)
	d.say(slog.LevelInfo, "something else")
	got := d.lines()
	if len(got) != 2 || got[0]["msg"] != leftOut || got[0]["level"] != "WARN" || got[0]["message"] != "gate did not answer" || got[0]["lines"] != 990.0 {
		t.Fatalf("got %v, want first that 990 lines were left out", got)
	}
	d.say(slog.LevelWarn, "gate did not answer")
	if got := d.lines(); len(got) != 1 {
		t.Errorf("in the next second: got %d lines, want one", len(got))
	}
}

func TestNothingIsLeftOutThatIsNoCrowd(t *testing.T) {
	d := newDiary(t)
	for i := range 100 {
		d.say(slog.LevelInfo, "purchase accepted")
		d.say(slog.LevelError, "purchase rejected as poison", slog.String(alarmKey, "poison"))
		d.say(slog.LevelError, fmt.Sprintf("fault %d", i))
		d.say(slog.LevelWarn, "breaker changed")
		d.now = d.now.Add(briefFor / briefLines)
	}
	if got := d.lines(); len(got) != 400 {
		t.Errorf("got %d lines of 400", len(got))
	}
}

func TestLoggersWithFieldsShareTheCount(t *testing.T) {
	d := newDiary(t)
	plain := d.log
	for i := range 20 {
		d.log = plain.WithAttrs([]slog.Attr{slog.Int("worker", i)}).WithGroup("g")
		d.say(slog.LevelError, "request failed")
	}
	if got := d.lines(); len(got) != briefLines || got[3]["worker"] != 3.0 {
		t.Errorf("got %v, want %d lines with their own fields", got, briefLines)
	}
}

func TestNoCountIsLostHoweverManyMessagesAndWritersThereAre(t *testing.T) {
	var out safeBuffer
	log := NewLogger(&out, slog.LevelInfo)
	var all sync.WaitGroup
	const writers, each, messages = 8, 5_000, 3 * maxMessages
	for w := range writers {
		all.Go(func() {
			for i := range each {
				log.Warn(fmt.Sprintf("message %d", (i*7+w)%messages))
			}
		})
	}
	all.Wait()
	handler, ok := log.Handler().(*brief)
	if !ok {
		t.Fatal("not the handler that leaves out")
	}
	for _, r := range handler.state.sweep(time.Now(), true) {
		if err := handler.Handler.Handle(context.Background(), r); err != nil {
			t.Fatal(err)
		}
	}
	seen := 0
	for line := range strings.Lines(out.buf.String()) {
		var fields struct {
			Msg   string
			Lines int
		}
		if err := json.Unmarshal([]byte(line), &fields); err != nil {
			t.Fatal(err)
		}
		if fields.Msg == leftOut {
			seen += fields.Lines
		} else {
			seen++
		}
	}
	if seen != writers*each {
		t.Errorf("%d of %d records were written or counted", seen, writers*each)
	}
	if n := len(handler.state.messages); n > maxMessages {
		t.Errorf("%d messages are remembered", n)
	}
}

// safeBuffer is written by many.
type safeBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}
