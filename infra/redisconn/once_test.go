package redisconn

import (
	"net"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2/server"
)

// clusterOfOne is a server that says it holds every slot of a cluster, and counts the
// scripts that it is sent: it answers none.
func clusterOfOne(t *testing.T) (addr string, scripts, looks *atomic.Int64) {
	t.Helper()
	s, err := server.NewServer("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	addr = s.Addr().String()
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	scripts, looks = &atomic.Int64{}, &atomic.Int64{}
	for name, do := range map[string]server.Cmd{
		"EVALSHA": func(*server.Peer, string, []string) { scripts.Add(1) },
		"CLUSTER": func(c *server.Peer, _ string, _ []string) {
			looks.Add(1)
			c.WriteLen(1)
			c.WriteLen(3)
			c.WriteInt(0)
			c.WriteInt(16383)
			c.WriteLen(3)
			c.WriteBulk(host)
			c.WriteInt(number)
			c.WriteBulk("id")
		},
	} {
		if err := s.Register(name, do); err != nil {
			t.Fatal(err)
		}
	}
	return addr, scripts, looks
}

func TestAScriptThatIsNotAnsweredIsSentToAClusterOnce(t *testing.T) {
	addr, scripts, looks := clusterOfOne(t)
	for again := range 2 {
		scripts.Store(0)
		a, err := Parse("redis://" + addr + "?cluster=true")
		if err != nil {
			t.Fatal(err)
		}
		tune := Tuning{Dial: 10 * time.Second, Read: 100 * time.Millisecond, Write: time.Second, Pool: 10 * time.Second, Conns: 3, Again: again}
		c := a.Open(tune)
		if err := c.EvalSha(t.Context(), "sha", []string{"k"}).Err(); err == nil {
			t.Fatal("an answer came from a server that gives none")
		}
		want := int64(1 + again)
		if got := scripts.Load(); got != want {
			t.Errorf("with %d more attempts the script was sent %d times, want %d", again, got, want)
		}
		// The client looks again where the masters are.
		for end := time.Now().Add(30 * time.Second); looks.Load() < 2*want && time.Now().Before(end); {
			time.Sleep(time.Millisecond)
		}
		if looks.Load() < 2*want {
			t.Errorf("after a timeout the client looked %d times where the masters are, want again", looks.Load())
		}
		if err := c.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}
}
