package e2e

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"seckill/infra/figures"
	"seckill/infra/load"
)

// crowdPerAccepted is how many are refused for each who buys: nine in ten and more.
const crowdPerAccepted = 99

// mix lets some buy in a sale with stock while others are refused in one without.
type mix struct {
	child      *Child
	open, gone string
	buyers     []string // tokens of those who buy, each once
	crowd      []string // tokens of those who are refused, again and again
}

// timed is how long accepted purchases took.
type timed struct{ p50, p99 time.Duration }

// send lets n buyers come at a rate a second, and with each of them so many others.
func (m *mix) send(b *testing.B, n, rate, others int) timed {
	b.Helper()
	each := others + 1
	arrivals := make([]time.Duration, n*each)
	for i := range arrivals {
		arrivals[i] = time.Duration(i) * time.Second / time.Duration(rate*each)
	}
	buyers := m.buyers[:n]
	m.buyers = m.buyers[n:]
	run, err := load.Start(b.Context(), load.Attack{
		Addr: strings.TrimPrefix(m.child.URL, "http://"), Arrivals: arrivals, Conns: 64, Timeout: 10 * time.Second,
		Build: func(dst []byte, i int) []byte {
			if i%each == 0 {
				return m.request(dst, m.open, buyers[i/each])
			}
			return m.request(dst, m.gone, m.crowd[i%len(m.crowd)])
		},
		Judge: func(i int, a load.Answer) load.Next {
			bought := a.Err == nil && a.Status/100 == 2
			refused := a.Err == nil && a.Status == http.StatusConflict
			if i%each == 0 && bought {
				return load.Next{Outcome: load.Accepted, OK: true}
			}
			if i%each != 0 && refused {
				return load.Next{Outcome: "sold_out"}
			}
			return load.Next{Outcome: fmt.Sprintf("%d %v %.200s", a.Status, a.Err, a.Body), Failed: true}
		},
	}, time.Now())
	if err != nil {
		b.Fatal(err)
	}
	seen := run.Wait()
	if seen.Failed > 0 || seen.OK != n {
		b.Fatalf("%d of %d bought: %v", seen.OK, n, seen.Outcomes)
	}
	var took []time.Duration
	for i := 0; i < len(seen.Sights); i += each {
		took = append(took, seen.Sights[i].Latency)
	}
	slices.Sort(took)
	return timed{p50: took[len(took)/2], p99: took[len(took)*99/100]}
}

func (m *mix) request(dst []byte, sale, token string) []byte {
	const body = `{"sku":"item","quantity":1}`
	return fmt.Appendf(dst, "POST /api/v1/sales/%s/purchases HTTP/1.1\r\nHost: seckill\r\nAuthorization: Bearer %s\r\n"+
		"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", sale, token, len(body), body)
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// BenchmarkAcceptedBesideRefused is the time of purchases that are accepted, alone
// and while for each of them 99 others are refused.
func BenchmarkAcceptedBesideRefused(b *testing.B) {
	const rate = 50 // accepted a second
	r := durableRig(b)
	child := ServeRig(b, r, gatesOn[:]...)
	client := NewClient(child.URL)
	m := &mix{child: child, open: client.CreateSale(b, 10_000_000), gone: soldOutSale(b, client)}
	n := rate * max(1, int(refusalsFor.Seconds())) * *refusalsRounds
	m.crowd = tokensOf(b, *refusalsBuyers)
	for i := range b.N * (2*n + rate) {
		m.buyers = append(m.buyers, signed(b, fmt.Sprintf("winner-%d", i)))
	}
	b.ResetTimer()
	for range b.N {
		m.send(b, rate, rate, crowdPerAccepted) // warms up
		alone, beside := m.send(b, n, rate, 0), m.send(b, n, rate, crowdPerAccepted)
		b.Logf("p99 of %d accepted purchases: %s alone, %s while %d/s are refused (p50 %s, %s)",
			n, alone.p99, beside.p99, rate*crowdPerAccepted, alone.p50, beside.p50)
		figures.Tell(b, figures.Figure{Row: "crowded", Ours: ms(beside.p99), Yardstick: ms(alone.p99), Value: float64(beside.p99) / float64(alone.p99),
			Settings: r.settings(b), Details: []figures.Detail{
				{Name: "p50 beside the crowd", Value: ms(beside.p50), Unit: "ms"}, {Name: "p50 alone", Value: ms(alone.p50), Unit: "ms"},
				{Name: "accepted a second", Value: rate}, {Name: "refused a second beside them", Value: rate * crowdPerAccepted},
			}})
	}
}
