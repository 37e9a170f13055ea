package redisgate_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"seckill/commands/gatetest"
	"seckill/domain"
	"seckill/eventstore"
	"seckill/infra/redisgate"
	"seckill/infra/testenv"
)

func TestGateOnAClusterKeepsTheContract(t *testing.T) {
	c := testenv.PrivateRedisCluster(t, 0)
	gatetest.Run(t, func(tb testing.TB) gatetest.Subject {
		return gatetest.Subject{
			Ports: openGate(tb, c.URL, redisgate.Options{Namespace: testenv.Namespace(tb)}),
			Failover: func(testing.TB) {
				for _, s := range c.Servers {
					s.Restart()
				}
				c.AwaitReady()
			},
		}
	})
}

// clustered is a stage on a cluster.
type clustered struct {
	*gatetest.Stage
	*testenv.RedisCluster
	gate      *redisgate.Gate
	namespace string
}

func newClustered(t *testing.T, replicas int, config ...string) clustered {
	t.Helper()
	c := clustered{RedisCluster: testenv.PrivateRedisCluster(t, replicas, config...), namespace: testenv.Namespace(t)}
	c.gate = openGate(t, c.URL, redisgate.Options{Namespace: c.namespace})
	c.Stage = gatetest.NewStage(t, gatetest.Subject{Ports: c.gate})
	return c
}

func (c clustered) key(show *gatetest.Show) string {
	return fmt.Sprintf("%s:{s1l%d}:lane", c.namespace, show.Place.Lane())
}

// awaitClosed asks for a unit until the gate has found where the lane is now. It must
// not sell there.
func (c clustered) awaitClosed(t *testing.T, show *gatetest.Show) {
	t.Helper()
	testenv.Eventually(t, 30*time.Second, func() error {
		v, err := c.gate.Reserve(context.Background(), c.Ask(show, "early", 1))
		if err == nil && v.Outcome != domain.NotReady {
			t.Fatalf("a lane on another server answered %s before a recovery", v.Outcome)
		}
		return err
	})
}

func TestALaneWhoseSlotMovedSellsAgainAfterARecovery(t *testing.T) {
	c := newClustered(t, 0)
	show := c.Open(nil, 3)
	c.Buy(show, "u", domain.Reserved, 1)
	c.Record(show)
	c.Buy(show, "v", domain.Reserved, 1) // in the journal alone
	if n := c.MoveSlot(c.key(show)); n < 4 {
		t.Fatalf("moved %d keys of the lane, want 4 or more", n)
	}
	c.awaitClosed(t, show)
	c.Recover(show.Place.Lane())
	c.WantLeft(show, "A", 1)
	c.Buy(show, "v", domain.Repeat, 1)
	c.Buy(show, "w", domain.Reserved, 1)
	c.Buy(show, "x", domain.SoldOut, 1)
}

func TestALaneOfADeadMasterSellsAgainAfterItsReplicaWasPromoted(t *testing.T) {
	c := newClustered(t, 1)
	show := c.Open(nil, 3)
	c.Buy(show, "u", domain.Reserved, 1)
	c.Record(show)
	c.Fail(c.key(show))
	c.awaitClosed(t, show)
	c.Recover(show.Place.Lane())
	c.WantLeft(show, "A", 2)
	c.Buy(show, "u", domain.Repeat, 1)
	c.Buy(show, "w", domain.Reserved, 1)
}

func TestADeadMasterHidesTheJournalsOfItsOwnLanesAlone(t *testing.T) {
	c := newClustered(t, 0)
	dead := c.Open(nil, 1)
	living := c.Open(nil, 1)
	for c.Master(c.key(living)) == c.Master(c.key(dead)) {
		living = c.Open(nil, 1)
	}
	c.Master(c.key(dead)).Kill()
	c.Buy(living, "u", domain.Reserved, 1)
	cursor := func(show *gatetest.Show) eventstore.Cursor {
		return eventstore.Cursor{Lane: show.Place.Lane(), Epoch: 1}
	}
	got, err := c.gate.Read(context.Background(), []eventstore.Cursor{cursor(dead), cursor(living)}, 10, 10*time.Second)
	if err != nil || len(got) != 1 || got[0].Lane != living.Place.Lane() {
		t.Fatalf("read: got %+v, %v, want the entry of the other master", got, err)
	}
	if got, err := c.gate.Read(context.Background(), []eventstore.Cursor{cursor(dead)}, 10, 0); err == nil {
		t.Fatalf("read of a dead master: got %+v, want its fault", got)
	}
}

func TestAClusterWithOneMasterThatMayEvictIsRefused(t *testing.T) {
	c := testenv.PrivateRedisCluster(t, 0)
	if err := client(t, c.Servers[2].URL).ConfigSet(context.Background(), "maxmemory-policy", "allkeys-lru").Err(); err != nil {
		t.Fatal(err)
	}
	wantRefusal(t, c.URL, "set maxmemory-policy noeviction")
}
