package api

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// line is a connection of a client that writes its requests by hand.
type line struct {
	net.Conn
	answers *bufio.Reader
}

func (h *house) dial(t *testing.T) *line {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(h.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return &line{conn, bufio.NewReader(conn)}
}

// say sends a request as it is and gives the answer, its body read. err: the
// connection is over.
func (l *line) say(request string) (*http.Response, error) {
	if _, err := io.WriteString(l, request); err != nil {
		return nil, err
	}
	answer, err := http.ReadResponse(l.answers, nil)
	if err != nil {
		return nil, err
	}
	_, err = io.Copy(io.Discard, answer.Body)
	return answer, err
}

const alive = "GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n"

func TestIdleConnectionsKeepNobodyOutWhereNoMoreMayBeOpen(t *testing.T) {
	h := newHouse(t, func(_ *Deps, o *Options) { o.Connections = 5 })
	idle := make([]*line, 5)
	for i := range idle {
		idle[i] = h.dial(t)
		if answer, err := idle[i].say(alive); err != nil || answer.StatusCode != http.StatusOK {
			t.Fatalf("connection %d: got %v and %v", i, answer, err)
		}
	}
	for range 3 * len(idle) {
		fresh := h.dial(t)
		if answer, err := fresh.say(alive); err != nil || answer.StatusCode != http.StatusOK {
			t.Fatalf("got %v and %v for a new connection beside idle ones, want it answered", answer, err)
		}
	}
	for _, l := range idle {
		if _, err := l.say(alive); err != nil {
			return // it made room
		}
	}
	t.Error("every idle connection still answers: nothing was bounded")
}

func TestAConnectionOverTheBoundIsClosedWhereAllOthersAreBusy(t *testing.T) {
	h := newHouse(t, func(_ *Deps, o *Options) { o.Connections = 2 })
	waits, letGo := h.slowFinder()
	poll := "GET /api/v1/orders/" + testOrder + "?wait=30s&after=1 HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer " + tokenOf(t, "buyer-1", "") + "\r\n\r\n"
	ended := make(chan int, 2)
	for range 2 {
		l := h.dial(t)
		go func() {
			answer, err := l.say(poll)
			if err != nil {
				ended <- 0
				return
			}
			ended <- answer.StatusCode
		}()
		<-waits
	}
	if answer, err := h.dial(t).say(alive); err == nil {
		t.Errorf("got %d over the bound, want the connection closed", answer.StatusCode)
	}
	close(letGo)
	for range 2 {
		if got := <-ended; got != http.StatusOK {
			t.Errorf("got %d for a request that was there before, want it served", got)
		}
	}
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		if answer, err := h.dial(t).say(alive); err == nil && answer.StatusCode == http.StatusOK {
			return
		}
		if time.Now().After(end) {
			t.Fatal("nobody is served 10 s after the busy ones are idle")
		}
	}
}

// A refusal says nothing of a body that it did not look at, so it does not wait for it.
func TestARefusalDoesNotWaitForABodyThatDoesNotCome(t *testing.T) {
	h := newHouse(t, nil)
	for path, want := range map[string]int{"/api/v1/sales/" + testSale + "/purchases": 401, "/nope": 404, "/api/v1/sales/" + testSale + "/tickets": 401} {
		start := time.Now()
		answer, err := h.dial(t).say("POST " + path + " HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nContent-Length: 24\r\n\r\n")
		if err != nil || answer.StatusCode != want {
			t.Fatalf("%s: got %v and %v, want %d", path, answer, err, want)
		}
		if took := time.Since(start); took > bodyBudget-time.Second {
			t.Errorf("%s: answered after %s, want no wait for the body", path, took)
		}
	}
}

func TestARefusalKeepsTheConnectionOfWhoSentItsBody(t *testing.T) {
	h := newHouse(t, nil)
	l := h.dial(t)
	for range 3 {
		answer, err := l.say("POST /api/v1/sales/" + testSale + "/purchases HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nContent-Length: 31\r\n\r\n" + `{"sku":"shoe-42","quantity":10}`)
		if err != nil || answer.StatusCode != http.StatusUnauthorized || answer.Close {
			t.Fatalf("got %v and %v, want 401 on a connection that stays", answer, err)
		}
	}
}
