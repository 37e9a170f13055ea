package browser

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"
)

// proxy stands between browsers and a server, and keeps a line for each sale.
type proxy struct {
	url string

	mu    sync.Mutex
	lines map[string]*line
}

// line is what the proxy does to and knows of one sale's calls.
type line struct {
	mu    sync.Mutex
	calls []callTo
	lose  bool          // purchases arrive, their answers do not
	delay time.Duration // before a purchase is passed on
	deaf  bool          // nothing arrives
}

// callTo is one call of the API.
type callTo struct {
	at     time.Time
	method string
	what   string // the path under the sale, such as purchases
	key    string
}

func newProxy(t *testing.T, to string) *proxy {
	t.Helper()
	target, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{lines: map[string]*line{}}
	pass := httputil.NewSingleHostReverseProxy(target)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rest, ok := strings.CutPrefix(r.URL.Path, "/api/v1/sales/")
		if !ok {
			pass.ServeHTTP(w, r)
			return
		}
		sale, what, _ := strings.Cut(rest, "/")
		deaf, lose, delay := p.of(sale).take(r, what)
		if deaf {
			panic(http.ErrAbortHandler)
		}
		if what != "purchases" {
			pass.ServeHTTP(w, r)
			return
		}
		select {
		case <-time.After(delay): // the slow network itself
		case <-r.Context().Done():
		}
		if !lose {
			pass.ServeHTTP(w, r)
			return
		}
		unseen := httptest.NewRecorder()
		pass.ServeHTTP(unseen, r)
		_, _ = io.Copy(io.Discard, unseen.Result().Body) // of memory
		panic(http.ErrAbortHandler)
	}))
	t.Cleanup(server.Close)
	p.url = server.URL
	return p
}

func (p *proxy) of(sale string) *line {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.lines[sale] == nil {
		p.lines[sale] = &line{}
	}
	return p.lines[sale]
}

func (l *line) take(r *http.Request, what string) (deaf, lose bool, delay time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls = append(l.calls, callTo{time.Now(), r.Method, what, r.Header.Get("Idempotency-Key")})
	return l.deaf, l.lose, l.delay
}

// do changes what happens to the sale's calls.
func (l *line) do(lose bool, delay time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lose, l.delay = lose, delay
}

// cut makes that nothing arrives any more, or lets everything pass again.
func (l *line) cut(deaf bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.deaf = deaf
}

// keys are those of the purchases so far, one for each.
func (l *line) keys() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var keys []string
	for _, c := range l.calls {
		if c.what == "purchases" {
			keys = append(keys, c.key)
		}
	}
	return keys
}

// count counts the calls of one kind so far, such as tickets.
func (l *line) count(what string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for _, c := range l.calls {
		if c.what == what {
			n++
		}
	}
	return n
}

// before counts the calls until a time.
func (l *line) before(at time.Time) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for _, c := range l.calls {
		if c.at.Before(at) {
			n++
		}
	}
	return n
}
