package e2e

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"seckill/infra/testenv"
)

var (
	bucketsRuns  = flag.Int("buckets.runs", 1, "sales of many buckets whose processes are killed")
	bucketsStock = flag.Int("buckets.stock", 400, "units of each of them")
	bucketsOf    = flag.Int("buckets.of", 16, "into how many buckets they are dealt")
)

// bucketPoints are points at which a process is killed in the course of a move, and of
// what surrounds it; "" kills it anywhere.
func bucketPoints() []string {
	return []string{"", "level.after-move", "recorder.before-withdrawal", "recorder.after-withdrawal", "recorder.after-commit",
		"recorder.after-apply", "append.before-commit", "append.after-commit", "purchase.after-gate"}
}

// TestEveryUnitOfManyBucketsIsSoldAlthoughProcessesAreKilled sells sales of many buckets
// to buyers who live in two of them, through two processes that are killed again and
// again: every unit is sold, none twice, and nobody is told sold out before.
func TestEveryUnitOfManyBucketsIsSoldAlthoughProcessesAreKilled(t *testing.T) {
	rig := NewRig(t)
	children := []*Child{ServeRig(t, rig), ServeRig(t, rig)}
	observer := rig.Node(t, NodeOptions{APIOnly: true})
	for run := range *bucketsRuns {
		began := time.Now()
		kills := killedSale(t, rig, observer, children)
		t.Logf("run %d of %d: %d units, %d kills, %s", run+1, *bucketsRuns, *bucketsStock, kills, time.Since(began).Round(time.Millisecond))
		if t.Failed() {
			return
		}
	}
}

// killedSale is one such sale; it gives how often a process was killed.
func killedSale(t *testing.T, rig *Rig, observer *Node, children []*Child) (kills int64) {
	body := saleBody(*bucketsStock)
	body["buckets"] = *bucketsOf
	answer, err := NewClient(children[0].URL).Call(http.MethodPost, "/api/v1/admin/sales", "operator", "admin", body)
	if err != nil || answer.Status != http.StatusCreated {
		t.Fatalf("create a sale of %d buckets: %d %s, %v", *bucketsOf, answer.Status, answer.Raw, err)
	}
	sale := answer.Text("id")
	observer.AwaitOpen(t, sale)
	buyers := buyersOf(sale, *bucketsOf, *bucketsStock+*bucketsStock/10, 0, *bucketsOf/2)
	over := make(chan struct{})
	var killing sync.WaitGroup
	var killed atomic.Int64
	killing.Go(func() { killInTurns(children, over, &killed) })
	promised, soldOut := clicksOfBuyers(t, children, sale, buyers)
	close(over)
	killing.Wait()
	for _, c := range children { // also those that live: they may be about to end at a point
		c.Kill()
		c.Start()
		c.AwaitReady()
	}
	StandingChecks(t, observer, sale, promised)
	if got := readFold(t, observer.Store).placed(sale); got != *bucketsStock {
		t.Errorf("%d orders placed of %d units; %d were promised, %d told sold out", got, *bucketsStock, len(promised), soldOut)
	}
	out, in, refused, units := observer.movesOf(t, sale)
	if out != in || out == 0 {
		t.Errorf("%d moves out and %d in", out, in)
	}
	t.Logf("%d moves of %d units, %d refused", out, units, refused)
	return killed.Load()
}

// killInTurns kills one process after the other, at a point of the flow or anywhere, and
// starts it again.
func killInTurns(children []*Child, over <-chan struct{}, killed *atomic.Int64) {
	points := bucketPoints()
	for turn := 0; ; turn++ {
		c := children[turn%len(children)]
		c.Kill()
		killed.Add(1)
		point := points[rand.N(len(points))]
		if point != "" {
			point = fmt.Sprintf("SECKILL_CRASH_AT=%s:%d", point, 1+rand.N(20))
		}
		c.Start(point)
		for c.Alive() && c.Ready() != nil {
			if !pauseUnless(over, 20*time.Millisecond) {
				return
			}
		}
		if !pauseUnless(over, 500*time.Millisecond+rand.N(time.Second)) {
			return
		}
	}
}

// pauseUnless waits; false once over is closed.
func pauseUnless(over <-chan struct{}, d time.Duration) bool {
	select {
	case <-over:
		return false
	case <-time.After(d):
		return true
	}
}

// clicksOfBuyers lets buyers click until each has an order or is told sold out. Every
// other answer is a reason to click again, at the other process.
func clicksOfBuyers(t *testing.T, children []*Child, sale string, buyers []string) (promised map[string]string, soldOut int) {
	promised = map[string]string{}
	var mu sync.Mutex
	var next atomic.Int64
	var all sync.WaitGroup
	deadline := time.Now().Add(10 * time.Minute)
	for worker := range 48 {
		all.Go(func() {
			clients := make([]*Client, len(children))
			for i, c := range children {
				clients[i] = NewClient(c.URL)
			}
			for {
				i := int(next.Add(1)) - 1
				if i >= len(buyers) {
					return
				}
				for try := worker; ; try++ {
					answer, err := clients[try%len(clients)].Buy(sale, buyers[i], "key-of-"+buyers[i])
					accepted := err == nil && (answer.Status == http.StatusAccepted || answer.Status == http.StatusOK || answer.Status == http.StatusCreated)
					told := err == nil && answer.Status == http.StatusConflict && answer.Text("code") == "sold_out"
					if accepted || told {
						mu.Lock()
						if accepted {
							promised[answer.Text("order_id")] = buyers[i]
						} else {
							soldOut++
						}
						mu.Unlock()
						break
					}
					if time.Now().After(deadline) {
						t.Errorf("%s was never answered: %d %s, %v", buyers[i], answer.Status, answer.Raw, err)
						break
					}
					time.Sleep(20 * time.Millisecond) // a person's pause; nothing is waited for
				}
			}
		})
	}
	all.Wait()
	return promised, soldOut
}

// TestMovesOutliveAGateThatForgetsEitherSide lets the gate forget the lanes of the
// donors or of the receiver in the middle of a move, before and after it is recorded.
func TestMovesOutliveAGateThatForgetsEitherSide(t *testing.T) {
	for _, point := range []string{"level.after-move", "recorder.before-withdrawal", "recorder.after-withdrawal"} {
		for _, side := range []string{"donors", "receiver"} {
			t.Run(point+" "+side, func(t *testing.T) { forgetAt(t, point, side == "donors") })
		}
	}
}

func forgetAt(t *testing.T, point string, donors bool) {
	rig := NewRig(t)
	const stock, of, home = 60, 6, 2
	lanes := make(chan []int, 1)
	n := rig.Node(t, NodeOptions{Step: func(name string) {
		if name != point {
			return
		}
		select {
		case gone := <-lanes:
			for _, lane := range gone {
				rig.deleteKeys(t, fmt.Sprintf("%s:{s*l%d}:*", rig.Namespace, lane))
			}
		default:
		}
	}})
	terms := Terms(stock)
	terms.Buckets = of
	sale := n.Schedule(t, terms)
	lanes <- lanesOf(n, sale, of, home, donors)
	c := buyUntilTold(t, []*Node{n}, sale, buyersOf(sale, of, stock+10, home), 20)
	if len(lanes) != 0 {
		t.Error("nothing was forgotten: the point was not met")
	}
	n.AwaitOpen(t, sale)
	StandingChecks(t, n, sale, c.accepted)
	// What the gate forgot before it was recorded, and nobody kept, is on sale again.
	rest := buyUntilTold(t, []*Node{n}, sale, buyersOf(sale, of, 2*stock, home)[stock+10:], 20)
	testenv.Eventually(t, 30*time.Second, func() error {
		if got := readFold(t, n.Store).placed(sale); got != stock {
			return fmt.Errorf("%d orders placed of %d units; the first were told %v, the rest %v", got, stock, c.outcomes, rest.outcomes)
		}
		return nil
	})
	if left, each := n.unitsLeft(t, sale); left != 0 {
		t.Errorf("%v left, want nothing", each)
	}
}
