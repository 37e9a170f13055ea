package redisgate_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"seckill/commands/gatetest"
	"seckill/domain"
	"seckill/eventstore"
	"seckill/infra/redisgate"
	"seckill/infra/testenv"
)

func TestGateWhoseLanesLiveApartKeepsTheContract(t *testing.T) {
	one, other := testenv.PrivateRedis(t, testenv.RedisOptions{}), testenv.PrivateRedis(t, testenv.RedisOptions{})
	gatetest.Run(t, func(tb testing.TB) gatetest.Subject {
		return gatetest.Subject{
			Ports: openGate(tb, one.URL, redisgate.Options{
				Namespace: testenv.Namespace(tb), Elsewhere: []redisgate.LaneRange{{From: 10, To: 30, URL: other.URL}, {From: 40, To: 63, URL: other.URL}},
			}),
			Failover: func(testing.TB) {
				one.Restart()
				other.Restart()
			},
		}
	})
}

func TestADeadServerHidesTheJournalsOfItsOwnLanesAlone(t *testing.T) {
	one, other := testenv.PrivateRedis(t, testenv.RedisOptions{}), testenv.PrivateRedis(t, testenv.RedisOptions{})
	gate := openGate(t, one.URL, redisgate.Options{Elsewhere: []redisgate.LaneRange{{From: 32, To: 63, URL: other.URL}}})
	stage := gatetest.NewStage(t, gatetest.Subject{Ports: gate})
	living, dead := stage.Open(nil, 1), stage.Open(nil, 1)
	for living.Place.Lane() >= 32 {
		living = stage.Open(nil, 1)
	}
	for dead.Place.Lane() < 32 {
		dead = stage.Open(nil, 1)
	}
	if a, b := gate.Server(living.Place.Lane()), gate.Server(dead.Place.Lane()); a == b || a == "" || b == "" {
		t.Errorf("the servers of two lanes: got %q and %q", a, b)
	}
	other.Kill()
	stage.Buy(living, "u", domain.Reserved, 1)
	after := []eventstore.Cursor{{Lane: dead.Place.Lane(), Epoch: 1}, {Lane: living.Place.Lane(), Epoch: 1}}
	got, err := gate.Read(context.Background(), after, 10, 10*time.Second)
	if err != nil || len(got) != 1 || got[0].Lane != living.Place.Lane() {
		t.Fatalf("read: got %+v, %v, want the entry of the other server", got, err)
	}
	if got, err := gate.Read(context.Background(), after[:1], 10, 0); err == nil {
		t.Fatalf("read of a dead server: got %+v, want its fault", got)
	}
	if sale, rest := gate.Pools(); sale.TotalConns == 0 || rest.TotalConns == 0 {
		t.Errorf("pools: got %+v and %+v", sale, rest)
	}
}

func TestEveryServerOfLanesIsChecked(t *testing.T) {
	good := testenv.PrivateRedis(t, testenv.RedisOptions{})
	evicts := testenv.PrivateRedis(t, testenv.RedisOptions{Config: []string{"maxmemory-policy allkeys-lru"}})
	_, err := redisgate.Open(context.Background(), good.URL, redisgate.Options{Namespace: "n", Store: 1, Elsewhere: []redisgate.LaneRange{{From: 5, To: 5, URL: evicts.URL}}})
	if err == nil || !strings.Contains(err.Error(), "set maxmemory-policy noeviction") {
		t.Errorf("got %v, want that the second server is refused", err)
	}
}
