package e2e

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"seckill/domain"
	"seckill/infra/pg/pgtest"
	"seckill/infra/testenv"
)

// TestSalesOfOtherMastersGoOnWhileOneIsDead: a crowd that presses for a sale whose
// master is dead is turned away, and keeps nobody from the sales of another.
func TestSalesOfOtherMastersGoOnWhileOneIsDead(t *testing.T) {
	t.Parallel()
	cluster := testenv.PrivateRedisCluster(t, 0)
	pool, url, namespace := pgtest.New(t)
	rig := &Rig{Pool: pool, URL: url, Namespace: namespace, Redis: &testenv.RedisServer{URL: cluster.URL}}
	child := ServeRig(t, rig, "SECKILL_LIMIT_PURCHASES=5")
	client := NewClient(child.URL)
	awaitMetric(t, client, "seckill_limit_store_up 1\n") // limits are shared over the cluster
	masterOf := func(sale string) *testenv.RedisServer {
		return cluster.Master(fmt.Sprintf("%s:{s1l%d}:lane", namespace, domain.Place{Store: 1, Sale: sale}.Lane()))
	}
	dead, living := client.CreateSale(t, 100), client.CreateSale(t, 100)
	for masterOf(living) == masterOf(dead) {
		living = client.CreateSale(t, 100)
	}
	awaitSelling(t, client, dead)
	awaitSelling(t, client, living)

	masterOf(dead).Kill()
	var crowd sync.WaitGroup
	stop := make(chan struct{})
	for i := range 8 {
		crowd.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				answer, err := client.Buy(dead, fmt.Sprintf("d-%d-%d", i, n), "click")
				if err != nil || (answer.Status != http.StatusServiceUnavailable && answer.Status != http.StatusAccepted) {
					t.Errorf("a sale without its master: got %d %s, %v, want 503 or 202", answer.Status, answer.Raw, err)
					return
				}
			}
		})
	}
	awaitMetric(t, client, `seckill_breaker_state{store="redis"} 2`+"\n")
	began, n := time.Now(), 0
	for ; time.Since(began) < 2*time.Second && n < 90; n++ {
		if got := press(t, client, living, fmt.Sprintf("l-%d", n)); got != http.StatusAccepted && got != http.StatusCreated {
			t.Errorf("a sale of another master: got status %d", got)
		}
	}
	close(stop)
	crowd.Wait()
	if n == 0 {
		t.Error("nobody bought")
	}
}
