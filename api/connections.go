package api

import (
	"net"
	"net/http"
	"sync"
)

// connections bounds how many connections a listener holds, so that files are left for
// the stores. It follows them as an HTTP server tells of them.
type connections struct {
	most int // 0: no bound

	mu   sync.Mutex
	busy map[net.Conn]struct{} // new, or at a request
	idle map[net.Conn]struct{} // between two requests
}

func newConnections(most int) *connections {
	return &connections{most: most, busy: map[net.Conn]struct{}{}, idle: map[net.Conn]struct{}{}}
}

// changed is told of each change of a connection. Where one too many comes, an idle
// one is closed for it, whichever: so idle ones keep nobody out. Without an idle one
// it is the new one that is closed.
func (c *connections) changed(conn net.Conn, state http.ConnState) {
	if c.most == 0 {
		return
	}
	if one := c.note(conn, state); one != nil {
		_ = one.Close() // its server notices, and tells of it
	}
}

// note keeps account and gives the connection that has to go, if one has.
func (c *connections) note(conn net.Conn, state http.ConnState) net.Conn {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch state {
	case http.StateNew:
		return c.welcome(conn)
	case http.StateActive:
		if _, ours := c.idle[conn]; ours { // else it is busy already, or has to go
			delete(c.idle, conn)
			c.busy[conn] = struct{}{}
		}
	case http.StateIdle:
		if _, ours := c.busy[conn]; ours {
			delete(c.busy, conn)
			c.idle[conn] = struct{}{}
		}
	default:
		delete(c.busy, conn)
		delete(c.idle, conn)
	}
	return nil
}

func (c *connections) welcome(conn net.Conn) (gone net.Conn) {
	if len(c.busy)+len(c.idle) >= c.most {
		if len(c.idle) == 0 {
			return conn
		}
		for gone = range c.idle {
			break
		}
		delete(c.idle, gone)
	}
	c.busy[conn] = struct{}{}
	return gone
}
