package e2e

import (
	"context"
	"errors"
	"flag"
	"testing"
	"time"

	"seckill/commands"
	"seckill/domain"
)

var (
	soakRuns  = flag.Int("reconcile.runs", 30, "reconciliations under full load")
	soakStock = flag.Int64("reconcile.stock", 3000, "units of the sale that is reconciled under load")
)

// soaked is an installation with a sale whose unpaid orders end after seconds.
func soaked(t *testing.T, stock int64) (*Node, string) {
	t.Helper()
	return opened(t, stock, func(terms *domain.SaleTerms) { terms.PaymentWindow = 2 })
}

func TestReconciliationUnderFullLoadFindsNothing(t *testing.T) {
	n, sale := soaked(t, *soakStock)
	x := newTraffic(t, n, sale, true)
	began, closed := time.Now(), 0
	for run := 0; run < *soakRuns && !t.Failed(); run++ {
		report, err := n.Reconciler.Reconcile(context.Background(), sale)
		if errors.Is(err, commands.ErrNoCut) {
			closed++
			continue
		}
		if err != nil {
			t.Errorf("run %d: %v", run, err)
			break
		}
		for _, f := range report.Sales[0].Findings {
			t.Errorf("run %d: false finding %+v", run, f)
		}
	}
	took := time.Since(began)
	accepted := x.stop()
	t.Logf("%d runs in %s, %d of them met a gate that was not open; %s", *soakRuns, took.Round(time.Second), closed, x.told())
	if closed == *soakRuns {
		t.Error("no run found the gate open")
	}
	for _, kind := range []int{didBuy, didCancel, didPay, didFail, didRelease} {
		if x.did[kind].Load() == 0 {
			t.Errorf("traffic of kind %d never happened", kind)
		}
	}
	n.AwaitOpen(t, sale)
	StandingChecks(t, n, sale, accepted)
}
