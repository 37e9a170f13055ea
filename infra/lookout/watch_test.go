package lookout

import (
	"context"
	"errors"
	"math"
	"runtime"
	"sync"
	"testing"
	"time"

	"seckill/infra/testenv"
)

func TestWhatCannotBeSeenIsUnknownSinceItWasSeenLast(t *testing.T) {
	c := testenv.NewClock(time.Unix(1000, 0))
	var failure error
	p := NewPart(Options{Now: c.Now, Every: time.Second, Budget: 2 * time.Second}, func(context.Context) (int, error) { return 7, failure })
	want := func(what string, value int, known bool, at int64) {
		t.Helper()
		if s := p.Seen(); s.Value != value || s.Known != known || s.At.Unix() != at {
			t.Errorf("%s: got %+v, want %d, %t, at %d", what, s, value, known, at)
		}
	}
	want("before the first look", 0, false, 1000)
	c.Move(time.Second)
	p.Look(t.Context())
	want("seen", 7, true, 1001)
	c.Move(4 * time.Second)
	want("a look is as late as it may be", 7, true, 1001)
	c.Move(time.Millisecond)
	want("a look is late", 0, false, 1001)
	p.Look(t.Context())
	want("seen again", 7, true, 1005)
	failure = errors.New("away")
	c.Move(time.Second)
	p.Look(t.Context())
	want("a look failed", 0, false, 1005)
	if s := p.Seen(); s.Why == nil {
		t.Error("nobody says why")
	}
}

func TestALookThatHangsIsEndedByItsBudget(t *testing.T) {
	p := NewPart(Options{Now: time.Now, Every: time.Millisecond, Budget: time.Millisecond}, func(ctx context.Context) (int, error) {
		<-ctx.Done()
		return 0, ctx.Err()
	})
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- p.Run(ctx) }()
	for p.Seen().Why == nil {
		runtime.Gosched()
	}
	stop()
	if err := <-done; err != nil {
		t.Errorf("got %v", err)
	}
}

func TestGrowthIsThatOfTheWindow(t *testing.T) {
	s := NewSeries(10 * time.Second)
	at := time.Unix(1000, 0)
	if _, ok := s.PerSecond(); ok {
		t.Error("growth of nothing is known")
	}
	for i := range 30 { // 100 a second, then nothing for five
		s.Add(at.Add(time.Duration(i)*time.Second), float64(min(i, 24)*100), 1)
		if i == 1 {
			if _, ok := s.PerSecond(); ok {
				t.Error("growth is told from one second")
			}
		}
	}
	rates, ok := s.PerSecond()
	if !ok || math.Abs(rates[0]-50) > 1e-9 || rates[1] != 0 {
		t.Errorf("got %v %t, want 50 a second and 0", rates, ok)
	}
	if by, over := s.Grown(); over != 10*time.Second || by[0] != 500 {
		t.Errorf("got %v over %s", by, over)
	}
	s.Add(at.Add(time.Minute), 0, 0)
	if rates, ok := s.PerSecond(); ok {
		t.Errorf("growth over a gap is told: %v", rates)
	}
}

func TestWatchersAreBoundedAndTheSlowOneMissesFrames(t *testing.T) {
	s := &Streams{Most: 2}
	fast, ok1 := s.Watch()
	slow, ok2 := s.Watch()
	if _, ok := s.Watch(); ok || !ok1 || !ok2 {
		t.Fatalf("got %t %t %t, want two to watch", ok1, ok2, ok)
	}
	for i := range 3 {
		s.Send([]byte{byte('a' + i)})
		if f := <-fast.Frames(); f.Number != uint64(i+1) || f.JSON[0] != byte('a'+i) {
			t.Errorf("got %d %s", f.Number, f.JSON)
		}
	}
	if f := <-slow.Frames(); f.Number != 3 {
		t.Errorf("the slow one got %d, want the newest", f.Number)
	}
	slow.End()
	slow.End()
	if s.Watching() != 1 {
		t.Errorf("%d watch, want 1", s.Watching())
	}
	if _, ok := s.Watch(); !ok {
		t.Error("there is no room after one left")
	}
}

func TestWatchersComeAndGoWhileFramesAreSent(t *testing.T) {
	s := &Streams{Most: 4}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 100 {
				if w, ok := s.Watch(); ok {
					select {
					case <-w.Frames():
					default:
					}
					w.End()
				}
			}
		})
	}
	for range 1000 {
		s.Send(nil)
	}
	all.Wait()
	if s.Watching() != 0 {
		t.Errorf("%d watch still", s.Watching())
	}
}

func TestPausesOfTheCollectorAreSeen(t *testing.T) {
	before := LookAtProcess()
	if p99, longest := GCPauses(before, before); p99 != 0 || longest != 0 {
		t.Errorf("got %s and %s between a look and itself", p99, longest)
	}
	runtime.GC()
	after := LookAtProcess()
	p99, longest := GCPauses(before, after)
	if after.GCs <= before.GCs || p99 <= 0 || longest < p99 || after.Heap == 0 || after.HeapGoal == 0 || after.Goroutines == 0 {
		t.Errorf("got %s, %s and %+v after a collection", p99, longest, after)
	}
}
