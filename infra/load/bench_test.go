package load

import (
	"io"
	"net"
	"testing"
	"time"
)

// BenchmarkExchange measures the client alone: the server side is a loop that
// writes a canned answer for each read, the cheapest server there can be.
func BenchmarkExchange(b *testing.B) {
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
	crowd := NewCrowd("x", "sale", "phone", make([]string, b.N))
	b.ReportAllocs()
	b.ResetTimer()
	run, err := Start(b.Context(), Attack{Addr: l.Addr().String(), Arrivals: make([]time.Duration, b.N), Build: crowd.Build, Judge: crowd.Judge}, time.Now())
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
		if _, err := c.Write(answer); err == io.EOF || err != nil {
			return
		}
	}
}
