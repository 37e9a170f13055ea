package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"seckill/api"
	"seckill/api/client"
)

// oneUnit is what is bought.
var oneUnit = client.Purchase{Lines: []client.Line{{SKU: "item", Quantity: 1}}}

// overheard is one answer that a client was given: when the request before and the one
// after it were sent tells how long the client waited.
type overheard struct {
	method, path string
	status       int
	code         string
	wait         time.Duration // asked for
	sent, heard  time.Time
}

// spy is a network that notes what passes.
type spy struct {
	next http.RoundTripper
	mu   sync.Mutex
	all  []overheard
}

func (s *spy) RoundTrip(r *http.Request) (*http.Response, error) {
	o := overheard{method: r.Method, path: r.URL.Path, sent: time.Now()}
	res, err := s.next.RoundTrip(r)
	if err == nil {
		raw, failed := io.ReadAll(res.Body)
		_ = res.Body.Close() // it was read
		if failed != nil {
			return nil, failed
		}
		res.Body = io.NopCloser(bytes.NewReader(raw))
		var told struct {
			Code string `json:"code"`
			MS   int64  `json:"retry_after_ms"`
		}
		_ = json.Unmarshal(raw, &told) // what is no document of ours has no code
		o.status, o.code, o.wait = res.StatusCode, told.Code, time.Duration(told.MS)*time.Millisecond
	}
	o.heard = time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, o)
	return res, err
}

// codes counts what was answered, "" for good answers.
func (s *spy) codes() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := map[string]int{}
	for _, o := range s.all {
		n[o.code]++
	}
	return n
}

// obeyed fails the test where a request was sent sooner than the answer before asked
// for. The spy is that of one client that asks one thing after the other.
func (s *spy) obeyed(t *testing.T) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := 1; i < len(s.all); i++ {
		if before, o := s.all[i-1], s.all[i]; o.sent.Sub(before.heard) < before.wait {
			t.Errorf("%s was asked again %s after an answer %s that asks for %s", o.path, o.sent.Sub(before.heard), before.code, before.wait)
		}
	}
}

// behaving makes a client of one buyer at url, and its spy.
func behaving(t testing.TB, url, buyer string, opts client.Options) (*client.Client, *spy) {
	t.Helper()
	transport := &http.Transport{MaxIdleConnsPerHost: 4}
	t.Cleanup(transport.CloseIdleConnections)
	s := &spy{next: transport}
	opts.HTTP = &http.Client{Transport: s}
	if opts.Token == nil {
		opts.Token = func(context.Context) (string, error) {
			return api.SignToken([]byte(TestSecret), buyer, "", "", time.Hour)
		}
	}
	c, err := client.New(url, opts)
	if err != nil {
		t.Fatal(err)
	}
	return c, s
}

// patience bounds what a buyer waits for in all.
func patience(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}
