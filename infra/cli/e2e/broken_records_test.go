package e2e

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"seckill/domain"
	"seckill/infra/testenv"
)

// What a hand writes into the gate's records that no script writes there counts as
// missing: the keeper builds it again by itself, and nobody's purchase is lost.
func TestTheKeeperBuildsAgainWhatNoScriptWrote(t *testing.T) {
	t.Parallel()
	p := newPlant(t, 4)
	lane := strings.Split(p.saleKey(), ":sale:")[0]
	n := p.rig.Node(t, NodeOptions{})
	set := func(key string, pairs ...any) func() { return func() { p.do(append([]any{"HSET", key}, pairs...)...) } }
	text := func(key string) func() { return func() { p.do("SET", key, "nonsense") } }
	for name, spoil := range map[string]func(){
		"the record's state is unknown":   set(p.saleKey(), "state", "shut"),
		"the record's state is empty":     set(p.saleKey(), "state", ""),
		"the record is a string":          text(p.saleKey()),
		"the stock's state is unknown":    set(p.stockKey(), "state", "building"),
		"the stock is a string":           text(p.stockKey()),
		"the stock's units are no number": set(p.stockKey(), "available", "many"),
		"the lane is a string":            text(lane + ":lane"),
		"the lane's numbers are none":     set(lane+":lane", "epoch", "x", "n", "y", "layout", "z"),
		"the journal is a string":         text(lane + ":journal"),
	} {
		spoil()
		testenv.Eventually(t, 30*time.Second, func() error {
			report, err := n.Reconciler.Reconcile(context.Background(), p.sale)
			if err == nil && report.Drift() > 0 {
				err = fmt.Errorf("found %+v", report.Sales[0].Findings)
			}
			if err != nil {
				err = fmt.Errorf("%s: %w", name, err)
			}
			return err
		})
		n.AwaitOpen(t, p.sale)
	}
	n.Stop()
	p.standing()
}

// A lane of a version to come is not touched, and costs no other sale anything.
func TestALaneOfALaterVersionIsLeftAloneAndTheOtherSalesAreCompared(t *testing.T) {
	t.Parallel()
	p := newPlant(t, 2)
	n := p.rig.Node(t, NodeOptions{})
	other := n.Schedule(t, Terms(5))
	for (domain.Place{Store: n.Env.Store, Sale: other}).Lane() == p.place.Lane() {
		other = n.Schedule(t, Terms(5))
	}
	key := strings.Split(p.saleKey(), ":sale:")[0] + ":lane"
	before := n.lane(t, p.sale).Epoch
	p.do("HSET", key, "layout", "2")
	report, err := n.Reconciler.Reconcile(context.Background(), "")
	if err == nil || len(report.NotCompared) != 1 || report.NotCompared[0].Sale != p.sale || !strings.Contains(err.Error(), `layout "2"`) {
		t.Errorf("all sales: got %+v, %v, want one that was not compared", report, err)
	}
	if len(report.Sales) == 0 {
		t.Error("the other sale was not compared")
	}
	done := Run(t, p.rig.Settings(t), "reconcile")
	if done.Code != 1 || !strings.Contains(done.Stdout, other) || !strings.Contains(done.Stderr, "1 of ") || !strings.Contains(done.Stderr, p.sale) {
		t.Errorf("for people: got %+v", done)
	}
	p.do("HSET", key, "layout", "1")
	testenv.Eventually(t, 30*time.Second, func() error {
		if s := n.lane(t, p.sale); !s.Selling() || s.Epoch != before {
			return errors.New("the lane did not go on under its own epoch")
		}
		return nil
	})
	n.Stop()
	p.standing()
}
