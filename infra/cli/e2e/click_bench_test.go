package e2e

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"seckill/infra/figures"
	"seckill/infra/load"
)

var (
	clickStock = flag.Int("click.stock", 1500, "purchases of the rush that tells the peak")
	clickFor   = flag.Duration("click.for", 2*time.Second, "how long buyers come at half of the peak")
	clickRate  = flag.Float64("click.rate", 0, "purchases a second instead of half of the peak, to compare two builds")
)

// clickLookers is of how many buyers one waits to hear that the order is placed.
const clickLookers = 10

// BenchmarkFromClickToPlaced is how long it takes at half of the peak rate until a buyer
// knows that the order is placed, counted from the moment at which the click was due:
// the 99th percentile, beside a sync of the disk and a question to Redis.
func BenchmarkFromClickToPlaced(b *testing.B) {
	r := durableRig(b)
	node := ServeRig(b, r, gatesOn[:]...)
	x := newRushes(b, r, node, *clickStock)
	for range b.N {
		flushed, asked := fsyncTime(b), redisTime(b, r)
		peakSale := x.openSale()
		peak := x.rush(peakSale)
		r.awaitProjected(b, peakSale, peak.accepted())
		rate := float64(peak.accepted()) / time.Since(peak.began).Seconds() / 2
		if *clickRate > 0 {
			rate = *clickRate
		}
		x.buyers = int(rate * clickFor.Seconds())
		c := &clickCrowd{sale: x.openSale(), host: strings.TrimPrefix(node.URL, "http://"), tokens: tokensOf(b, x.buyers)}
		before := r.spentBy(b, node)
		took := c.run(b, rate)
		r.awaitProjected(b, c.sale, x.buyers)
		each := r.spentBy(b, node).each(before, x.buyers)
		p99 := took[len(took)*99/100]
		figures.Tell(b, figures.Figure{
			Row: "click", Ours: ms(p99), Yardstick: ms(flushed + asked), Value: float64(p99) / float64(flushed+asked), Settings: r.settings(b),
			Details: []figures.Detail{
				{Name: "half of the peak", Value: rate, Unit: "purchases/s"},
				{Name: "p50 from the click to placed", Value: ms(took[len(took)/2]), Unit: "ms"},
				{Name: "p99.9", Value: ms(took[len(took)*999/1000]), Unit: "ms"},
				{Name: "p99 from the click to the 202", Value: ms(c.answered), Unit: "ms"},
				{Name: "buyers who waited to hear it", Value: float64(len(took))},
				{Name: "one sync of the disk, median", Value: ms(flushed), Unit: "ms"},
				{Name: "one question to Redis, median", Value: ms(asked), Unit: "ms"},
				{Name: "processor time of our process a purchase at that pace, those who ask for their orders included", Value: each.node, Unit: "µs"},
				{Name: "processor time of Redis a purchase", Value: each.redis, Unit: "µs"},
				{Name: "processor time of PostgreSQL a purchase", Value: each.postgres, Unit: "µs"},
				{Name: "the load itself was late by at most", Value: ms(c.late), Unit: "ms"},
			},
		})
	}
}

// clickCrowd is buyers who come at a steady rate.
type clickCrowd struct {
	sale, host string
	tokens     []string
	orders     []string        // of who waits for it, once accepted
	placed     []time.Duration // from the due click, of who waited
	answered   time.Duration   // p99 of the answers to purchases
	late       time.Duration
}

// run lets them come and gives, in order, how long it took until those who waited knew.
func (c *clickCrowd) run(b *testing.B, rate float64) []time.Duration {
	b.Helper()
	n := len(c.tokens)
	c.orders, c.placed = make([]string, n), make([]time.Duration, n)
	arrivals := make([]time.Duration, n)
	for i := range arrivals {
		arrivals[i] = time.Duration(float64(i) / rate * float64(time.Second))
	}
	m, start := &mix{}, time.Now().Add(50*time.Millisecond)
	run, err := load.Start(b.Context(), load.Attack{
		Addr: c.host, Arrivals: arrivals, Conns: 512, Timeout: time.Minute,
		Build: func(dst []byte, i int) []byte {
			if c.orders[i] == "" {
				return m.request(dst, c.sale, c.tokens[i])
			}
			return fmt.Appendf(dst, "GET /api/v1/orders/%s?wait=20s HTTP/1.1\r\nHost: seckill\r\nAuthorization: Bearer %s\r\n\r\n", c.orders[i], c.tokens[i])
		},
		Judge: func(i int, a load.Answer) load.Next {
			next := c.judge(i, a)
			if next.Outcome == orderPlaced {
				c.placed[i] = time.Since(start) - arrivals[i]
			}
			return next
		},
	}, start)
	if err != nil {
		b.Fatal(err)
	}
	seen := run.Wait()
	took := slices.DeleteFunc(c.placed, func(d time.Duration) bool { return d == 0 })
	if seen.OK != n || len(took) < n/clickLookers {
		b.Fatalf("%d of %d bought, %d of %d heard that their order is placed: %v", seen.OK, n, len(took), n/clickLookers, seen.Outcomes)
	}
	slices.Sort(took)
	c.answered, c.late = seen.Latency(99), seen.PaceLate
	return took
}

// orderPlaced is what buyers wait to hear.
const orderPlaced = "placed"

// judge says what a buyer does: one in ten waits until the order is placed.
func (c *clickCrowd) judge(i int, a load.Answer) load.Next {
	switch {
	case a.Err != nil:
		return load.Next{Outcome: a.Err.Error(), Failed: true}
	case a.Status == http.StatusServiceUnavailable || a.Status == http.StatusTooManyRequests:
		return load.Next{Again: 50 * time.Millisecond}
	case a.Status/100 != 2:
		return load.Next{Outcome: fmt.Sprintf("%d %.200s", a.Status, a.Body), Failed: true}
	case i%clickLookers != 0:
		return load.Next{Outcome: load.Accepted, OK: true}
	}
	var order struct {
		ID     string `json:"order_id"`
		Status string `json:"status"`
	}
	if err := json.NewDecoder(bytes.NewReader(a.Body)).Decode(&order); err != nil {
		return load.Next{Outcome: err.Error(), Failed: true}
	}
	waiting := c.orders[i] != ""
	c.orders[i] = order.ID
	switch {
	case order.Status == orderPlaced:
		return load.Next{Outcome: orderPlaced, OK: true}
	case waiting: // the wait was over before there was news
		return load.Next{Again: time.Millisecond}
	}
	return load.Next{Outcome: load.Accepted, OK: true, Then: time.Nanosecond}
}

// fsyncTime is the median time of writing a page of 8 KB and having it on disk.
func fsyncTime(b *testing.B) time.Duration {
	b.Helper()
	f, err := os.Create(filepath.Join(b.TempDir(), "page"))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	page := make([]byte, 8<<10)
	return medianTime(b, 300, func() error {
		if _, err := f.WriteAt(page, 0); err != nil {
			return err
		}
		return f.Sync()
	})
}

// redisTime is the median time of one question to the rig's Redis.
func redisTime(b *testing.B, r *Rig) time.Duration {
	b.Helper()
	c := redisOf(b, r.Redis.URL)
	return medianTime(b, 2000, func() error { return c.Ping(b.Context()).Err() })
}

func medianTime(b *testing.B, times int, do func() error) time.Duration {
	b.Helper()
	took := make([]time.Duration, times)
	for i := range took {
		began := time.Now()
		if err := do(); err != nil {
			b.Fatal(err)
		}
		took[i] = time.Since(began)
	}
	slices.Sort(took)
	return took[times/2]
}
