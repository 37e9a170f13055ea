package testenv_test

import (
	"context"
	"testing"

	"github.com/redis/go-redis/v9"

	"seckill/infra/testenv"
)

func TestAClusterMovesSlotsAndGetsOverADeath(t *testing.T) {
	c := testenv.PrivateRedisCluster(t, 1)
	addrs := make([]string, 0, len(c.Servers))
	for _, s := range c.Servers {
		addrs = append(addrs, client(t, s.URL).Options().Addr)
	}
	all := redis.NewClusterClient(&redis.ClusterOptions{Addrs: addrs})
	defer all.Close()
	ctx := context.Background()
	for _, key := range []string{"{k}a", "{k}b", "{k}c"} {
		if err := all.Set(ctx, key, "v", 0).Err(); err != nil {
			t.Fatal(err)
		}
	}
	first := c.Master("{k}a")
	if n := c.MoveSlot("{k}a"); n != 3 {
		t.Fatalf("moved %d keys, want 3", n)
	}
	second := c.Master("{k}a")
	if second == first || second == nil {
		t.Fatal("the slot has not moved")
	}
	c.Fail("{k}a")
	if third := c.Master("{k}a"); third == second || third == nil {
		t.Fatal("no replica has taken the place of the dead master")
	}
}

func TestASentinelNamesTheReplicaOfADeadMaster(t *testing.T) {
	r := testenv.PrivateSentinel(t)
	r.Fail(t)
	if now, err := r.Master(); err != nil || now != r.Servers[1] {
		t.Fatalf("the master is not the replica: %v", err)
	}
}
