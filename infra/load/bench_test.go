package load

import (
	"net"
	"testing"
	"time"
)

// BenchmarkExchange measures the client alone: the server side is a loop that
// writes a canned answer for each read, the cheapest server there can be.
func BenchmarkExchange(b *testing.B) {
	crowd := NewCrowd("x", "sale", "phone", make([]string, b.N))
	benchAttack(b, Attack{Build: crowd.Build, Judge: crowd.Judge})
}

// BenchmarkVisitors measures what a visitor costs who presses once, with the account of
// all answers.
func BenchmarkVisitors(b *testing.B) {
	v := &Visitors{Host: "x", Sale: "sale", SKUs: []string{"phone"}, Tokens: make([]string, b.N), Visits: make([]Visit, b.N), Account: NewAccount(time.Second), Tag: "t"}
	for i := range v.Visits {
		v.Visits[i] = Visit{Persona: Repeats, Buyer: int32(i)}
	}
	v.Start()
	benchAttack(b, Attack{Build: v.Build, Judge: v.Judge, Kind: v.Kind, Account: v.Account})
}

// benchAttack sends b.N arrivals at once to parrots.
func benchAttack(b *testing.B, a Attack) {
	b.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go parrot(c)
		}
	}()
	a.Addr, a.Arrivals = l.Addr().String(), make([]time.Duration, b.N)
	b.ReportAllocs()
	b.ResetTimer()
	run, err := Start(b.Context(), a, time.Now())
	if err != nil {
		b.Fatal(err)
	}
	if m := run.Wait(); m.OK != b.N {
		b.Fatalf("got %v", m.Outcomes)
	}
}

func parrot(c net.Conn) {
	defer c.Close()
	const body = `{"order_id":"0123456789abcdef0123456789abcdef0123456789abc","status":"queued","trace_id":"0123456789abcdef0123456789abcdef"}`
	answer := []byte("HTTP/1.1 202 Accepted\r\nContent-Type: application/json\r\nRetry-After: 1\r\nContent-Length: 124\r\n\r\n" + body)
	buf := make([]byte, 4096)
	for {
		if _, err := c.Read(buf); err != nil {
			return
		}
		if _, err := c.Write(answer); err != nil {
			return
		}
	}
}
