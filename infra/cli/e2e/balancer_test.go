package e2e

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// balancer passes requests on to nodes in turn, as any balancer does: to those whose
// /readyz is good, to another where the connection is refused, and to another after a
// connection broke only what changes nothing or carries an idempotency key.
type balancer struct {
	url    string
	nodes  []string
	ready  []atomic.Bool
	next   atomic.Int64
	client http.Client
	broken atomic.Int64 // answers 502 and 504 of its own
}

// balancerLooks is how often it asks a node whether it is ready.
const balancerLooks = 50 * time.Millisecond

func newBalancer(t *testing.T, nodes []*Child) *balancer {
	t.Helper()
	b := &balancer{ready: make([]atomic.Bool, len(nodes)), client: http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 64}}}
	for _, n := range nodes {
		b.nodes = append(b.nodes, n.URL)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var looking sync.WaitGroup
	for i := range nodes {
		b.look(i)
		looking.Go(func() {
			for tick := time.NewTicker(balancerLooks); ; {
				select {
				case <-ctx.Done():
					tick.Stop()
					return
				case <-tick.C:
					b.look(i)
				}
			}
		})
	}
	server := httptest.NewServer(b)
	b.url = server.URL
	t.Cleanup(func() { server.Close(); cancel(); looking.Wait() })
	return b
}

func (b *balancer) look(i int) {
	probe := http.Client{Timeout: 2 * time.Second}
	answer, err := probe.Get(b.nodes[i] + "/readyz")
	if err == nil {
		_ = answer.Body.Close() // its status is all that counts
	}
	b.ready[i].Store(err == nil && answer.StatusCode == http.StatusOK)
}

// ServeHTTP passes one request on.
func (b *balancer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client is gone
	}
	first := int(b.next.Add(1))
	var tried error = errors.New("no node is ready")
	for i := range 2 * len(b.nodes) { // the ready ones first, then any
		node := (first + i) % len(b.nodes)
		if i < len(b.nodes) && !b.ready[node].Load() {
			continue
		}
		answer, err := b.pass(r, node, body)
		if err == nil {
			b.reply(w, answer)
			return
		}
		var dial *net.OpError
		refused := errors.As(err, &dial) && dial.Op == "dial"
		if tried = err; !refused && r.Method != http.MethodGet && r.Header.Get("Idempotency-Key") == "" {
			break
		}
	}
	b.broken.Add(1)
	http.Error(w, tried.Error(), http.StatusBadGateway)
}

func (b *balancer) pass(r *http.Request, node int, body []byte) (*http.Response, error) {
	out, err := http.NewRequestWithContext(r.Context(), r.Method, b.nodes[node]+r.URL.RequestURI(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	out.Header = r.Header.Clone()
	out.Header.Del("Connection")
	return b.client.Do(out)
}

func (b *balancer) reply(w http.ResponseWriter, answer *http.Response) {
	defer func() { _ = answer.Body.Close() }() // read, or broken off as the client will see
	for name, values := range answer.Header {
		if name != "Connection" {
			w.Header()[name] = values
		}
	}
	w.WriteHeader(answer.StatusCode)
	_, _ = io.Copy(w, answer.Body) // what is cut off, the client notices by its length
}
