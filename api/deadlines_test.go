package api

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"
)

// connected gives a connection of a sparing listener, and who is at its other end.
func connected(t *testing.T) (*sparingConn, net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	peer, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	conn, err := SparingDeadlines(l).Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(); _ = peer.Close() })
	return conn.(*sparingConn), peer
}

// underWay waits until a read or a write is under way.
func (d *deadline) underWay(t *testing.T) {
	t.Helper()
	for until := time.Now().Add(30 * time.Second); time.Now().Before(until); time.Sleep(time.Millisecond) {
		d.mu.Lock()
		busy := d.busy
		d.mu.Unlock()
		if busy > 0 {
			return
		}
	}
	t.Fatal("nothing is under way after 30 s")
}

// timerOver waits until the timer was set anew or there is none.
func (d *deadline) timerOver(t *testing.T, was time.Time) {
	t.Helper()
	for until := time.Now().Add(30 * time.Second); time.Now().Before(until); time.Sleep(time.Millisecond) {
		d.mu.Lock()
		timer := d.timer
		d.mu.Unlock()
		if !timer.Equal(was) {
			return
		}
	}
	t.Fatal("the timer did not end within 30 s")
}

// soon is a deadline that ends while a test waits for it, and not before what it is of is
// under way, also on a machine that is busy.
const soon = time.Second

func timedOut(err error) bool {
	var slow net.Error
	return errors.Is(err, os.ErrDeadlineExceeded) && errors.As(err, &slow) && slow.Timeout()
}

func TestAReadEndsAtItsDeadlineAndNotBefore(t *testing.T) {
	c, peer := connected(t)
	at := time.Now().Add(30 * time.Millisecond)
	_ = c.SetReadDeadline(at.Add(-20 * time.Millisecond)) // an earlier one that nobody waits for
	_ = c.SetReadDeadline(at)
	if _, err := c.Read(make([]byte, 1)); !timedOut(err) || time.Now().Before(at) {
		t.Fatalf("got %v %s before the deadline, want the end of its time at it", err, time.Until(at))
	}
	if _, err := c.Read(make([]byte, 1)); !timedOut(err) {
		t.Errorf("got %v after the deadline, want the end of its time", err)
	}
	_ = c.SetReadDeadline(time.Now().Add(time.Minute))
	if _, err := peer.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	if n, err := c.Read(make([]byte, 8)); n != 1 || err != nil {
		t.Errorf("got %d bytes and %v with a new deadline, want 1", n, err)
	}
}

func TestAReadGoesOnWhenItsDeadlineIsPutOff(t *testing.T) {
	for name, later := range map[string]time.Time{"later": time.Now().Add(time.Hour), "never": {}} {
		t.Run(name, func(t *testing.T) {
			c, peer := connected(t)
			first := time.Now().Add(soon)
			_ = c.SetReadDeadline(first)
			got := make(chan error, 1)
			go func() { _, err := c.Read(make([]byte, 1)); got <- err }()
			c.in.underWay(t)
			_ = c.SetReadDeadline(later)
			c.in.timerOver(t, first)
			if _, err := peer.Write([]byte("x")); err != nil {
				t.Fatal(err)
			}
			if err := <-got; err != nil {
				t.Errorf("got %v, want what came after the first deadline", err)
			}
		})
	}
}

// An HTTP server ends the read beside a handler like that, and reads on then.
func TestADeadlineThatIsLongOverEndsWhatIsUnderWay(t *testing.T) {
	c, peer := connected(t)
	got := make(chan error, 1)
	for range 3 {
		go func() { _, err := c.Read(make([]byte, 1)); got <- err }()
		c.in.underWay(t)
		_ = c.SetReadDeadline(time.Unix(1, 0))
		if err := <-got; !timedOut(err) {
			t.Fatalf("got %v, want the end of its time", err)
		}
		if _, err := c.Read(make([]byte, 1)); !timedOut(err) {
			t.Fatalf("got %v of a read that began too late, want the end of its time", err)
		}
		_ = c.SetReadDeadline(time.Time{})
		if _, err := peer.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Read(make([]byte, 1)); err != nil {
			t.Fatalf("got %v without a deadline, want what came", err)
		}
	}
}

func TestAWriteGoesOnWhenItsDeadlineIsPutOffAndLosesNothing(t *testing.T) {
	c, peer := connected(t)
	sent := bytes.Repeat([]byte("0123456789abcdef"), 1<<20) // more than a socket holds
	first := time.Now().Add(soon)
	_ = c.SetWriteDeadline(first)
	got := make(chan error, 1)
	go func() { _, err := c.Write(sent); got <- errors.Join(err, c.CloseWrite()) }()
	c.out.underWay(t)
	_ = c.SetWriteDeadline(time.Now().Add(time.Hour))
	c.out.timerOver(t, first)
	received, err := io.ReadAll(peer)
	if err := errors.Join(err, <-got); err != nil || !bytes.Equal(received, sent) {
		t.Errorf("got %d bytes of %d, or others, and %v", len(received), len(sent), err)
	}
}

func TestAWriteEndsAtItsDeadline(t *testing.T) {
	for name, write := range map[string]func(c *sparingConn, text string) error{
		"write":     func(c *sparingConn, text string) error { _, err := c.Write([]byte(text)); return err },
		"read from": func(c *sparingConn, text string) error { _, err := c.ReadFrom(strings.NewReader(text)); return err },
	} {
		t.Run(name, func(t *testing.T) {
			c, _ := connected(t)
			at := time.Now().Add(20 * time.Millisecond)
			_ = c.SetWriteDeadline(at)
			if err := write(c, strings.Repeat("x", 16<<20)); !timedOut(err) || time.Now().Before(at) {
				t.Errorf("got %v %s before the deadline, want the end of its time at it", err, time.Until(at))
			}
		})
	}
}

// What is copied by the connection itself cannot go on after a timer that ended too soon.
func TestWhatIsReadFromASourceHasTheTimeThatItWasGiven(t *testing.T) {
	c, peer := connected(t)
	first := time.Now().Add(soon)
	_ = c.SetWriteDeadline(first)
	if _, err := c.Write([]byte("-")); err != nil { // the timer runs now
		t.Fatal(err)
	}
	_ = c.SetWriteDeadline(time.Now().Add(time.Hour))
	text := strings.Repeat("x", 16<<20)
	got := make(chan error, 1)
	go func() { _, err := c.ReadFrom(strings.NewReader(text)); got <- errors.Join(err, c.CloseWrite()) }()
	c.out.timerOver(t, first)
	time.Sleep(time.Until(first.Add(5 * time.Millisecond))) // when the first one would have ended it
	received, err := io.ReadAll(peer)
	if err := errors.Join(err, <-got); err != nil || len(received) != len(text)+1 {
		t.Errorf("got %d bytes of %d and %v", len(received), len(text)+1, err)
	}
}

// As an HTTP server sets them for a request whose handler is done before the read beside
// it begins.
func TestTheDeadlinesOfRequestsLeaveTheTimerAlone(t *testing.T) {
	sets := 0
	d := deadline{set: func(time.Time) error { sets++; return nil }}
	begun := time.Now()
	for i := range 1000 {
		now := begun.Add(time.Duration(i) * time.Millisecond)
		_ = d.ask(now.Add(time.Minute))
		if err := d.begin(); err != nil {
			t.Fatal(err)
		}
		d.end()
		for _, at := range []time.Time{now.Add(5 * time.Second), {}, time.Unix(1, 0), {}} {
			_ = d.ask(at)
		}
	}
	if sets != 1 {
		t.Errorf("the timer was set %d times for 1000 requests, want once", sets)
	}
}
