package e2e

import (
	"context"
	"maps"
	"strings"
	"testing"

	"seckill/commands"
	"seckill/domain"
	"seckill/eventstore"
	"seckill/infra/testenv"
)

// recoverLane recovers the lane of a sale by a keeper of the test's own, on a log, and
// calls step at each of its points.
func (n *Node) recoverLane(sale string, log commands.Log, step func(string)) error {
	env := *n.Env
	env.Step = step
	keeper := commands.NewKeeper(&env, n.Sales, n.Gate, log, n.Follower, noLocks{}, commands.KeeperOptions{})
	return keeper.RecoverLane(context.Background(), domain.Place{Store: n.Env.Store, Sale: sale}.Lane())
}

// waiting makes a sale of 20 units that sold 5, and lets buyers ask for more whom
// nobody records: their purchases are in the gate and its journal alone.
func waiting(t *testing.T, r *Rig, buyers int) (n *Node, sale string, decided, waiting map[string]string) {
	t.Helper()
	n = r.Node(t, NodeOptions{})
	sale, decided = soldOut(t, n, 20, 5)
	n.Stop()
	n = r.Node(t, NodeOptions{APIOnly: true})
	if waiting = n.buyers(t, sale, "waiting", buyers); len(waiting) != buyers {
		t.Fatalf("%d purchases were accepted, want %d", len(waiting), buyers)
	}
	return n, sale, decided, waiting
}

// The backup is of a moment when a recovery had raised the lane's epoch and not yet
// recorded what the journal held. Log and gate agree on the epoch then, and no recorder
// reads the entries of the older one again: only that the log went back tells that
// something is missing.
func TestADumpFromTheMiddleOfARecoveryLosesNoAcceptedPurchase(t *testing.T) {
	t.Parallel()
	first, redis := testenv.PrivatePostgres(t), testenv.PrivateRedis(t, testenv.RedisOptions{})
	n, sale, accepted, waiting := waiting(t, rigOn(t, first.URL, redis), 6)
	var middle string
	err := n.recoverLane(sale, n.Store, func(point string) {
		if point == "recovery.after-close" {
			middle = dump(first, "middle")
		}
	})
	if err != nil || middle == "" {
		t.Fatalf("recover the lane: %v, dump in %q", err, middle)
	}
	n.AwaitDecided(t, waiting)
	n.Stop()
	first.Kill()

	second := testenv.PrivatePostgres(t)
	restore(second, middle)
	n = rigOn(t, second.URL, redis).Node(t, NodeOptions{})
	n.AwaitDecided(t, waiting)
	maps.Copy(accepted, waiting)
	StandingChecks(t, n, sale, accepted)
	if f := readFold(t, n.Store); f.placed(sale) != 11 {
		t.Errorf("got %d orders, want 11", f.placed(sale))
	}
}

// forgetful is a log that has lost its end since it was written.
type forgetful struct{ commands.Log }

func (forgetful) ReadAll(context.Context, int64, int) ([]eventstore.Record, error) { return nil, nil }

func TestARecoveryDoesNotOpenOnALogThatLostWhatItRecorded(t *testing.T) {
	t.Parallel()
	r := NewRig(t)
	n, sale, accepted, waiting := waiting(t, r, 3)
	if err := n.recoverLane(sale, forgetful{n.Store}, nil); err == nil || !strings.Contains(err.Error(), "the log went back") {
		t.Fatalf("got %v, want that the log went back", err)
	}
	lane, err := n.Gate.Lane(t.Context(), domain.Place{Store: n.Env.Store, Sale: sale}.Lane())
	if err != nil || lane.Selling() {
		t.Fatalf("got %+v, %v; want a lane that stays closed", lane, err)
	}
	if err := n.recoverLane(sale, n.Store, nil); err != nil {
		t.Fatalf("recover it again: %v", err)
	}
	n.AwaitDecided(t, waiting)
	n.Stop()
	n = r.Node(t, NodeOptions{})
	maps.Copy(accepted, waiting)
	StandingChecks(t, n, sale, accepted)
}
