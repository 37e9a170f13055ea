package pgstore_test

import (
	"io"
	"net"
	"net/url"
	"sync"
	"testing"
)

// proxy stands between the store and PostgreSQL and loses replies on demand.
type proxy struct {
	listener net.Listener
	target   string

	mu    sync.Mutex
	open  map[net.Conn]*bool // whether the next reply on it is lost
	refus bool
}

// newProxy gives a proxy to the server of url, and the url through it.
func newProxy(t testing.TB, target string) (*proxy, string) {
	t.Helper()
	u, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: l, target: u.Host, open: map[net.Conn]*bool{}}
	var serving sync.WaitGroup
	serving.Go(func() { p.serve(&serving) })
	t.Cleanup(func() {
		_ = l.Close()
		p.cut()
		serving.Wait()
	})
	u.Host = l.Addr().String()
	return p, u.String()
}

func (p *proxy) serve(serving *sync.WaitGroup) {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		serving.Go(func() { p.connect(client) })
	}
}

func (p *proxy) connect(client net.Conn) {
	defer client.Close()
	p.mu.Lock()
	refuse, lose := p.refus, new(bool)
	p.open[client] = lose
	p.mu.Unlock()
	if refuse {
		return
	}
	server, err := net.Dial("tcp", p.target)
	if err != nil {
		return
	}
	defer server.Close()
	go func() {
		_, _ = io.Copy(server, client)
		_ = server.Close()
	}()
	buf := make([]byte, 64<<10)
	for {
		n, err := server.Read(buf)
		if err != nil {
			return
		}
		p.mu.Lock()
		lost := *lose
		p.mu.Unlock()
		if lost {
			return // the server has answered, and nobody will hear it
		}
		if _, err := client.Write(buf[:n]); err != nil {
			return
		}
	}
}

// loseNextReply makes every connection that is open now end at its next reply.
func (p *proxy) loseNextReply() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, lose := range p.open {
		*lose = true
	}
}

// refuse turns new connections away, or lets them through again.
func (p *proxy) refuse(on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refus = on
}

// cut ends every connection.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.open {
		_ = c.Close()
	}
}
