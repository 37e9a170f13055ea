package redisgate_test

import (
	"context"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"seckill/commands"
	"seckill/commands/gatetest"
	"seckill/infra/redisgate"
	"seckill/infra/testenv"
)

func TestClosingAnswersEverybodyAndLeavesNothingBehind(t *testing.T) {
	url, namespace := testenv.Redis(t), testenv.Namespace(t)
	before := goleak.IgnoreCurrent()
	gate, err := redisgate.Open(context.Background(), url, redisgate.Options{Namespace: namespace, Store: 1})
	if err != nil {
		t.Fatal(err)
	}
	stage := gatetest.NewStage(t, gatetest.Subject{Ports: gate})
	show := stage.Open(nil, 1000)
	asks := make([]commands.Reservation, 200)
	for i := range asks {
		asks[i] = stage.Ask(show, "u", 1)
	}
	var done sync.WaitGroup
	for _, r := range asks {
		done.Go(func() {
			if _, err := gate.Reserve(context.Background(), r); commands.IsUnknown(err) {
				t.Errorf("a purchase while the gate closes: got %v, want an answer or that nothing happened", err)
			}
		})
	}
	if err := gate.Close(); err != nil {
		t.Fatalf("close: %v", err)
	}
	done.Wait()
	if v, err := gate.Reserve(context.Background(), asks[0]); err == nil || commands.IsUnknown(err) {
		t.Fatalf("after the close: got %+v, %v, want that nothing happened", v, err)
	}
	if err := goleak.Find(before, goleak.IgnoreTopFunction("time.Sleep")); err != nil {
		t.Fatal(err)
	}
}
