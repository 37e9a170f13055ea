package load

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// stalling is a server that stands still once, from its nth request on for so long,
// and knows from when to when it did.
type stalling struct {
	mu         sync.Mutex
	n          int
	stallFor   time.Duration
	from, till time.Time
}

func (s *stalling) ServeHTTP(http.ResponseWriter, *http.Request) {
	s.mu.Lock()
	if s.n--; s.n == 0 {
		s.from = time.Now()
		s.till = s.from.Add(s.stallFor)
	}
	till := s.till
	s.mu.Unlock()
	if d := time.Until(till); d > 0 {
		time.Sleep(d)
	}
}

// Whatever the machine does, who was to be served while the server stood still was not
// answered before it went on: that is what the percentiles must show at least.
func TestAServerThatStallsForASecondIsSeenInThePercentiles(t *testing.T) {
	server := &stalling{n: 200, stallFor: time.Second}
	addr := serve(t, server.ServeHTTP)
	a := get(addr, 0)
	a.Arrivals = Evenly(400, 3*time.Second, 1)
	a.Account = NewAccount(time.Second)
	a.Conns = 2000
	start := time.Now()
	r, err := Start(t.Context(), a, start)
	if err != nil {
		t.Fatal(err)
	}
	m := r.Wait()
	n := len(a.Arrivals)
	if m.OK != n {
		t.Fatalf("got %d good answers of %d: %v", m.OK, n, m.Outcomes)
	}
	least := make([]time.Duration, n)
	for i, at := range a.Arrivals {
		if due := start.Add(at); due.After(server.from) && due.Before(server.till) {
			least[i] = server.till.Sub(due)
		}
	}
	slices.Sort(least)
	kind := a.Account.Kinds()[0]
	for _, q := range []float64{75, 90, 99, 100} {
		want := least[int(q/100*float64(n-1))] * 99 / 100 // the histogram's digits
		if got := kind.Latency(q); got < want {
			t.Errorf("p%v: got %s, want at least %s of a stall of %s", q, got, want, server.stallFor)
		}
	}
	if want := server.stallFor / 2; least[int(.9*float64(n-1))] < want {
		t.Fatalf("the test says nothing: a tenth of the arrivals should have waited for %s", want)
	}
	if got := r.Conns(); got < 20 {
		t.Errorf("got %d connections: those who came in the stall were not sent", got)
	}
}

func TestAStepOfItsOwnCountsFromItsOwnStart(t *testing.T) {
	addr := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/0" {
			time.Sleep(50 * time.Millisecond)
		}
	})
	a := get(addr, 1)
	const slice = 100 * time.Millisecond
	a.Account = NewAccount(slice)
	asked := 0
	const then = 500 * time.Millisecond
	first := time.Duration(0) // the length of the first step
	a.Kind = func(int) string { return []string{"press", "press", "poll"}[asked] }
	a.Judge = func(_ int, ans Answer) Next {
		asked++
		switch asked {
		case 1:
			return Next{Outcome: "busy", Again: 60 * time.Millisecond}
		case 2:
			if ans.Began != 0 || ans.SinceBegan < ans.Took+100*time.Millisecond {
				t.Errorf("the step began at %s, %s ago: want the first try and the pause in it", ans.Began, ans.SinceBegan)
			}
			first = ans.SinceBegan
			return Next{Outcome: "accepted", OK: true, Then: then}
		}
		if ans.Began < first+then || ans.Began != ans.Due {
			t.Errorf("the second step began at %s, was due at %s: want both at the end of the first and its pause", ans.Began, ans.Due)
		}
		return Next{Outcome: "placed", OK: true}
	}
	m := run(t, a)
	if s := m.Sights[0]; s.Outcome != "accepted" || s.Tries != 2 {
		t.Errorf("got %+v, want the first step's end after two tries", s)
	}
	kinds := a.Account.Kinds()
	if len(kinds) != 2 || kinds[0].Name != "poll" || kinds[0].OK != 1 || kinds[1].Refused != 1 || kinds[1].OK != 1 || kinds[1].Outcomes["busy"] != 1 {
		t.Fatalf("got %+v", kinds)
	}
	// Whatever the machine does, the poll counts where its own step began, not the arrival.
	if n := len(kinds[0].Slices); n <= int(then/slice) || kinds[0].Slices[n-1].Sent != 1 {
		t.Errorf("got slices %+v of the poll, want it in one after %s", kinds[0].Slices, then)
	}
	if sent, received := a.Account.Bytes(); sent < 3*20 || received < 3*15 {
		t.Errorf("got %d bytes sent and %d received", sent, received)
	}
}

func TestWhoWasStillWaitingAtTheEndIsInTheAccount(t *testing.T) {
	hold := make(chan struct{})
	arrived := make(chan struct{}, 1)
	addr := serve(t, func(http.ResponseWriter, *http.Request) {
		arrived <- struct{}{}
		<-hold
	})
	t.Cleanup(func() { close(hold) })
	a := get(addr, 2)
	a.Arrivals[1] = time.Hour
	a.Account = NewAccount(time.Second)
	ctx, cancel := context.WithCancel(t.Context())
	r, err := Start(ctx, a, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	<-arrived
	cancel()
	r.Wait()
	if kinds := a.Account.Kinds(); len(kinds) != 1 || kinds[0].Waited != 1 || kinds[0].Sent != 1 || kinds[0].Outcomes[Unanswered] != 1 {
		t.Errorf("got %+v, want one who waited, and not the one who was not due", kinds)
	}
}

func TestConnectionsAreOnlyOpenedForWhatIsSentAtOnce(t *testing.T) {
	addr := serve(t, func(http.ResponseWriter, *http.Request) {})
	a := get(addr, 1)
	asked := 0
	a.Judge = func(int, Answer) Next {
		if asked++; asked < 50 {
			return Next{OK: true, Then: time.Millisecond} // one after the other
		}
		return Next{OK: true}
	}
	r, err := Start(t.Context(), a, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if m := r.Wait(); m.OK != 1 || asked != 50 || r.Conns() != 1 {
		t.Errorf("got %d questions over %d connections, want 50 over one", asked, r.Conns())
	}
}

func TestEncryptedAnswersAreReadAndAStrangerIsNotTrusted(t *testing.T) {
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }))
	t.Cleanup(s.Close)
	pool := x509.NewCertPool()
	pool.AddCert(s.Certificate())
	a := get(strings.TrimPrefix(s.URL, "https://"), 3)
	a.TLS = &tls.Config{RootCAs: pool, ServerName: "example.com"}
	if m := run(t, a); m.OK != 3 {
		t.Errorf("got %v, want three answers", m.Outcomes)
	}
	a.TLS = &tls.Config{ServerName: "example.com"}
	if m := run(t, a); m.Failed != 3 || m.Outcomes["connection: encrypt"] != 3 {
		t.Errorf("got %v, want nobody to be trusted", m.Outcomes)
	}
}

func TestArrivalsThatComeEvenlyKeepTheirRate(t *testing.T) {
	at := Evenly(1000, 20*time.Second, 3)
	if len(at) < 19_000 || len(at) > 21_000 || !slices.IsSorted(at) || at[len(at)-1] >= 20*time.Second {
		t.Errorf("got %d arrivals up to %s, want about 20,000 within 20 s", len(at), at[len(at)-1])
	}
	if Evenly(0, time.Second, 1) != nil {
		t.Error("nobody comes at no rate")
	}
}
