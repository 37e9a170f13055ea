package limits

import (
	"fmt"
	"testing"
	"time"

	"seckill/infra/testenv"
)

func TestOnAClusterNodesKeepOneLimitAndTellEachOtherOfMarks(t *testing.T) {
	c := testenv.PrivateRedisCluster(t, 0)
	var all [3]*Shared
	var stores [3]*Store
	for i := range all {
		stores[i] = openStore(t, c.URL, StoreOptions{Namespace: "ns", Patience: patient, ProbeEvery: 50 * time.Millisecond})
		all[i] = shared(t, Options{Limit: 5, Window: time.Minute}, stores[i], 0)
	}
	for i := range 2 * tags { // of all hash tags, most likely
		if got := raceNodes(t, all[:], fmt.Sprintf("buyer-%d", i)); got != 5 {
			t.Errorf("at three nodes %d racing attempts passed, want 5", got)
		}
	}
	one, marks := boardOf(t, c.URL, "ns", "one", time.Now)
	two, _ := boardOf(t, c.URL, "ns", "two", time.Now)
	marks.Add("purchases", "greedy")
	awaitMark(t, two, "one", "greedy", 1)
	awaitMark(t, one, "one", "greedy", 1)

	c.Servers[1].Kill() // without a replica
	testenv.Eventually(t, 30*time.Second, func() error {
		if stores[0].Up() {
			return fmt.Errorf("the store is not known to be away")
		}
		return nil
	})
	if !all[0].Take(t.Context(), "fresh").OK {
		t.Error("a buyer was refused because the store is away")
	}
	c.Servers[1].Restart()
	testenv.Eventually(t, 30*time.Second, func() error {
		if !stores[0].Up() {
			return fmt.Errorf("the store is not known to be back")
		}
		return nil
	})
}

func TestEveryHashTagIsProbed(t *testing.T) {
	seen := map[int]bool{}
	for i := range 10 * tags {
		seen[tagOf(fmt.Sprintf("probe%d", i))] = true
	}
	if len(seen) != tags {
		t.Errorf("got %d tags, want %d", len(seen), tags)
	}
}
