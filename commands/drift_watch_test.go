package commands_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"seckill/commands"
	"seckill/domain"
	"seckill/eventstore"
)

// stopper notes what is asked of it and appends it to the sale.
type stopper struct {
	v     *vault
	asked []string
}

func (s *stopper) say(ev domain.Event) (commands.FoldedSale, error) {
	s.asked = append(s.asked, ev.EventType())
	s.v.submit(eventstore.Append{Stream: "sale-28t5cy4t", Expected: eventstore.AnyVersion, Events: []eventstore.NewEvent{s.v.event(ev, "")}})
	return commands.FoldedSale{}, nil
}

func (s *stopper) Pause(_ context.Context, sale string, reason domain.PauseReason, actor commands.Actor) (commands.FoldedSale, error) {
	return s.say(&domain.SalePaused{SaleID: sale, Reason: reason, Note: actor.Note, By: actor.By})
}

func (s *stopper) Resume(_ context.Context, sale string, reason domain.PauseReason, actor commands.Actor) (commands.FoldedSale, error) {
	return s.say(&domain.SaleResumed{SaleID: sale, Reason: reason, By: actor.By})
}

func TestADangerousFindingPausesASaleUntilItIsGone(t *testing.T) {
	v := newVault(t)
	now := time.Now()
	v.env.Now, v.env.Log = func() time.Time { return now }, slog.New(slog.DiscardHandler)
	v.submit(eventstore.Append{Stream: "sale-28t5cy4t", Events: []eventstore.NewEvent{v.event(&domain.SaleScheduled{SaleID: "28t5cy4t",
		SaleTerms: domain.SaleTerms{OpensAt: now.Add(-time.Minute), ClosesAt: now.Add(time.Hour), Buckets: 1}}, "")}})
	var found []string
	var fails error
	runs, alarms := 0, 0
	stop := &stopper{v: v}
	var last commands.DriftRound
	w := &commands.DriftWatch{
		Env: v.env, Sales: commands.NewSales(v.store, v.env.Now, commands.SalesOptions{}), Operator: stop, Every: time.Minute,
		Alarm: func(commands.Alarm) { alarms++ }, Told: func(r commands.DriftRound) { last = r },
		Reconcile: func(_ context.Context, sale string) (commands.ReconcileReport, error) {
			runs++
			report := commands.SaleReport{Sale: sale}
			for _, kind := range found {
				report.Findings = append(report.Findings, commands.Finding{Kind: kind})
			}
			return commands.ReconcileReport{Sales: []commands.SaleReport{report}}, fails
		},
	}
	step := func(when string, asked []string, clean bool, wantAlarms int, kinds ...string) {
		t.Helper()
		found, stop.asked = kinds, nil
		if _, err := w.Round(t.Context()); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(asked, stop.asked); diff != "" || last.Clean() != clean || alarms != wantAlarms {
			t.Errorf("%s: asked (-want +got):\n%sclean %t, want %t; %d alarms, want %d", when, diff, last.Clean(), clean, alarms, wantAlarms)
		}
	}
	step("nothing wrong", nil, true, 0)
	step("a view is wrong", nil, false, 1, commands.FindingViewStale)
	step("it still is", nil, false, 1, commands.FindingViewStale)
	step("units too many", []string{"sale.paused"}, false, 2, commands.FindingViewStale, commands.FindingGateAbove)
	step("they still are", nil, false, 2, commands.FindingViewStale, commands.FindingGateAbove)
	step("only the view is wrong", []string{"sale.resumed"}, false, 3, commands.FindingViewStale)
	step("nothing wrong again", nil, true, 3)
	fails = fmt.Errorf("bucket 0: %w", commands.ErrNoCut)
	step("a gate that is closed", nil, false, 3)
	fails = nil
	for _, kind := range []string{commands.FindingGateAbove, commands.FindingNotPrefix, commands.FindingNotInGate, commands.FindingGuard} {
		if !slices.Contains(commands.FindingKinds(), kind) || !(commands.Finding{Kind: kind}).Dangerous() {
			t.Errorf("%s does not stop a sale", kind)
		}
	}
	now = now.Add(2 * time.Hour)
	step("the sale is over", nil, true, 3)
	before := runs
	step("over and clean", nil, true, 3)
	if runs != before {
		t.Errorf("a sale that is over and clean was looked at again at once")
	}
	now = now.Add(time.Hour)
	step("an hour later", nil, false, 4, commands.FindingGateAbove)
	if runs != before+1 {
		t.Errorf("a sale that is over was not looked at after an hour")
	}
}
