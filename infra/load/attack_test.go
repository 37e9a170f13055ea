package load

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// serve starts a server and gives its host and port.
func serve(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://")
}

// get is an attack of n arrivals at once that counts statuses.
func get(addr string, n int) Attack {
	return Attack{
		Addr: addr, Arrivals: make([]time.Duration, n),
		Build: func(dst []byte, i int) []byte {
			return fmt.Appendf(dst, "GET /%d HTTP/1.1\r\nHost: x\r\n\r\n", i)
		},
		Judge: func(_ int, a Answer) Next {
			if a.Err != nil {
				return Next{Outcome: fault(a.Err), Failed: true}
			}
			return Next{Outcome: fmt.Sprint(a.Status), OK: a.Status == http.StatusOK}
		},
	}
}

func run(t *testing.T, a Attack) *Measurement {
	t.Helper()
	r, err := Start(t.Context(), a, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return r.Wait()
}

func TestWaitingForAFreeConnectionCountsIntoTheLatency(t *testing.T) {
	const answerTakes = 40 * time.Millisecond
	addr := serve(t, func(w http.ResponseWriter, _ *http.Request) { time.Sleep(answerTakes) })
	a := get(addr, 5)
	a.Conns = 1
	m := run(t, a)
	if m.OK != 5 {
		t.Fatalf("got %d good answers of 5: %v", m.OK, m.Outcomes)
	}
	if got, want := m.Latency(100), 5*answerTakes; got < want {
		t.Errorf("the last of five on one connection took %s, want at least %s", got, want)
	}
	if m.Late == 0 || m.MaxQueued < 4*answerTakes {
		t.Errorf("late %d, longest queue %s: want the waiting reported", m.Late, m.MaxQueued)
	}
}

// A generator that waits for the slow answer before it sends the next request would
// see one slow request here.
func TestAStallCountsForEverybodyWhoWasToArriveInIt(t *testing.T) {
	const stall, every, n = 200 * time.Millisecond, time.Millisecond, 300
	addr := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/0" {
			time.Sleep(stall)
		}
	})
	a := get(addr, n)
	a.Conns = 1
	for i := range a.Arrivals {
		a.Arrivals[i] = time.Duration(i) * every
	}
	m := run(t, a)
	if m.OK != n {
		t.Fatalf("got %d good answers of %d: %v", m.OK, n, m.Outcomes)
	}
	for i, s := range m.Sights {
		if least := stall - a.Arrivals[i]; s.Latency < least {
			t.Fatalf("arrival %d came %s into a stall of %s and took %s", i, a.Arrivals[i], stall, s.Latency)
		}
	}
	if got, want := m.Latency(50), stall/4; got < want {
		t.Errorf("half of them stayed within %s, want at least %s", got, want)
	}
}

func TestArrivalsDoNotWaitForAnswers(t *testing.T) {
	release := make(chan struct{})
	var seen atomic.Int64
	addr := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		if seen.Add(1) == 20 {
			close(release)
		}
		<-release // nobody is answered before all twenty are here
	})
	if m := run(t, get(addr, 20)); m.OK != 20 {
		t.Fatalf("got %v, want 20 good answers", m.Outcomes)
	}
}

func TestAnAnswerThatSaysComeAgainIsAskedAgainAndCountedOnce(t *testing.T) {
	var asked atomic.Int64
	addr := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		if asked.Add(1) <= 3 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	a := get(addr, 1)
	a.Judge = func(_ int, ans Answer) Next {
		if ans.Status == http.StatusServiceUnavailable {
			return Next{Again: 20 * time.Millisecond}
		}
		return Next{Outcome: "ok", OK: true}
	}
	m := run(t, a)
	if m.OK != 1 || m.Retries != 3 || m.Sights[0].Tries != 4 {
		t.Errorf("got %d good answers, %d retries, %d tries; want 1, 3, 4", m.OK, m.Retries, m.Sights[0].Tries)
	}
	if m.Latency(100) < 60*time.Millisecond {
		t.Errorf("latency %s leaves out the pauses between the tries", m.Latency(100))
	}
}

func TestAServerThatHangsUpIsAFaultAndTheNextArrivalDialsAgain(t *testing.T) {
	addr := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/1" {
			raw, _, err := w.(http.Hijacker).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			raw.Close()
		}
	})
	a := get(addr, 3)
	a.Conns = 1
	m := run(t, a)
	if m.OK != 2 || m.Failed != 1 {
		t.Errorf("got %d good and %d failed, want 2 and 1: %v", m.OK, m.Failed, m.Outcomes)
	}
}

func TestNobodyListeningIsAFaultForEachArrival(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	m := run(t, get(addr, 4))
	if m.Failed != 4 || m.Outcomes["connection: dial"] != 4 {
		t.Errorf("got %v, want 4 faults of dialling", m.Outcomes)
	}
}

func TestAnswersOfEveryFramingAreRead(t *testing.T) {
	addr := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/0": // chunked
			for range 3 {
				io.WriteString(w, strings.Repeat("x", 3000))
				w.(http.Flusher).Flush()
			}
		case "/1":
			w.WriteHeader(http.StatusNoContent)
		case "/2":
			w.Header().Set("Connection", "close")
			io.WriteString(w, "bye")
		default:
			io.WriteString(w, "hello")
		}
	})
	a := get(addr, 4)
	a.Conns = 1
	lengths := make([]int, 4)
	a.Judge = func(i int, ans Answer) Next {
		lengths[i] = len(ans.Body)
		return Next{Outcome: fmt.Sprint(ans.Err), OK: ans.Err == nil}
	}
	m := run(t, a)
	if want := [4]int{9000, 0, 3, 5}; m.OK != 4 || [4]int(lengths) != want {
		t.Errorf("got bodies of %v bytes and %v, want %v", lengths, m.Outcomes, want)
	}
}

func TestARunThatIsEndedLeavesTheOpenOnesUnanswered(t *testing.T) {
	hold := make(chan struct{})
	arrived := make(chan struct{}, 8)
	addr := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		arrived <- struct{}{}
		<-hold
	})
	t.Cleanup(func() { close(hold) })
	ctx, cancel := context.WithCancel(t.Context())
	a := get(addr, 3)
	a.Arrivals[2] = time.Hour
	r, err := Start(ctx, a, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	<-arrived
	<-arrived
	waited := time.Since(r.start)
	cancel()
	m := r.Wait()
	if m.Unanswered != 3 || m.OK != 0 {
		t.Errorf("got %d unanswered and %d good, want 3 and 0", m.Unanswered, m.OK)
	}
	if got := m.Latency(50); got < waited*99/100 || got > time.Minute {
		t.Errorf("who waited for %s in vain counts with %s, and who was not due yet must not count", waited, got)
	}
}
