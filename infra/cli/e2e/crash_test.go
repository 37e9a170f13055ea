package e2e

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"seckill/domain"
	"seckill/infra/testenv"
)

// clicks lets buyers click until each is answered, as people do: a broken
// connection or a 503 is clicked again, under the same key. It gives the orders
// that were promised, by their buyers.
func clicks(t *testing.T, url, sale string, buyers int) (promised map[string]string, wait func()) {
	return clicksInTurn(t, url, sale, buyers, 0)
}

// clicksInTurn is clicks where of the first buyers each waits until the order of the one
// before is recorded, or its node is gone: so many appends there are at least.
func clicksInTurn(t *testing.T, url, sale string, buyers, first int) (promised map[string]string, wait func()) {
	promised = map[string]string{}
	var mu sync.Mutex
	var all sync.WaitGroup
	deadline := time.Now().Add(90 * time.Second)
	click := func(i int) (buyer, order string) {
		client := NewClient(url)
		for buyer = fmt.Sprintf("buyer-%d", i); time.Now().Before(deadline); {
			answer, err := client.Buy(sale, buyer, "key-of-"+buyer)
			if err == nil && (answer.Status == http.StatusAccepted || answer.Status == http.StatusCreated || answer.Status == http.StatusOK) {
				mu.Lock()
				promised[answer.Text("order_id")] = buyer
				mu.Unlock()
				return buyer, answer.Text("order_id")
			}
			if err == nil && answer.Status == http.StatusConflict {
				return buyer, ""
			}
			time.Sleep(50 * time.Millisecond) // a person's pause; nothing is waited for
		}
		t.Errorf("%s was never answered", buyer)
		return buyer, ""
	}
	all.Go(func() {
		for i := range buyers {
			if i >= first {
				time.Sleep(8 * time.Millisecond) // they come one after another
				all.Go(func() { click(i) })
				continue
			}
			buyer, order := click(i)
			for order != "" && time.Now().Before(deadline) {
				told, err := NewClient(url).Order(buyer, order, "?wait=1s&after=0")
				if err != nil || told.Text("status") != "queued" {
					break
				}
			}
		}
	})
	return promised, all.Wait
}

// TestB16KilledBetweenAnyTwoSteps kills the process at each named point of the
// flow in the middle of a sale and starts it again.
func TestB16KilledBetweenAnyTwoSteps(t *testing.T) {
	for _, point := range []string{
		"purchase.before-gate:7", "purchase.after-gate:7",
		"recorder.before-commit:2", "append.locked:4", "append.before-commit:4", "append.after-commit:4",
		"recorder.after-commit:2", "recorder.after-apply:2",
		"relay.before-publish:2", "relay.after-publish:2", "relay.after-mark:2",
		"projection.before-commit:9", "projection.after-commit:9",
	} {
		t.Run(point, func(t *testing.T) { killedAt(t, domain.StrategyRedisAsync, point) })
	}
}

// killedAt kills a process at a named point in the middle of a sale of a strategy, and
// starts it again: every unit is sold, and every promise kept.
func killedAt(t *testing.T, in domain.Strategy, point string) {
	const stock, buyers = 30, 60
	rig := NewRig(t)
	child := NewChild(t, ChildOptions{Env: rig.Settings(t)})
	child.Start()
	child.AwaitReady()
	sale := createIn(t, NewClient(child.URL), in, stock)
	child.Restart("SECKILL_CRASH_AT=" + point)
	promised, wait := clicksInTurn(t, child.URL, sale, buyers, 10)
	child.AwaitEnd(60 * time.Second)
	child.Start()
	child.AwaitReady()
	wait()
	observer := rig.Node(t, NodeOptions{APIOnly: true})
	observer.AwaitOpen(t, sale)
	StandingChecks(t, observer, sale, promised)
	if got := readFold(t, observer.Store).placed(sale); got != stock {
		t.Errorf("%d orders placed, want every one of %d units sold", got, stock)
	}
}

// TestB21KilledInTheMiddleOfARecovery kills the process at each point of a lane's
// recovery, which a restart of Redis causes, and starts it again.
func TestB21KilledInTheMiddleOfARecovery(t *testing.T) {
	for _, point := range []string{"recovery.after-epoch", "recovery.after-close", "recovery.after-drain", "recovery.before-open"} {
		t.Run(point, func(t *testing.T) {
			rig := NewRig(t)
			child := NewChild(t, ChildOptions{Env: rig.Settings(t)})
			child.Start()
			child.AwaitReady()
			sale := NewClient(child.URL).CreateSale(t, 20)
			promised, wait := clicks(t, child.URL, sale, 10)
			wait()
			child.Restart("SECKILL_CRASH_AT=" + point)
			rig.Redis.Kill()
			rig.Redis.Restart()
			child.AwaitEnd(60 * time.Second)
			child.Start()
			child.AwaitReady()
			observer := rig.Node(t, NodeOptions{APIOnly: true})
			observer.AwaitOpen(t, sale)
			more, wait := clicks(t, child.URL, sale, 25)
			wait()
			for order, buyer := range more {
				promised[order] = buyer
			}
			StandingChecks(t, observer, sale, promised)
			if got := readFold(t, observer.Store).placed(sale); got != 20 {
				t.Errorf("%d orders placed, want 20", got)
			}
		})
	}
}

func TestKilledWhileASaleIsMadeReady(t *testing.T) {
	rig := NewRig(t)
	child := NewChild(t, ChildOptions{Env: rig.Settings(t)})
	child.Start("SECKILL_CRASH_AT=preheat.after-note:2")
	child.AwaitReady()
	client := NewClient(child.URL)
	// The first sale opens its lane by a recovery; so does the second, or it is
	// preheated beside the first. Go on until the point is met.
	for range 200 {
		if _, err := client.Call(http.MethodPost, "/api/v1/admin/sales", "operator", "admin", saleBody(3)); err != nil {
			break
		}
	}
	child.AwaitEnd(30 * time.Second)
	child.Start()
	child.AwaitReady()
	observer := rig.Node(t, NodeOptions{APIOnly: true})
	sales, err := observer.Sales.IDs(t.Context())
	if err != nil || len(sales) == 0 {
		t.Fatalf("sales %v, %v", sales, err)
	}
	for _, sale := range sales {
		observer.AwaitOpen(t, sale)
	}
	promised, wait := clicks(t, child.URL, sales[len(sales)-1], 5)
	wait()
	StandingChecks(t, observer, sales[len(sales)-1], promised)
}

func TestKilledBetweenHoldingASaleAndRecordingIt(t *testing.T) {
	rig := NewRig(t)
	child := NewChild(t, ChildOptions{Env: rig.Settings(t)})
	child.Start("SECKILL_CRASH_AT=operator.after-hold")
	child.AwaitReady()
	client := NewClient(child.URL)
	sale := client.CreateSale(t, 3)
	if _, err := client.Call(http.MethodPost, "/api/v1/admin/sales/"+sale+"/pause", "operator", "admin", nil); err == nil {
		t.Fatal("the pause was answered: the point was not met")
	}
	child.AwaitEnd(30 * time.Second)
	child.Start()
	child.AwaitReady()
	// Nobody recorded the pause: the hold it left is taken away, and the sale sells.
	promised := map[string]string{}
	testenv.Eventually(t, 60*time.Second, func() error {
		answer, err := client.Buy(sale, "patient", "k")
		if err == nil && answer.Status != http.StatusAccepted {
			err = errStatus(answer)
		}
		promised[answer.Text("order_id")] = "patient"
		return err
	})
	delete(promised, "")
	observer := rig.Node(t, NodeOptions{APIOnly: true})
	StandingChecks(t, observer, sale, promised)
}
