package config

import (
	"errors"
	"strings"
	"testing"
)

func TestLimitsAreNumbersASecondAndZeroIsNone(t *testing.T) {
	clean(t)
	t.Setenv("SECKILL_LIMIT_PURCHASES", "0")
	t.Setenv("SECKILL_LIMIT_POLLS", "100")
	t.Setenv("SECKILL_LIMIT_ENDPOINT", "20000")
	if s := load(t); s.LimitPurchases != 0 || s.LimitPolls != 100 || s.LimitEndpoint != 20_000 {
		t.Errorf("got %d, %d and %d", s.LimitPurchases, s.LimitPolls, s.LimitEndpoint)
	}
}

func TestLimitsOutOfRangeAreToldTogether(t *testing.T) {
	clean(t)
	_, err := Load([]string{"--limit-purchases=101", "--limit-polls=-1", "--limit-endpoint=-5"})
	var invalid *InvalidError
	if !errors.As(err, &invalid) || len(invalid.Problems) != 3 {
		t.Fatalf("got %v, want three problems", err)
	}
	for _, name := range []string{"SECKILL_LIMIT_PURCHASES", "SECKILL_LIMIT_POLLS", "SECKILL_LIMIT_ENDPOINT"} {
		if !strings.Contains(err.Error(), name) {
			t.Errorf("%s is not named in %v", name, err)
		}
	}
}
