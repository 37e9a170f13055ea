package testenv

import (
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// FaultProxy is a network between a client and a server that fails when told
// to. All its methods may be called at any time from any goroutine.
type FaultProxy struct {
	t        testing.TB
	listener net.Listener
	original string // as given to Proxy
	target   string // host:port
	running  sync.WaitGroup

	mu      sync.Mutex
	changed chan struct{} // closed and replaced at every change of what follows
	faults  faults
	links   map[*link]struct{}
	closed  bool
	dropped int
}

type faults struct {
	delay       time.Duration
	blackHole   bool
	cut         bool
	dropReplies int
	dropTo      [][]byte
}

// Proxy listens on a port of its own and passes everything on to target, which
// is HOST:PORT or a URL with such a host. It ends with the test.
func Proxy(t testing.TB, target string) *FaultProxy {
	t.Helper()
	host := target
	if strings.Contains(target, "://") {
		u, err := url.Parse(target)
		if err != nil {
			t.Fatalf("parse target of proxy: %v", err)
		}
		host = u.Host
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("listen for proxy: %v", err)
	}
	p := &FaultProxy{t: t, listener: l, original: target, target: host, changed: make(chan struct{}), links: map[*link]struct{}{}}
	p.running.Go(p.accept)
	t.Cleanup(p.close)
	return p
}

// Addr is the proxy's HOST:PORT.
func (p *FaultProxy) Addr() string { return p.listener.Addr().String() }

// URL is the target's URL with the proxy in the server's place.
func (p *FaultProxy) URL() string {
	u, err := url.Parse(p.original)
	if err != nil || u.Host == "" {
		p.t.Fatalf("the target of the proxy is no URL")
	}
	u.Host = p.Addr()
	return u.String()
}

// DropReplies lets the next n replies vanish: the request arrives and is
// carried out, but nothing that the server sends on that connection from then
// on comes through (a TCP stream has no holes). The connection stays open until
// the client gives up.
func (p *FaultProxy) DropReplies(n int) {
	p.change(func(f *faults) { f.dropReplies = n })
}

// DropReplyTo is DropReplies for the next request that contains text, such as
// "COMMIT" or the name of a script.
func (p *FaultProxy) DropReplyTo(text string) {
	p.change(func(f *faults) { f.dropTo = append(f.dropTo, []byte(text)) })
}

// Dropped is how many replies have vanished: a test checks that its fault happened.
func (p *FaultProxy) Dropped() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.dropped
}

// Delay holds every reply back for d; 0 ends that.
func (p *FaultProxy) Delay(d time.Duration) { p.change(func(f *faults) { f.delay = d }) }

// BlackHole lets nothing through in either direction, while connections open
// and stay; what was sent arrives after Heal, as with a network that came back.
func (p *FaultProxy) BlackHole() { p.change(func(f *faults) { f.blackHole = true }) }

// Cut resets all connections, and new ones at once, until Heal.
func (p *FaultProxy) Cut() {
	p.change(func(f *faults) { f.cut = true })
	p.Reset()
}

// Reset resets all connections once; new ones are served.
func (p *FaultProxy) Reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		l.reset()
	}
}

// Heal ends all faults. Connections whose reply has vanished stay mute.
func (p *FaultProxy) Heal() { p.change(func(f *faults) { *f = faults{} }) }

func (p *FaultProxy) change(to func(*faults)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f := p.faults
	f.dropTo = slices.Clone(f.dropTo)
	to(&f)
	p.faults = f
	close(p.changed)
	p.changed = make(chan struct{})
}

// now returns the faults in force and what is closed when they change.
func (p *FaultProxy) now() (faults, <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.faults, p.changed
}

func (p *FaultProxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return // closed with the test
		}
		p.running.Go(func() { p.serve(client.(*net.TCPConn)) })
	}
}

func (p *FaultProxy) serve(client *net.TCPConn) {
	if f, _ := p.now(); f.cut {
		resetConn(client)
		return
	}
	server, err := net.Dial("tcp", p.target)
	if err != nil {
		resetConn(client)
		return
	}
	l := &link{proxy: p, client: client, server: server.(*net.TCPConn), ended: make(chan struct{})}
	if !p.add(l) {
		l.reset()
		return
	}
	l.run()
	p.mu.Lock()
	delete(p.links, l)
	p.mu.Unlock()
}

// add is false when the proxy was cut or closed in the meantime.
func (p *FaultProxy) add(l *link) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || p.faults.cut {
		return false
	}
	p.links[l] = struct{}{}
	return true
}

func (p *FaultProxy) close() {
	p.listener.Close()
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.Reset()
	p.running.Wait()
}
