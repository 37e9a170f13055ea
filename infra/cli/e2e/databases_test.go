package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"seckill/infra/testenv"
)

// twoDatabases is an installation over two PostgreSQL servers, migrated.
type twoDatabases struct {
	main, b *testenv.PostgresServer
	env     []string
}

func newTwoDatabases(t *testing.T) *twoDatabases {
	t.Helper()
	d := &twoDatabases{main: testenv.PrivatePostgres(t), b: testenv.PrivatePostgres(t)}
	redis := testenv.PrivateRedis(t, testenv.RedisOptions{})
	d.env = []string{
		"SECKILL_DATABASE_URL=" + d.main.URL, "SECKILL_DATABASES=b=" + d.b.URL, "SECKILL_REDIS_URL=" + redis.URL,
		"SECKILL_NAMESPACE=several", "SECKILL_JWT_SECRET=" + TestSecret, "SECKILL_DATA_DIR=" + t.TempDir(),
	}
	if got := Run(t, d.env, "migrate", "up"); got.Code != 0 || !strings.Contains(got.Stderr, "Database b is store 2.") {
		t.Fatalf("migrate: exit %d\n%s%s", got.Code, got.Stdout, got.Stderr)
	}
	return d
}

// ask runs the program for JSON, and wants an exit code.
func (d *twoDatabases) ask(t *testing.T, to any, code int, args ...string) {
	t.Helper()
	got := Run(t, d.env, args...)
	if got.Code != code {
		t.Fatalf("%s: exit %d, want %d\n%s%s", strings.Join(args, " "), got.Code, code, got.Stdout, got.Stderr)
	}
	if err := json.Unmarshal([]byte(got.Stdout), to); err != nil {
		t.Fatalf("%s: %v in\n%s", strings.Join(args, " "), err, got.Stdout)
	}
}

// saleOn creates a sale of a strategy; database "" lets the program choose.
func saleOn(t *testing.T, c *Client, database, strategy string, stock int) (id, on string) {
	t.Helper()
	body := saleBody(stock)
	body["strategy"] = strategy
	if database != "" {
		body["database"] = database
	}
	answer, err := c.Call(http.MethodPost, "/api/v1/admin/sales", "operator", "admin", body)
	if err != nil || answer.Status != http.StatusCreated {
		t.Fatalf("create a sale: %d %s %v", answer.Status, answer.Raw, err)
	}
	return answer.Text("id"), answer.Text("database")
}

// buyUntilAnswered buys; a gate that is made ready is waited for.
func buyUntilAnswered(t *testing.T, c *Client, sale, buyer string) (answer Answer) {
	t.Helper()
	testenv.Eventually(t, 30*time.Second, func() (err error) {
		if answer, err = c.Buy(sale, buyer, buyer); err == nil && answer.Status == http.StatusServiceUnavailable {
			err = errStatus(answer)
		}
		return err
	})
	return answer
}

func awaitPlaced(t *testing.T, c *Client, buyer, order string) {
	t.Helper()
	testenv.Eventually(t, 60*time.Second, func() error {
		answer, err := c.Order(buyer, order, "?wait=1s")
		if err == nil && (answer.Status != http.StatusOK || answer.Text("status") != "placed") {
			err = errStatus(answer)
		}
		return err
	})
}

func TestTwentySalesOnTwoDatabasesAreComparedReplayedAndProvedAsOne(t *testing.T) {
	t.Parallel()
	d := newTwoDatabases(t)
	child := Serve(t, ChildOptions{Env: d.env})
	client := NewClient(child.URL)
	strategies := []string{"postgres", "redis-sync", "redis-async"}
	home := map[string]string{}
	orders := map[string]string{} // order → buyer
	for i := range 20 {
		database := ""
		if i < 2 {
			database = "b"
		}
		sale, on := saleOn(t, client, database, strategies[i%3], 3)
		if database != "" && on != database || on == "" {
			t.Fatalf("sale %d is on %q, want %q", i, on, database)
		}
		home[sale] = on
		for n := range 5 {
			buyer := fmt.Sprintf("%d-%d", i, n)
			answer := buyUntilAnswered(t, client, sale, buyer)
			switch {
			case n < 3 && answer.Status/100 == 2:
				orders[answer.Text("order_id")] = buyer
			case n < 3 || answer.Text("code") != "sold_out":
				t.Fatalf("buyer %d of sale %d: got %d %s", n, i, answer.Status, answer.Raw)
			}
		}
	}
	on := map[string]int{}
	for _, database := range home {
		on[database]++
	}
	if on["main"] != 10 || on["b"] != 10 {
		t.Errorf("sales live on %v, want ten on each: they are alike", on)
	}
	for order, buyer := range orders {
		awaitPlaced(t, client, buyer, order)
		if answer, err := client.Order("someone else", order, ""); err == nil && answer.Status != http.StatusNotFound && answer.Status != http.StatusUnauthorized {
			t.Errorf("order of another: got %d %s", answer.Status, answer.Raw)
		}
	}
	listed, err := client.Call(http.MethodGet, "/api/v1/sales", "", "", nil)
	if sales, _ := listed.Body["sales"].([]any); err != nil || len(sales) != 20 {
		t.Errorf("got %d sales, %v; want 20", len(sales), err)
	}
	for _, args := range [][]string{{"serve", "--database", "b"}, {"reconcile", "--database", "c"}, {"replay", "--follow"}, {"archive", "detach", "1"}} {
		if got := Run(t, d.env, args...); got.Code != 2 {
			t.Errorf("%v: exit %d, want 2\n%s", args, got.Code, got.Stderr)
		}
	}
	d.wantBooks(t, home, 0, "")
	d.wantReplays(t, home)
	d.wantAudit(t)
	for order := range orders {
		if got := Run(t, d.env, "trace", order); got.Code != 0 || strings.Contains(got.Stdout, "Database ") {
			t.Errorf("trace of an order: exit %d\n%s%s", got.Code, got.Stdout, got.Stderr)
		}
		break
	}
	if got := Run(t, d.env, "trace", "0-0", "--as", "buyer", "--json"); got.Code != 0 || !json.Valid([]byte(got.Stdout)) {
		t.Errorf("trace of a buyer: exit %d\n%s%s", got.Code, got.Stdout, got.Stderr)
	}
	if got := Run(t, d.env, "rebuild", "--all"); got.Code != 0 || !strings.Contains(got.Stdout, "Database b") {
		t.Errorf("rebuild: exit %d\n%s%s", got.Code, got.Stdout, got.Stderr)
	}
	spoilt := ""
	for sale, database := range home {
		if database == "b" {
			spoilt = sale
		}
	}
	conn, err := pgx.Connect(t.Context(), d.b.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	if _, err := conn.Exec(t.Context(), "update several.order_view set status = 'cancelled' where order_id = (select min(order_id) from several.order_view where sale_id = $1)", spoilt); err != nil {
		t.Fatal(err)
	}
	d.wantBooks(t, home, 3, spoilt)
	var made struct{ Database string }
	d.ask(t, &made, 0, "sale", "create", "--sku", "item", "--stock", "1", "--json")
	if made.Database != "main" && made.Database != "b" {
		t.Errorf("a sale of the command line lives on %q", made.Database)
	}
	if got := Run(t, d.env, "sale", "create", "--sku", "item", "--stock", "1", "--database", "b"); got.Code != 0 {
		t.Errorf("sale create: exit %d\n%s", got.Code, got.Stderr)
	}
	if got := Run(t, d.env, "reconcile", "--database", "main"); got.Code != 0 {
		t.Errorf("reconcile of main alone: exit %d\n%s%s", got.Code, got.Stdout, got.Stderr)
	}
	if got := Run(t, d.env, "reconcile", "--sale", spoilt); got.Code != 3 {
		t.Errorf("reconcile of the spoilt sale: exit %d\n%s%s", got.Code, got.Stdout, got.Stderr)
	}
}

// wantBooks wants one reconciliation of all sales, each on its database, in which
// spoilt alone has findings.
func (d *twoDatabases) wantBooks(t *testing.T, home map[string]string, code int, spoilt string) {
	t.Helper()
	var report struct {
		Sales []struct {
			Database, Sale string
			Drift          int
		}
	}
	d.ask(t, &report, code, "reconcile", "--json")
	if len(report.Sales) != len(home) {
		t.Errorf("%d sales compared, want %d", len(report.Sales), len(home))
	}
	for _, s := range report.Sales {
		if home[s.Sale] != s.Database || (s.Drift > 0) != (s.Sale == spoilt) {
			t.Errorf("got %+v; want it on %s, and findings in %q alone", s, home[s.Sale], spoilt)
		}
	}
}

// wantReplays wants each sale's events from wherever it lives.
func (d *twoDatabases) wantReplays(t *testing.T, home map[string]string) {
	t.Helper()
	for sale := range home {
		got := Run(t, d.env, "replay", "--sale", sale, "--json")
		lines := strings.Split(strings.TrimSpace(got.Stdout), "\n")
		foreign := slices.ContainsFunc(lines, func(l string) bool { return !strings.Contains(l, `"sale_id":"`+sale+`"`) })
		if got.Code != 0 || len(lines) < 2+3 || foreign {
			t.Errorf("replay of %s: exit %d\n%s%s", sale, got.Code, got.Stdout, got.Stderr)
		}
	}
	got := Run(t, d.env, "replay", "--type", "sale.scheduled", "--json")
	if n := strings.Count(got.Stdout, `{"database":"b",`); got.Code != 0 || n != 10 || strings.Count(got.Stdout, "\n") != 20 {
		t.Errorf("replay of all: exit %d, %d of b\n%s%s", got.Code, n, got.Stdout, got.Stderr)
	}
}

func (d *twoDatabases) wantAudit(t *testing.T) {
	t.Helper()
	var report struct {
		OK        bool
		Databases []struct {
			Database string
			OK       bool
			Events   int
		}
	}
	d.ask(t, &report, 0, "audit", "verify", "--json")
	if len(report.Databases) != 2 || !report.OK || report.Databases[1].Database != "b" || report.Databases[0].Events < 50 || report.Databases[1].Events < 50 {
		t.Errorf("got %+v", report)
	}
}
