package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"

	"seckill/commands"
	"seckill/domain"
	"seckill/infra/testenv"
)

// TestOperatorsSeeWhereUnitsStandWhateverMovedBetweenBuckets: what moved from one
// bucket to another is neither released nor taken.
func TestOperatorsSeeWhereUnitsStandWhateverMovedBetweenBuckets(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*domain.SaleTerms)
		byLog  bool
	}{
		"one bucket":      {func(*domain.SaleTerms) {}, false},
		"several buckets": {buckets(8), false},
		"without a gate":  {func(t *domain.SaleTerms) { t.Strategy = domain.StrategyPostgres }, true},
	} {
		t.Run(name, func(t *testing.T) {
			n, sale := opened(t, 100, c.change)
			shower := &commands.Shower{Env: n.Env, Sales: n.Sales, Gate: n.Gate, Guards: n.Store}
			awaitUnits(t, shower, sale, "released 100, taken 0, available 100", c.byLog)
			sold := buyUntilTold(t, []*Node{n}, sale, buyersOf(sale, 8, 60, 3), 10)
			sold.want(t, domain.Reserved, 60)
			awaitUnits(t, shower, sale, "released 100, taken 60, available 40", c.byLog)
			if out, in, _, units := n.movesOf(t, sale); name == "several buckets" && (out != in || units == 0) {
				t.Errorf("%d moves out, %d in, of %d units: want some", out, in, units)
			}
		})
	}
}

func awaitUnits(t *testing.T, shower *commands.Shower, sale, want string, byLog bool) {
	t.Helper()
	testenv.Eventually(t, 40*time.Second, func() error {
		shown, err := shower.Look(context.Background(), sale)
		if err != nil {
			return err
		}
		u := shower.Units(context.Background(), shown.Sale)["item"]
		if u.Released == nil || u.Taken == nil || u.Available == nil {
			return fmt.Errorf("got %+v, want all known", u)
		}
		if got := fmt.Sprintf("released %d, taken %d, available %d", *u.Released, *u.Taken, *u.Available); got != want || u.ByLog != byLog {
			return fmt.Errorf("got %s (by the log: %t), want %s (%t)", got, u.ByLog, want, byLog)
		}
		return nil
	})
}
