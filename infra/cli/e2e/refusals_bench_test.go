package e2e

import (
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/labstack/echo/v4"

	"seckill/api"
	"seckill/infra/figures"
	"seckill/infra/testenv"
)

var (
	refusalsFor    = flag.Duration("refusals.for", time.Second, "how long each side is driven in a round")
	refusalsRounds = flag.Int("refusals.rounds", 1, "how often both sides are driven")
	refusalsBuyers = flag.Int("refusals.buyers", 60_000, "distinct buyers of the crowd")
	refusalsConns  = flag.Int("refusals.conns", 128, "connections of the crowd")
)

// bareAddr tells a copy of this test binary that it is the yardstick, and where.
const bareAddr = "SECKILL_TEST_BARE_ADDR"

// TestBareHandler is the yardstick as a process of its own: one Echo handler that
// binds a purchase and answers with JSON, and does nothing else.
func TestBareHandler(t *testing.T) {
	addr := os.Getenv(bareAddr)
	if addr == "" {
		t.Skip("only a process that is started for it serves the yardstick")
	}
	e := echo.New()
	e.HideBanner, e.HidePort = true, true
	e.POST("/api/v1/sales/:sale/purchases", func(c echo.Context) error {
		var body struct {
			SKU      string `json:"sku"`
			Quantity int64  `json:"quantity"`
		}
		if err := c.Bind(&body); err != nil {
			return err
		}
		return c.JSON(http.StatusConflict, map[string]any{"code": "sold_out", "sku": body.SKU, "quantity": body.Quantity})
	})
	if err := e.Start(addr); err != nil {
		t.Fatal(err)
	}
}

// side is one of the two servers that are compared.
type side struct {
	url, path string
	pid       int
	rates     []float64 // answers a second, a round each
	costs     []float64 // µs of processor time an answer, a round each
}

// driven is what wrk saw of a run.
type driven struct {
	requests, micros, refused, broken, p99 int64
}

// wrk drives one path with buyers of a file.
func wrk(t testing.TB, url, path, tokens string, conns int, howLong time.Duration) driven {
	t.Helper()
	tool := testenv.Program(t, "wrk", "wrk")
	cmd := exec.CommandContext(t.Context(), tool, "-t", "1", "-c", fmt.Sprint(conns), "-d", fmt.Sprintf("%ds", max(1, int(howLong.Seconds()))),
		"-s", filepath.Join("testdata", "buyers.lua"), url, "--", path, tokens)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("run wrk: %v\n%s", err, out)
	}
	var d driven
	_, result, _ := strings.Cut(string(out), "RESULT ")
	if _, err := fmt.Sscan(result, &d.requests, &d.micros, &d.refused, &d.broken, &d.p99); err != nil || d.requests == 0 || d.broken > 0 {
		t.Fatalf("wrk saw broken answers, or none:\n%s", out)
	}
	return d
}

// drive lets wrk ask one side, all of whose answers must be refusals.
func (s *side) drive(t testing.TB, tokens string, howLong time.Duration) {
	t.Helper()
	before := processorTime(t, s.pid)
	d := wrk(t, s.url, s.path, tokens, *refusalsConns, howLong)
	spent := processorTime(t, s.pid) - before
	if d.refused != d.requests {
		t.Fatalf("%d of %d answers at %s were refusals", d.refused, d.requests, s.url)
	}
	s.rates = append(s.rates, float64(d.requests)/(float64(d.micros)/1e6))
	s.costs = append(s.costs, float64(spent.Microseconds())/float64(d.requests))
}

// processorTime is what a process has used, in user and kernel mode.
func processorTime(t testing.TB, pid int) time.Duration {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Skipf("no /proc here: %v", err)
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(rest)
	var user, system int64
	if _, err := fmt.Sscan(fields[11]+" "+fields[12], &user, &system); err != nil {
		t.Fatal(err)
	}
	const tick = 10 * time.Millisecond // of Linux, for every program
	return time.Duration(user+system) * tick
}

func median(of []float64) float64 {
	sorted := slices.Sorted(slices.Values(of))
	return sorted[len(sorted)/2]
}

// startBare starts the yardstick and waits until it answers.
func startBare(t testing.TB) *side {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestBareHandler$")
	cmd.Env = cleanEnv(bareAddr + "=" + addr)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }) // it ends by being killed
	testenv.Eventually(t, 30*time.Second, func() error {
		c, err := net.Dial("tcp", addr)
		if err == nil {
			err = c.Close()
		}
		return err
	})
	return &side{url: "http://" + addr, path: "/api/v1/sales/none/purchases", pid: cmd.Process.Pid}
}

// tokensOf gives a token for each of n buyers.
func tokensOf(t testing.TB, n int) []string {
	t.Helper()
	tokens := make([]string, n)
	for i := range tokens {
		tokens[i] = signed(t, fmt.Sprintf("buyer-%d", i))
	}
	return tokens
}

// signed gives a token of a buyer.
func signed(t testing.TB, buyer string) string {
	t.Helper()
	token, err := api.SignToken([]byte(TestSecret), buyer, "", "", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// tokenFile writes a token for each of n buyers.
func tokenFile(t testing.TB, n int) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(file, []byte(strings.Join(tokensOf(t, n), "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// soldOutSale makes a sale of one unit and sells it.
func soldOutSale(t testing.TB, c *Client) string {
	t.Helper()
	sale := c.CreateSale(t, 1)
	testenv.Eventually(t, 60*time.Second, func() error {
		a, err := c.Buy(sale, "the-first", "k")
		if err == nil && a.Status != http.StatusAccepted && a.Status != http.StatusOK {
			err = errStatus(a)
		}
		return err
	})
	return sale
}

// ticketSale makes a sale of one unit that gives out one ticket, and sells it to who
// got that: everybody else is refused before any store.
func ticketSale(t testing.TB, c *Client) string {
	t.Helper()
	opens := time.Now().Add(3 * time.Second)
	terms := saleBody(1)
	terms["tokens"], terms["require_ticket"], terms["opens_at"] = 1, true, opens.Format(time.RFC3339Nano)
	made, err := c.Call(http.MethodPost, "/api/v1/admin/sales", "operator", "admin", terms)
	if err != nil || made.Status != http.StatusCreated {
		t.Fatalf("create a sale with tickets: %d %s %v", made.Status, made.Raw, err)
	}
	path := "/api/v1/sales/" + made.Text("id")
	ticket, err := c.Call(http.MethodPost, path+"/tickets", "the-first", "", nil)
	if err != nil || ticket.Status != http.StatusCreated {
		t.Fatalf("get the ticket: %d %s %v", ticket.Status, ticket.Raw, err)
	}
	testenv.Eventually(t, 60*time.Second, func() error {
		a, err := c.Call(http.MethodPost, path+"/purchases", "the-first", "", map[string]any{"sku": "item", "quantity": 1}, "Purchase-Ticket", ticket.Text("ticket"))
		if err == nil && a.Status/100 != 2 {
			err = errStatus(a)
		}
		return err
	})
	testenv.Eventually(t, 60*time.Second, func() error { // this node knows that the book is full
		a, err := c.Call(http.MethodPost, path+"/tickets", "the-second", "", nil)
		if err == nil && a.Text("code") != "sold_out" {
			err = errStatus(a)
		}
		return err
	})
	return made.Text("id")
}

// BenchmarkRefusalsBesideABareHandler is how many purchases a node refuses beside how many a bare
// handler of the same framework answers, with every gate on and all units gone: in a
// sale for everybody (sold out, by a look that began after the purchase came), and in
// one for who has a ticket.
func BenchmarkRefusalsBesideABareHandler(b *testing.B) {
	tokens := tokenFile(b, *refusalsBuyers)
	for row, sell := range map[string]func(testing.TB, *Client) string{"refusals": soldOutSale, "refusals-tickets": ticketSale} {
		b.Run(row, func(b *testing.B) {
			r := durableRig(b)
			child := ServeRig(b, r, gatesOn[:]...)
			sale := sell(b, NewClient(child.URL))
			ours := &side{url: child.URL, path: "/api/v1/sales/" + sale + "/purchases", pid: child.cmd.Process.Pid}
			f := compare(b, startBare(b), ours, tokens)
			f.Row, f.Settings = row, r.settings(b)
			figures.Tell(b, f)
		})
	}
}

func compare(b *testing.B, bare, ours *side, tokens string) figures.Figure {
	for range b.N {
		bare.rates, bare.costs, ours.rates, ours.costs = nil, nil, nil, nil
		for range *refusalsRounds {
			bare.drive(b, tokens, *refusalsFor)
			ours.drive(b, tokens, *refusalsFor)
		}
	}
	rate, cost := median(ours.rates)/median(bare.rates), median(bare.costs)/median(ours.costs)
	b.Logf("a second: %.0f of %.0f (%.2f ×); processor time: %.1f µs of %.1f µs (%.2f ×); the smaller counts: %.2f ×",
		median(ours.rates), median(bare.rates), rate, median(ours.costs), median(bare.costs), cost, min(rate, cost))
	return figures.Figure{Ours: median(ours.rates), Yardstick: median(bare.rates), Value: min(rate, cost), Details: []figures.Detail{
		{Name: "ratio of rates", Value: rate, Unit: "×"},
		{Name: "ratio of the server's processor time a request", Value: cost, Unit: "×"},
		{Name: "processor time of our process a refusal", Value: median(ours.costs), Unit: "µs"},
		{Name: "processor time of the bare handler a request", Value: median(bare.costs), Unit: "µs"},
		{Name: "rounds", Value: float64(*refusalsRounds), Unit: fmt.Sprintf("of %s a side, %d buyers over %d connections", *refusalsFor, *refusalsBuyers, *refusalsConns)},
	}}
}
