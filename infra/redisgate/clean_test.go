package redisgate_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"seckill/commands/gatetest"
	"seckill/domain"
	"seckill/infra/redisgate"
	"seckill/infra/testenv"
)

// What belongs to a sale may be forgotten when nobody keeps it any more; what a
// recovery needs of a lane is never.
func TestOnlyWhatBelongsToASaleIsEverForgotten(t *testing.T) {
	url, namespace := testenv.Redis(t), testenv.Namespace(t)
	gate := openGate(t, url, redisgate.Options{Namespace: namespace})
	stage := gatetest.NewStage(t, gatetest.Subject{Ports: gate})
	show := stage.Open(nil, 5, 5)
	stage.Buy(show, "buyer", domain.Reserved, 1)
	ctx, c := context.Background(), client(t, url)
	ttl := func(key string) time.Duration {
		t.Helper()
		left, err := c.PTTL(ctx, fmt.Sprintf("%s:{s1l%d}:%s", namespace, show.Place.Lane(), key)).Result()
		if err != nil {
			t.Fatal(err)
		}
		return left
	}
	keys := []string{"sale:" + show.Place.Sale + ":0", "stock:" + show.Place.Sale + ":A:0", "stock:" + show.Place.Sale + ":B:0"}
	for _, key := range keys {
		if left := ttl(key); left > 0 {
			t.Errorf("%s before it is kept: it goes in %s", key, left)
		}
	}
	if err := gate.KeepSale(ctx, show.Place, show.Sale.SKUs(), time.Hour); err != nil {
		t.Fatal(err)
	}
	stage.Buy(show, "another", domain.Reserved, 0, 1) // writing does not change it
	for _, key := range keys {
		if left := ttl(key); left < 59*time.Minute || left > time.Hour {
			t.Errorf("%s: it goes in %s, want in an hour", key, left)
		}
	}
	for _, key := range []string{"lane", "journal"} {
		if left := ttl(key); left > 0 {
			t.Errorf("%s: it goes in %s, want never", key, left)
		}
	}
}
