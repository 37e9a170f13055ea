package e2e

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"seckill/domain"
	"seckill/eventstore"
	"seckill/eventstore/pgstore"
	"seckill/infra/pg"
	"seckill/infra/testenv"
)

// rigOn makes an installation on a cluster of the test's own, migrated unless it
// holds the schema already.
func rigOn(t testing.TB, url string, redis *testenv.RedisServer) *Rig {
	t.Helper()
	ctx := context.Background()
	const ns = "seckill"
	if err := pg.Migrate(ctx, url, ns); err != nil {
		t.Fatalf("migrate: %v", err)
	}
	pool, err := pg.Open(ctx, url, pg.Options{Namespace: ns, AppName: "e2e rig"})
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	t.Cleanup(pool.Close)
	return &Rig{Pool: pool, URL: url, Namespace: ns, Redis: redis}
}

// dump makes a backup as docs/backup.md has it, and gives its file.
func dump(s *testenv.PostgresServer, name string) string {
	file := s.File(name)
	s.Run("pg_dump", "--format=custom", "--schema=seckill", "--file="+file)
	return file
}

// restore puts a backup into an empty cluster as docs/backup.md has it.
func restore(s *testenv.PostgresServer, file string) {
	s.Run("psql", "--set=ON_ERROR_STOP=1", "--command=CREATE ROLE seckill_owner; CREATE ROLE seckill_app;")
	s.Run("pg_restore", "--dbname=seckill", "--exit-on-error", "--single-transaction", file)
}

func TestADumpRestoredIntoANewClusterGoesOnRecordingProjectingAndSelling(t *testing.T) {
	t.Parallel()
	first, redis := testenv.PrivatePostgres(t), testenv.PrivateRedis(t, testenv.RedisOptions{})
	n := rigOn(t, first.URL, redis).Node(t, NodeOptions{})
	sale, accepted := soldOut(t, n, 60, 20)
	StandingChecks(t, n, sale, accepted)
	n.Stop()
	head := readFold(t, logOf(t, first.URL)).head
	file := dump(first, "backup")
	first.Kill()

	second := testenv.PrivatePostgres(t)
	restore(second, file)
	n = rigOn(t, second.URL, redis).Node(t, NodeOptions{})
	if got := readFold(t, n.Store); got.head != head {
		t.Fatalf("the restored log ends at %s, want %s", got.head, head)
	}
	n.AwaitOpen(t, sale)
	maps.Copy(accepted, n.buyers(t, sale, "later", 25))
	StandingChecks(t, n, sale, accepted)
	if f := readFold(t, n.Store); f.head.Number <= head.Number || f.placed(sale) != 45 {
		t.Errorf("got %d orders and head %d, want 45 orders and a log that went on after %d", f.placed(sale), f.head.Number, head.Number)
	}
}

// What the log lost is recorded again, because the gate's journal still has it.
func TestAnOlderDumpIsCaughtUpFromTheGatesJournal(t *testing.T) {
	t.Parallel()
	first, redis := testenv.PrivatePostgres(t), testenv.PrivateRedis(t, testenv.RedisOptions{})
	n := rigOn(t, first.URL, redis).Node(t, NodeOptions{})
	sale, accepted := soldOut(t, n, 60, 20)
	file := dump(first, "older")
	lost := n.buyers(t, sale, "after", 15)
	n.AwaitDecided(t, lost)
	n.Stop()
	first.Kill()

	second := testenv.PrivatePostgres(t)
	restore(second, file)
	n = rigOn(t, second.URL, redis).Node(t, NodeOptions{})
	maps.Copy(accepted, lost)
	n.AwaitOpen(t, sale)
	StandingChecks(t, n, sale, accepted)
	maps.Copy(accepted, n.buyers(t, sale, "later", 30)) // 25 units are left for them
	StandingChecks(t, n, sale, accepted)
	if f := readFold(t, n.Store); f.placed(sale) != 60 {
		t.Errorf("got %d orders, want every one of the 60 units sold, none twice", f.placed(sale))
	}
}

// Nobody can be given what the log does not know to be on sale: its buyers are
// told, whether the gate remembers them or not.
func TestPurchasesOfASaleThatTheLogLostAreRejectedAndNeverForgotten(t *testing.T) {
	t.Parallel()
	for name, forget := range map[string]func(*testenv.RedisServer){"the gate remembers": func(*testenv.RedisServer) {}, "the gate is empty": (*testenv.RedisServer).Wipe} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			first, redis := testenv.PrivatePostgres(t), testenv.PrivateRedis(t, testenv.RedisOptions{})
			n := rigOn(t, first.URL, redis).Node(t, NodeOptions{})
			sale, accepted := soldOut(t, n, 20, 5)
			file := dump(first, "older")
			_, lost := soldOut(t, n, 20, 6) // a sale that the dump does not have
			n.Stop()
			first.Kill()
			forget(redis)

			second := testenv.PrivatePostgres(t)
			restore(second, file)
			n = rigOn(t, second.URL, redis).Node(t, NodeOptions{})
			n.AwaitOpen(t, sale)
			n.AwaitDecided(t, lost)
			for order, buyer := range lost {
				if answer, err := n.Finder.Find(t.Context(), buyer, order); err != nil || answer.Status != domain.OrderStatusRejected {
					t.Errorf("order of %s: got %s, %v; want it rejected", buyer, answer.Status, err)
				}
			}
			StandingChecks(t, n, sale, accepted)
			n.AwaitOpen(t, n.Schedule(t, Terms(20))) // made again, it sells
		})
	}
}

// Where the gate lost its memory as well, what only the lost commits knew is
// lost; nobody is sold a unit twice, and who asks is told.
func TestAnOlderDumpWithAnEmptyGateSellsWhatTheLogSaysIsLeft(t *testing.T) {
	t.Parallel()
	first, redis := testenv.PrivatePostgres(t), testenv.PrivateRedis(t, testenv.RedisOptions{})
	n := rigOn(t, first.URL, redis).Node(t, NodeOptions{})
	sale, kept := soldOut(t, n, 30, 10)
	file := dump(first, "older")
	lost := n.buyers(t, sale, "after", 5)
	n.AwaitDecided(t, lost)
	n.Stop()
	first.Kill()
	redis.Wipe()

	second := testenv.PrivatePostgres(t)
	restore(second, file)
	n = rigOn(t, second.URL, redis).Node(t, NodeOptions{})
	n.AwaitOpen(t, sale)
	for order, buyer := range lost {
		testenv.Eventually(t, 60*time.Second, func() error {
			answer, err := n.Finder.Find(context.Background(), buyer, order)
			if err == nil && answer.Status != domain.OrderStatusRejected {
				err = fmt.Errorf("the lost order of %s is %s", buyer, answer.Status)
			}
			return err
		})
	}
	maps.Copy(kept, n.buyers(t, sale, "later", 30)) // 20 units are left for them
	StandingChecks(t, n, sale, kept)
	if f := readFold(t, n.Store); f.placed(sale) != 30 {
		t.Errorf("got %d orders, want 30: every unit sold once", f.placed(sale))
	}
}

// AwaitAgreement waits until gate, log and views agree. Where the gate has applied
// what the log lost, the sweeper builds those stock hashes again within seconds.
func (n *Node) AwaitAgreement(t testing.TB) {
	t.Helper()
	testenv.Eventually(t, 60*time.Second, func() error {
		report, err := n.Reconciler.Reconcile(context.Background(), "")
		if err == nil && report.Drift() > 0 {
			err = fmt.Errorf("%d findings: %+v", report.Drift(), report.Sales)
		}
		return err
	})
}

// logOf opens a log to read after its node has stopped.
func logOf(t *testing.T, url string) eventstore.Reader {
	t.Helper()
	pool, err := pg.Open(t.Context(), url, pg.Options{Namespace: "seckill", ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pgstore.NewReader(pool)
}

// A log that was restored without the views stands behind them.
func TestViewsThatAreAheadOfTheLogAreRefusedWithAWayForward(t *testing.T) {
	t.Parallel()
	first, redis := testenv.PrivatePostgres(t), testenv.PrivateRedis(t, testenv.RedisOptions{})
	r := rigOn(t, first.URL, redis)
	child := ServeRig(t, r)
	client := NewClient(child.URL)
	sale := client.CreateSale(t, 20)
	client.buy(t, sale, "early", 5)
	older := dump(first, "older")
	client.buy(t, sale, "late", 5)
	awaitProjected(t, r)
	child.Stop()
	views := first.File("views")
	first.Run("pg_dump", "--format=custom", "--data-only", "--file="+views, "--table=seckill.checkpoints", "--table=seckill.order_view",
		"--table=seckill.stock_log", "--table=seckill.sale_summary")
	r.Pool.Close()
	first.Kill()

	second := testenv.PrivatePostgres(t)
	restore(second, older)
	second.Run("psql", "--command=TRUNCATE seckill.checkpoints, seckill.order_view, seckill.stock_log, seckill.sale_summary")
	second.Run("pg_restore", "--dbname=seckill", "--exit-on-error", "--data-only", views)
	r = rigOn(t, second.URL, redis)
	env := append(r.Settings(t), "SECKILL_HTTP_ADDR=127.0.0.1:0")
	wantOneSentence(t, Run(t, env, "serve"), 1, "seckill rebuild --all")
	wantOneSentence(t, Run(t, env, "serve", "--roles", "recorder"), 1, "docs/backup.md")

	// The way forward that it names.
	wantOneSentence(t, Run(t, env, "rebuild", "--all"), 3, "--accept-log-loss")
	if done := Run(t, env, "rebuild", "--all", "--accept-log-loss"); done.Code != 0 {
		t.Fatalf("rebuild: exit code %d, %s", done.Code, done.Stderr)
	}
	wantOneSentence(t, Run(t, env, "serve"), 1, "DELETE FROM seckill.checkpoints WHERE projection = 'relay'")
	second.Run("psql", "--command=DELETE FROM seckill.checkpoints WHERE projection = 'relay'")
	child = ServeRig(t, r)
	client = NewClient(child.URL)
	awaitProjected(t, r)
	client.buy(t, sale, "later", 5)
	awaitProjected(t, r)
	if done := Run(t, r.Settings(t), "reconcile"); done.Code != 0 {
		t.Errorf("reconcile: exit code %d, %s%s", done.Code, done.Stdout, done.Stderr)
	}
	if f := readFold(t, logOf(t, second.URL)); f.placed(sale) != 15 {
		t.Errorf("got %d orders, want 15: those the log lost came back from the gate's journal", f.placed(sale))
	}
}

// buy lets so many buyers buy over HTTP and waits until they are placed.
func (c *Client) buy(t *testing.T, sale, prefix string, count int) {
	t.Helper()
	for i := range count {
		buyer := fmt.Sprintf("%s-%d", prefix, i)
		var order string
		testenv.Eventually(t, 30*time.Second, func() error {
			answer, err := c.Buy(sale, buyer, "key-"+buyer)
			if order = answer.Text("order_id"); err == nil && order == "" {
				err = errStatus(answer)
			}
			return err
		})
		testenv.Eventually(t, 30*time.Second, func() error {
			answer, err := c.Order(buyer, order, "?wait=1s")
			if err == nil && answer.Text("status") != "placed" {
				err = errStatus(answer)
			}
			return err
		})
	}
}

// awaitProjected waits until every view and the relay have come to the head.
func awaitProjected(t *testing.T, r *Rig) {
	t.Helper()
	testenv.Eventually(t, 30*time.Second, func() error {
		var behind string
		err := r.Pool.QueryRow(context.Background(), `
select coalesce(string_agg(format('%s/%s is at %s', projection, shard, position), ', '), '') from checkpoints
where position < (select max(position) from events)`).Scan(&behind)
		if err == nil && behind != "" {
			err = errors.New(behind)
		}
		return err
	})
}

// A seal that was exported outlives the database it was made in.
func TestALogThatIsBehindItsExportedSealIsRefusedUntilTheLossIsAccepted(t *testing.T) {
	t.Parallel()
	first, redis := testenv.PrivatePostgres(t), testenv.PrivateRedis(t, testenv.RedisOptions{})
	r := rigOn(t, first.URL, redis)
	env := append(r.Settings(t), "SECKILL_SEAL_AFTER=100ms")
	child := Serve(t, ChildOptions{Env: env})
	client := NewClient(child.URL)
	sale := client.CreateSale(t, 20)
	client.buy(t, sale, "early", 5)
	older := dump(first, "older")
	client.buy(t, sale, "late", 5)
	awaitAllSealed(t, r)
	child.Stop()
	r.Pool.Close()
	first.Kill()

	second := testenv.PrivatePostgres(t)
	restore(second, older)
	env = slices.DeleteFunc(env, func(kv string) bool { return strings.HasPrefix(kv, "SECKILL_DATABASE_URL=") })
	env = append(env, "SECKILL_DATABASE_URL="+second.URL)
	here := append(slices.Clone(env), "SECKILL_HTTP_ADDR=127.0.0.1:0")
	wantOneSentence(t, Run(t, here, "serve"), 1, "seckill audit accept-loss")
	// An operator's action would be written over what a newer backup still has.
	wantOneSentence(t, Run(t, here, "sale", "create", "--sku", "a", "--stock", "1"), 1, "seckill audit accept-loss")
	if done := Run(t, env, "audit", "verify"); done.Code != 3 {
		t.Errorf("verify: exit code %d, want 3 for a log that lacks what was sealed; %s", done.Code, done.Stdout)
	}
	if done := Run(t, env, "audit", "accept-loss", "--reason", "the disk is gone"); done.Code != 0 {
		t.Fatalf("accept the loss: exit code %d, %s", done.Code, done.Stderr)
	}
	child = Serve(t, ChildOptions{Env: env})
	client = NewClient(child.URL)
	client.buy(t, sale, "later", 5)
	r = &Rig{Pool: rigOn(t, second.URL, redis).Pool}
	awaitProjected(t, r)
	if f := readFold(t, logOf(t, second.URL)); f.placed(sale) != 15 {
		t.Errorf("got %d orders, want 15: those the log lost came back from the gate's journal", f.placed(sale))
	}
	child.Stop()
	if done := Run(t, env, "audit", "verify"); done.Code != 0 {
		t.Errorf("verify afterwards: exit code %d, %s", done.Code, done.Stdout)
	}
	child = Serve(t, ChildOptions{Env: env}) // and it starts again
	StandingChecks(t, rigOn(t, second.URL, redis).Node(t, NodeOptions{APIOnly: true}), sale, nil)
	child.Stop()
}
