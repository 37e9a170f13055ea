package e2e

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"seckill/infra/testenv"
)

// What a node told a buyer stays told, whatever the replica knows; and a replica that
// is away is not missed.
func TestLooksAtOrdersComeFromAReplicaAndTakeNothingBack(t *testing.T) {
	t.Parallel()
	primary, redis := testenv.PrivatePostgres(t), testenv.PrivateRedis(t, testenv.RedisOptions{})
	env := []string{"SECKILL_DATABASE_URL=" + primary.URL, "SECKILL_REDIS_URL=" + redis.URL, "SECKILL_JWT_SECRET=" + TestSecret, "SECKILL_DATA_DIR=" + t.TempDir()}
	if got := Run(t, env, "migrate", "up"); got.Code != 0 {
		t.Fatal(got.Stderr)
	}
	standby := primary.Standby()
	child := Serve(t, ChildOptions{Env: append(env, "SECKILL_VIEWS_DATABASE_URL="+standby.URL)})
	client := NewClient(child.URL)
	sale, _ := saleOn(t, client, "", "postgres", 50)
	order := buyUntilAnswered(t, client, sale, "buyer").Text("order_id")
	status := func(want string) {
		t.Helper()
		answer, err := client.Order("buyer", order, "")
		if err != nil || answer.Text("status") != want {
			t.Errorf("got %d %s, %v; want %s", answer.Status, answer.Raw, err, want)
		}
		list, err := client.Call(http.MethodGet, "/api/v1/orders?sale="+sale, "buyer", "", nil)
		orders, _ := list.Body["orders"].([]any)
		if first, _ := append(orders, nil)[0].(map[string]any); err != nil || first["status"] != want {
			t.Errorf("listed: got %d %s, %v; want %s", list.Status, list.Raw, err, want)
		}
	}
	awaitAnsweredBy(t, standby, client, "buyer", order)
	status("placed")

	pauseReplay(t, standby)
	if answer, err := client.Call(http.MethodPost, "/api/v1/orders/"+order+"/cancellation", "buyer", "", map[string]any{}); err != nil || answer.Text("status") != "cancelled" {
		t.Fatalf("cancel: got %d %s, %v", answer.Status, answer.Raw, err)
	}
	for range 5 {
		status("cancelled") // the replica still has it as placed
	}
	fresh := buyUntilAnswered(t, client, sale, "fresh").Text("order_id")
	if answer, err := client.Order("fresh", fresh, ""); err != nil || answer.Text("status") != "placed" {
		t.Errorf("an order that the replica does not have: got %d %s, %v", answer.Status, answer.Raw, err)
	}
	awaitStatusOf(t, primary, order, "cancelled")

	standby.Kill()
	for range 10 {
		status("cancelled")
	}
	if answer, err := client.Order("fresh", fresh, ""); err != nil || answer.Text("status") != "placed" {
		t.Errorf("without the replica: got %d %s, %v", answer.Status, answer.Raw, err)
	}
	standby.Start()
	primary.AwaitCaughtUp(standby)
	status("cancelled")
	awaitAnsweredBy(t, standby, client, "fresh", fresh)
}

func pauseReplay(t *testing.T, standby *testenv.PostgresServer) {
	t.Helper()
	query(t, standby, "select pg_wal_replay_pause()::text")
	testenv.Eventually(t, 30*time.Second, func() error {
		if state := query(t, standby, "select pg_get_wal_replay_pause_state()"); state != "paused" {
			return fmt.Errorf("replay is %s", state)
		}
		return nil
	})
}

func query(t *testing.T, s *testenv.PostgresServer, sql string, args ...any) (text string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), s.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	if err := conn.QueryRow(t.Context(), sql, args...).Scan(&text); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return text
}

// awaitAnsweredBy waits until a look at an order is answered by a replica, which counts
// what it reads of the view.
func awaitAnsweredBy(t *testing.T, standby *testenv.PostgresServer, c *Client, buyer, order string) {
	t.Helper()
	const scans = "select (coalesce(sum(idx_scan), 0) + coalesce(sum(seq_scan), 0))::text from pg_stat_user_tables where relname = 'order_view'"
	before := query(t, standby, scans)
	testenv.Eventually(t, 60*time.Second, func() error {
		if _, err := c.Order(buyer, order, ""); err != nil {
			return err
		}
		if now := query(t, standby, scans); now == before {
			return fmt.Errorf("the replica has read order_view %s times, as before", now)
		}
		return nil
	})
}

// awaitStatusOf waits until a view has an order as it became.
func awaitStatusOf(t *testing.T, s *testenv.PostgresServer, order, want string) {
	t.Helper()
	testenv.Eventually(t, 30*time.Second, func() error {
		if got := query(t, s, "select status from seckill.order_view where order_id = $1", order); got != want {
			return fmt.Errorf("order %s is %s in the view", order, got)
		}
		return nil
	})
}
