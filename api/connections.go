package api

import (
	"net"
	"net/http"
	"sync"
	"sync/atomic"
)

// connections bounds how many connections a listener holds, so that files are left for
// the stores. It follows them as an HTTP server tells of them: twice for a request, so
// that a change between busy and idle takes no lock for itself.
type connections struct {
	most int // 0: no bound

	mu   sync.RWMutex
	held map[net.Conn]*atomic.Int32 // in one of the phases
	idle atomic.Int64               // how many of them
}

// Phases of a connection. One that was told to go is in none of the first two.
const (
	phaseBusy int32 = iota // new, or at a request
	phaseIdle              // between two requests
	phaseGone
)

func newConnections(most int) *connections {
	return &connections{most: most, held: map[net.Conn]*atomic.Int32{}}
}

// changed is told of each change of a connection. Where one too many comes, an idle
// one is closed for it, whichever: so idle ones keep nobody out. Without an idle one
// it is the new one that is closed.
func (c *connections) changed(conn net.Conn, state http.ConnState) {
	if c.most == 0 {
		return
	}
	switch state {
	case http.StateNew:
		if gone := c.welcome(conn); gone != nil {
			_ = gone.Close() // its server notices, and tells of it
		}
	case http.StateActive:
		c.turn(conn, phaseIdle, phaseBusy)
	case http.StateIdle:
		c.turn(conn, phaseBusy, phaseIdle)
	default:
		c.forget(conn)
	}
}

// turn changes the phase of a connection that is in another one; a new one is busy
// already, and one that has to go stays that.
func (c *connections) turn(conn net.Conn, from, to int32) {
	c.mu.RLock()
	phase := c.held[conn]
	c.mu.RUnlock()
	if phase == nil || !phase.CompareAndSwap(from, to) {
		return
	}
	if to == phaseIdle {
		c.idle.Add(1)
	} else {
		c.idle.Add(-1)
	}
}

func (c *connections) forget(conn net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if phase := c.held[conn]; phase != nil {
		delete(c.held, conn)
		c.end(phase)
	}
}

// end takes a connection out of the account for good.
func (c *connections) end(phase *atomic.Int32) {
	if phase.Swap(phaseGone) == phaseIdle {
		c.idle.Add(-1)
	}
}

// welcome takes a new connection in and gives the one that has to go, if one has.
func (c *connections) welcome(conn net.Conn) (gone net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.held) >= c.most {
		if gone = c.anIdle(); gone == nil {
			return conn
		}
	}
	c.held[conn] = new(atomic.Int32)
	return gone
}

// anIdle takes an idle connection out, if there is one.
func (c *connections) anIdle() net.Conn {
	if c.idle.Load() <= 0 {
		return nil
	}
	for conn, phase := range c.held {
		if phase.CompareAndSwap(phaseIdle, phaseGone) {
			c.idle.Add(-1)
			delete(c.held, conn)
			return conn
		}
	}
	return nil
}
