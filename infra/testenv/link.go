package testenv

import (
	"bytes"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// link is one connection through a proxy.
type link struct {
	proxy          *FaultProxy
	client, server *net.TCPConn
	end            sync.Once
	ended          chan struct{}
	mute           atomic.Bool // the server's words vanish
	tail           []byte      // end of what the client said, for texts cut in two
}

// run returns when both directions have ended.
func (l *link) run() {
	var up sync.WaitGroup
	up.Go(func() { l.pump(l.client, l.server, l.hear) })
	l.pump(l.server, l.client, l.answer)
	up.Wait()
}

// pump passes bytes on until one side ends; then the other ends as well.
// pass says whether bytes go through, and when.
func (l *link) pump(from, to *net.TCPConn, pass func([]byte) bool) {
	defer l.finish()
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 && l.open() && pass(buf[:n]) {
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// open waits while the network is a black hole; it is false at the link's end.
func (l *link) open() bool {
	for {
		f, changed := l.proxy.now()
		if !f.blackHole {
			return true
		}
		select {
		case <-changed:
		case <-l.ended:
			return false
		}
	}
}

// hear looks for a request whose reply shall vanish. Requests always pass.
func (l *link) hear(chunk []byte) bool {
	text := append(l.tail, chunk...)
	if l.proxy.takeDropTo(text, len(l.tail)) {
		l.mute.Store(true)
	}
	l.tail = bytes.Clone(text[max(0, len(text)-256):])
	return true
}

// answer holds a reply back or lets it vanish.
func (l *link) answer([]byte) bool {
	if l.mute.Load() || l.proxy.takeDropReply() {
		if !l.mute.Swap(true) {
			l.proxy.countDropped()
		}
		return false
	}
	if f, _ := l.proxy.now(); f.delay > 0 {
		timer := time.NewTimer(f.delay)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-l.ended:
			return false
		}
	}
	return true
}

// takeDropTo finds a wanted request that ends after the first old bytes of text.
func (p *FaultProxy) takeDropTo(text []byte, old int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.IndexFunc(p.faults.dropTo, func(wanted []byte) bool {
		return bytes.Contains(text[max(0, old-len(wanted)+1):], wanted)
	})
	if i < 0 {
		return false
	}
	p.faults.dropTo = slices.Delete(slices.Clone(p.faults.dropTo), i, i+1)
	p.dropped++
	return true
}

func (p *FaultProxy) takeDropReply() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.faults.dropReplies == 0 {
		return false
	}
	p.faults.dropReplies--
	return true
}

func (p *FaultProxy) countDropped() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dropped++
}

// finish ends both sides in order.
func (l *link) finish() {
	l.end.Do(func() {
		close(l.ended)
		l.client.Close()
		l.server.Close()
	})
}

// reset ends both sides with a reset, as a host that went away does.
func (l *link) reset() {
	l.end.Do(func() {
		close(l.ended)
		resetConn(l.client)
		resetConn(l.server)
	})
}

func resetConn(c *net.TCPConn) {
	_ = c.SetLinger(0) // it may be closed already
	c.Close()
}
