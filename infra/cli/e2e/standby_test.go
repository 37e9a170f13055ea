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

	"seckill/commands"
	"seckill/domain"
	"seckill/infra/testenv"
)

// A standby that lacks the last commits takes over while nodes run on.
func TestAPromotedStandbyThatLostCommitsIsCaughtUpFromTheGatesJournal(t *testing.T) {
	t.Parallel()
	primary, redis := testenv.PrivatePostgres(t), testenv.PrivateRedis(t, testenv.RedisOptions{})
	rigOn(t, primary.URL, redis).Pool.Close()
	standby := primary.Standby()
	both := strings.Replace(primary.URL, primary.Addr(), primary.Addr()+","+standby.Addr(), 1) + "&target_session_attrs=read-write"
	n := rigOn(t, both, redis).Node(t, NodeOptions{})
	sale, accepted := soldOut(t, n, 200, 40)
	paused, _ := soldOut(t, n, 5, 2)
	primary.AwaitCaughtUp(standby)
	standby.Kill() // the network between them is gone

	maps.Copy(accepted, n.buyers(t, sale, "unreplicated", 30))
	n.AwaitDecided(t, accepted)
	if _, err := n.Operator.Pause(t.Context(), paused, domain.PausedByOperator, commands.Actor{By: "test"}); err != nil {
		t.Fatal(err)
	}
	before := readFold(t, n.Store).head
	primary.Kill()
	maps.Copy(accepted, n.buyers(t, sale, "meanwhile", 10)) // Redis decides while PostgreSQL is away
	standby.Start()
	standby.Promote()

	maps.Copy(accepted, n.buyers(t, sale, "after", 20))
	if len(accepted) != 100 {
		t.Fatalf("got %d accepted orders, want 100", len(accepted))
	}
	n.AwaitAgreement(t)
	StandingChecks(t, n, sale, accepted)
	if f := readFold(t, n.Store); f.placed(sale) != 100 || len(f.sales[paused].Pauses) != 0 {
		t.Errorf("got %d orders and pauses %v; want all 100, and the pause forgotten with its commit", f.placed(sale), f.sales[paused].Pauses)
	}
	if r, ok, err := n.Store.At(t.Context(), before.Number); err != nil || (ok && r.Hash == before.Hash) {
		t.Errorf("position %d is %v, %v: the test has lost nothing", before.Number, r.Hash, err)
	}
	n.AwaitOpen(t, paused)
	if _, err := n.Buy(paused, "someone"); err != nil {
		t.Errorf("the sale whose pause was lost does not sell: %v", err)
	}
}

// The program itself, with both addresses, over a promotion that lost commits
// which were sealed already.
func TestAServerFollowsAPromotionAndSealsAgainOnceTheLossIsAccepted(t *testing.T) {
	t.Parallel()
	primary, redis := testenv.PrivatePostgres(t), testenv.PrivateRedis(t, testenv.RedisOptions{})
	r := rigOn(t, primary.URL, redis)
	standby := primary.Standby()
	r.URL = strings.Replace(primary.URL, primary.Addr(), primary.Addr()+","+standby.Addr(), 1) + "&target_session_attrs=read-write"
	env := append(r.Settings(t), "SECKILL_SEAL_AFTER=100ms")
	child := Serve(t, ChildOptions{Env: env})
	client := NewClient(child.URL)
	sale := client.CreateSale(t, 40)
	client.buy(t, sale, "early", 5)
	primary.AwaitCaughtUp(standby)
	standby.Kill()
	client.buy(t, sale, "unreplicated", 5)
	awaitAllSealed(t, r)
	r.Pool.Close()
	primary.Kill()
	standby.Start()
	standby.Promote()

	client.buy(t, sale, "after", 5)
	r = rigOn(t, standby.URL, redis)
	testenv.Eventually(t, 60*time.Second, func() error {
		if done := Run(t, env, "reconcile"); done.Code != 0 {
			return errors.New(done.Stdout + done.Stderr)
		}
		return child.Ready()
	})
	awaitProjected(t, r)
	if f := readFold(t, logOf(t, standby.URL)); f.placed(sale) != 15 {
		t.Errorf("got %d orders, want 15: five of them from the gate's journal", f.placed(sale))
	}
	testenv.Eventually(t, 30*time.Second, func() error {
		if !strings.Contains(child.Log(), "log not sealed") {
			return errors.New("the server does not say that it cannot seal")
		}
		return nil
	})
	if done := Run(t, env, "replay", "--as-of", "0s", "--json"); strings.Count(done.Stdout, `"kind":"order"`) != 15 {
		t.Errorf("replay over both addresses: exit code %d, %s", done.Code, done.Stderr)
	}
	here := append(slices.Clone(env), "SECKILL_HTTP_ADDR=127.0.0.1:0")
	wantOneSentence(t, Run(t, here, "serve"), 1, "seckill audit accept-loss")
	if done := Run(t, env, "audit", "accept-loss", "--reason", "the primary burnt"); done.Code != 0 {
		t.Fatalf("accept the loss: exit code %d, %s", done.Code, done.Stderr)
	}
	awaitAllSealed(t, r)
	if done := Run(t, env, "audit", "verify"); done.Code != 0 {
		t.Errorf("verify: exit code %d, %s%s", done.Code, done.Stdout, done.Stderr)
	}
	child.Restart()
	StandingChecks(t, r.Node(t, NodeOptions{APIOnly: true}), sale, nil)
}

// awaitAllSealed waits until the last event is under a seal.
func awaitAllSealed(t *testing.T, r *Rig) {
	t.Helper()
	testenv.Eventually(t, 30*time.Second, func() error {
		var open int64
		err := r.Pool.QueryRow(context.Background(), "select (select max(position) from events) - coalesce((select max(last_position) from seals), 0)").Scan(&open)
		if err == nil && open != 0 {
			err = fmt.Errorf("%d positions are not sealed yet", open)
		}
		return err
	})
}
