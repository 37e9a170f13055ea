package api

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// SparingDeadlines gives a listener for an HTTP server with time limits. The server sets
// eight deadlines for a request, and nearly none of them is ever waited for; each costs a
// change of a timer. The connections of this listener end what is under way exactly when
// they were asked to, and leave the timer alone while an earlier one runs: when that is
// over too soon, it is set again and what was under way goes on.
func SparingDeadlines(l net.Listener) net.Listener { return sparingListener{l} }

type sparingListener struct{ net.Listener }

// Accept waits for the next connection.
func (l sparingListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &sparingConn{Conn: conn}
	c.in.set, c.out.set = conn.SetReadDeadline, conn.SetWriteDeadline
	return c, nil
}

// sparingConn is a connection of such a listener.
type sparingConn struct {
	net.Conn
	in, out deadline
}

// Read reads what comes, until the deadline.
func (c *sparingConn) Read(b []byte) (int, error) {
	if err := c.in.begin(); err != nil {
		return 0, err
	}
	for {
		n, err := c.Conn.Read(b)
		if n > 0 || !c.in.early(err) {
			c.in.end()
			return n, err
		}
	}
}

// Write writes all of b, until the deadline.
func (c *sparingConn) Write(b []byte) (int, error) {
	if err := c.out.begin(); err != nil {
		return 0, err
	}
	defer c.out.end()
	for done := 0; ; {
		n, err := c.Conn.Write(b[done:])
		if done += n; !c.out.early(err) {
			return done, err
		}
	}
}

// ReadFrom writes all that r gives, as the connection itself does it best, until the
// deadline: what was read of r and not written would be lost where it was tried again.
func (c *sparingConn) ReadFrom(r io.Reader) (int64, error) {
	to, ok := c.Conn.(io.ReaderFrom)
	if !ok {
		return io.Copy(struct{ io.Writer }{c}, r)
	}
	if err := c.out.begin(); err != nil {
		return 0, err
	}
	defer c.out.end()
	if err := c.out.exact(); err != nil {
		return 0, err
	}
	return to.ReadFrom(r)
}

// CloseWrite ends what is written, so that the other side reads the end of it.
func (c *sparingConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
}

// SetReadDeadline ends reading at a time; the zero time: never.
func (c *sparingConn) SetReadDeadline(at time.Time) error { return c.in.ask(at) }

// SetWriteDeadline ends writing at a time; the zero time: never.
func (c *sparingConn) SetWriteDeadline(at time.Time) error { return c.out.ask(at) }

// SetDeadline ends both at a time; the zero time: never.
func (c *sparingConn) SetDeadline(at time.Time) error {
	return errors.Join(c.in.ask(at), c.out.ask(at))
}

// deadline is that of one direction. The timer of the connection never ends later than
// what was asked for while something is under way, and may end sooner.
type deadline struct {
	set func(time.Time) error

	mu    sync.Mutex
	asked time.Time // zero: never
	timer time.Time // what was set; zero: never
	busy  int       // reads or writes under way
}

// ask takes note of a deadline, and holds whatever is under way to it.
func (d *deadline) ask(at time.Time) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.asked = at
	if d.busy == 0 {
		return nil
	}
	return d.hold()
}

// begin comes before a read or a write, and end after it where there is no error.
func (d *deadline) begin() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if longOver(d.asked) { // an HTTP server ends a read by it
		return os.ErrDeadlineExceeded
	}
	if err := d.hold(); err != nil {
		return err
	}
	d.busy++
	return nil
}

func (d *deadline) end() {
	d.mu.Lock()
	d.busy--
	d.mu.Unlock()
}

// hold sets the timer where it would end later than asked for, or has ended.
func (d *deadline) hold() error {
	late := !d.asked.IsZero() && (d.timer.IsZero() || d.asked.Before(d.timer))
	if !late && !longOver(d.timer) {
		return nil
	}
	return d.renew()
}

// exact sets the timer to what was asked for.
func (d *deadline) exact() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.timer.Equal(d.asked) {
		return nil
	}
	return d.renew()
}

func (d *deadline) renew() error {
	d.timer = d.asked
	return d.set(d.asked)
}

// early tells whether err is of a timer that ended sooner than asked for; it is set
// anew then, and what was under way can go on.
func (d *deadline) early(err error) bool {
	if err == nil || !errors.Is(err, os.ErrDeadlineExceeded) {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.asked.IsZero() && !time.Now().Before(d.asked) {
		return false
	}
	return d.renew() == nil
}

// longOver tells whether a deadline is none that was counted from now on.
func longOver(at time.Time) bool { return !at.IsZero() && at.Unix() < 1_000_000_000 }
