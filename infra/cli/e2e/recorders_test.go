package e2e

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"seckill/domain"
	"seckill/infra/testenv"
)

// Recorders share the lanes evenly; what a dead, stopped or frozen one recorded,
// another goes on with, and one that wakes up changes nothing.
func TestRecordersShareTheLanesAndTakeOverFromEachOther(t *testing.T) {
	t.Parallel()
	r := NewRig(t)
	env := r.Settings(t)
	front := Serve(t, ChildOptions{Env: env, Args: []string{"--roles", "api,projector,scheduler"}})
	var recorders []*Child
	for range 3 {
		c := NewChild(t, ChildOptions{Env: env, Args: []string{"--roles", "recorder"}})
		c.Start()
		recorders = append(recorders, c)
	}
	share := func(when string, want ...int64) {
		t.Helper()
		testenv.Eventually(t, 60*time.Second, func() error {
			var got []int64
			for _, c := range recorders {
				if c.Alive() && c.Ready() == nil {
					got = append(got, metric(t, c.URL, "seckill_recorder_lanes"))
				}
			}
			if slices.Sort(got); !slices.Equal(got, want) {
				return fmt.Errorf("%s the recorders record %v lanes, want %v", when, got, want)
			}
			return nil
		})
	}
	client := NewClient(front.URL)
	var sales []string
	lanes := map[int]bool{}
	for len(lanes) < 8 { // of several groups
		sale := client.CreateSale(t, 1000)
		sales = append(sales, sale)
		lanes[domain.Place{Store: 1, Sale: sale}.Lane()%8] = true
	}
	promised := map[string]map[string]string{}
	for _, sale := range sales {
		promised[sale] = map[string]string{}
	}
	round := 0
	sell := func() {
		t.Helper()
		round++
		for _, sale := range sales {
			buyer := fmt.Sprintf("buyer-%d", round)
			testenv.Eventually(t, 30*time.Second, func() error {
				answer, err := client.Buy(sale, buyer, "key-of-"+buyer)
				if err == nil && answer.Status >= 300 {
					err = errStatus(answer)
				}
				promised[sale][answer.Text("order_id")] = buyer
				return err
			})
		}
		for _, orders := range promised {
			delete(orders, "") // of refusals
			for order, buyer := range orders {
				if status := await(t, client, buyer, order).Text("status"); status != "placed" {
					t.Fatalf("order %s is %s, want it placed", order, status)
				}
			}
		}
	}
	share("with three,", 16, 24, 24)
	sell()
	recorders[0].Kill()
	sell()
	share("when one was killed,", 32, 32)
	if code := recorders[1].Stop(); code != 0 {
		t.Errorf("a recorder that is told to stop ends with %d", code)
	}
	sell()
	share("when one was stopped,", 64)
	recorders[0].Restart()
	share("when one came back,", 32, 32)
	recorders[2].Freeze()
	sell()
	share("while one is frozen,", 64)
	recorders[2].Thaw()
	sell()
	share("when it woke up,", 32, 32)
	node := r.Node(t, NodeOptions{APIOnly: true})
	for sale, orders := range promised {
		StandingChecks(t, node, sale, orders)
	}
}
