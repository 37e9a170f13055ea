package e2e

import (
	"flag"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/api"
	"seckill/domain"
	"seckill/infra/testenv"
)

var (
	crowdBuyers = flag.Int("crowd.buyers", 4_000, "distinct buyers who come too late")
	crowdJunk   = flag.Int("crowd.junk", 4_000, "distinct ids of no sale, and a tenth as many of no order")
)

const (
	crowdConns = 64
	// roomLive and roomResident are by how many MiB the second half of a crowd may
	// surpass the first: the least that a collection left on the heap, and the most that
	// the process had. What is measured is what the last collection left, so in a short
	// run it may miss what 64 connections need. Half a million buyers who left 32 bytes
	// each would fill the first.
	roomLive     = 16
	roomResident = 32
	// crowdWarm is how many requests come before each kind is measured: connections and
	// pools grow with the first ones, whoever sends them.
	crowdWarm = 500
	// roomKeys is for what the keeper has in the gate for a moment.
	roomKeys = 4
	// longLine is behind an id of which the rest of its request must not be kept.
	longLine = 2 << 10
)

// crowded is a node with every gate on, and two sales in which nothing is left.
type crowded struct {
	t           *testing.T
	child       *Child
	client      *Client
	host        string
	plain       string // everybody may buy
	ticketed    string // whoever has one of its tickets
	cache, gate *redis.Client
	cacheMost   held
	answers     map[string]int
}

func newCrowded(t *testing.T) *crowded {
	t.Helper()
	rig := NewRig(t)
	limits := testenv.PrivateRedis(t, testenv.RedisOptions{})
	child := ServeRig(t, rig, "SECKILL_LIMIT_PURCHASES=5", "SECKILL_LIMIT_POLLS=20", "SECKILL_LIMIT_ENDPOINT=1000000", "SECKILL_CACHE_REDIS_URL="+limits.URL)
	f := &funnel{t, NewClient(child.URL)}
	c := &crowded{
		t: t, child: child, client: f.Client, host: strings.TrimPrefix(child.URL, "http://"),
		cache: redisOf(t, limits.URL), gate: redisOf(t, rig.Redis.URL), answers: map[string]int{},
	}
	c.plain, c.ticketed = f.sale(1, nil), f.sale(1, map[string]any{"tokens": 1, "require_ticket": true})
	awaitSelling(t, c.client, c.plain)
	ticket := f.want("the only ticket", 201, "", f.asks(c.ticketed, "first", nil)).Text("ticket")
	testenv.Eventually(t, 30*time.Second, func() error {
		answer, err := f.buys(c.ticketed, "first", "", "Purchase-Ticket", ticket)()
		if err == nil && answer.Status != http.StatusAccepted && answer.Status != http.StatusOK {
			err = errStatus(answer)
		}
		return err
	})
	testenv.Eventually(t, 30*time.Second, func() error { // a series each
		seen, err := overviewOf(c.client)
		if err == nil && len(seen.Sales.Sales) != 2 {
			err = fmt.Errorf("the node sees %d sales of two", len(seen.Sales.Sales))
		}
		return err
	})
	return c
}

// request writes one request of a buyer, "" for nobody.
func (c *crowded) request(dst []byte, line, buyer, headers, body string) []byte {
	dst = append(append(dst, line...), " HTTP/1.1\r\nHost: "...)
	dst = append(append(dst, c.host...), "\r\n"...)
	if buyer != "" {
		token, err := api.SignToken([]byte(TestSecret), buyer, "", "", time.Hour)
		if err != nil {
			c.t.Error(err) // the server will refuse it
		}
		dst = append(append(append(dst, "Authorization: Bearer "...), token...), "\r\n"...)
	}
	dst = append(dst, headers...)
	if strings.HasPrefix(line, http.MethodPost) {
		if body != "" {
			dst = append(dst, "Content-Type: application/json\r\n"...)
		}
		dst = strconv.AppendInt(append(dst, "Content-Length: "...), int64(len(body)), 10)
		dst = append(dst, "\r\n"...)
	}
	return append(append(dst, "\r\n"...), body...)
}

const crowdBody = `{"sku":"item","quantity":1}`

// late is a buyer who comes too late; every fourth presses twice.
func (c *crowded) late(dst []byte, i int) []byte {
	buyer := fmt.Sprintf("late-%d", i/5*4+min(i%5, 3))
	switch i / 5 % 8 {
	case 5: // asks for a ticket
		return c.request(dst, "POST /api/v1/sales/"+c.ticketed+"/tickets", buyer, "", "")
	case 6: // comes without one
		return c.request(dst, "POST /api/v1/sales/"+c.ticketed+"/purchases", buyer, "", crowdBody)
	case 7: // makes one up
		return c.request(dst, "POST /api/v1/sales/"+c.ticketed+"/purchases", buyer, "Purchase-Ticket: "+buyer+".made.up\r\n", crowdBody)
	}
	return c.request(dst, "POST /api/v1/sales/"+c.plain+"/purchases", buyer, "Idempotency-Key: "+buyer+"\r\n", crowdBody)
}

// junkSale asks for what is no sale.
func (c *crowded) junkSale(dst []byte, i int) []byte {
	id := domain.SaleNumber(1<<39 + i).ID()
	pad := "?" + strings.Repeat("x", longLine)
	switch i % 6 {
	case 0:
		return c.request(dst, "GET /s/"+id+pad, "", "", "")
	case 1:
		return c.request(dst, "GET /api/v1/sales/"+id+pad, "", "", "")
	case 2:
		return c.request(dst, "POST /api/v1/sales/"+id+"/purchases"+pad, fmt.Sprintf("stray-%d", i), "", crowdBody)
	case 3:
		return c.request(dst, "POST /api/v1/sales/"+id+"/tickets", fmt.Sprintf("stray-%d", i), "", "")
	case 4:
		return c.request(dst, fmt.Sprintf("GET /s/no-sale-%d/v%d", i, i), "", "", "")
	}
	return c.request(dst, fmt.Sprintf("GET /api/v1/sales/%s-%d", strings.Repeat("y", 200), i), "", "", "")
}

// junkOrder asks for what is no order of this buyer.
func (c *crowded) junkOrder(dst []byte, i int) []byte {
	buyer := fmt.Sprintf("nosy-%d", i)
	keys := domain.Keys{Current: 1, Secrets: map[uint8][]byte{1: []byte("not the secret of this installation")}}
	id, err := domain.NewOrderID(keys, domain.Place{Sale: c.plain}, buyer, [10]byte{byte(i >> 24), byte(i >> 16), byte(i >> 8), byte(i)})
	if err != nil {
		c.t.Error(err)
	}
	path := "/api/v1/orders/" + id
	switch i % 5 {
	case 0:
		return c.request(dst, "GET "+path, buyer, "", "")
	case 1:
		return c.request(dst, "GET "+path+"?wait=5s&after=3", buyer, "", "")
	case 2:
		return c.request(dst, "GET "+path+"/proof", buyer, "", "")
	case 3:
		return c.request(dst, "POST "+path+"/cancellation", buyer, "", "")
	}
	return c.request(dst, fmt.Sprintf("GET /api/v1/orders/no-order-%d", i), buyer, "", "")
}

func TestMemoryDoesNotDependOnHowManyBuyersAndMadeUpIDsThereWere(t *testing.T) {
	c := newCrowded(t)
	gate, fresh := heldBy(t, c.gate), c.stands()
	t.Logf("before: %d MiB in memory, %.1f MiB live, %d series", fresh.resident, fresh.live, len(fresh.series))
	total := 0
	for _, w := range []wave{
		{"late buyers", *crowdBuyers / 4 * 5, c.late, []string{"409 sold_out", "403 ticket_required", "403 ticket_invalid"}},
		{"ids of no sale", *crowdJunk, c.junkSale, []string{"404 sale_not_found", "404 not_found"}},
		{"ids of no order", *crowdJunk / 10, c.junkOrder, []string{"404 order_not_found"}},
	} {
		total += w.n + crowdWarm
		c.part(w, w.n, crowdWarm)
		half := c.send(w)
		if half[1].live > half[0].live+roomLive || half[1].resident > half[0].resident+roomResident {
			t.Errorf("%s: from the first half to the second the live heap went from %.1f to %.1f MiB, the process from %d to %d MiB",
				w.name, half[0].live, half[1].live, half[0].resident, half[1].resident)
		}
		if more := slices.DeleteFunc(slices.Sorted(maps.Keys(half[1].series)), func(name string) bool { return fresh.series[name] }); len(more) > 0 {
			t.Errorf("%s: series that were not there before: %q", w.name, more)
		}
	}
	for _, answer := range slices.Sorted(maps.Keys(c.answers)) {
		t.Logf("%s: %d", answer, c.answers[answer])
	}
	_, most := memoryOf(t, c.child.cmd.Process.Pid)
	after := heldBy(t, c.gate)
	t.Logf("%d requests: the process had %d MiB at most; the Redis of limits and tickets %d keys and %.1f MiB at most; the gate's Redis %d keys, %.1f MiB before and %.1f after",
		total, most, c.cacheMost.keys, float64(c.cacheMost.bytes)/(1<<20), after.keys, float64(gate.bytes)/(1<<20), float64(after.bytes)/(1<<20))
	if after.keys > gate.keys+roomKeys || after.bytes > gate.bytes+roomLive<<20 {
		t.Errorf("the refused left something in the gate: %+v before, %+v after", gate, after)
	}
	lines := strings.Count(c.child.log.tail(1<<30), "\n")
	t.Logf("log: %d lines", lines)
	if lines > total/50+500 {
		t.Errorf("%d refused requests wrote %d lines of log", total, lines)
	}
	testenv.Eventually(t, 30*time.Second, func() error { // who has the order meets it
		answer, err := c.client.Buy(c.plain, "first", "click")
		if err == nil && (answer.Status != http.StatusOK || answer.Body["repeat"] != true) {
			err = errStatus(answer)
		}
		return err
	})
}
