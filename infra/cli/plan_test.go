package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"seckill/eventstore/pgstore"
	"seckill/infra/plan"
)

func TestPlanSaysWhatASaleNeeds(t *testing.T) {
	args := []string{"plan", "--participants", "500000", "--share", "80%", "--seconds", "2", "--headroom", "1.5", "--stock", "10000"}
	code, out, errs := try(t, args...)
	if code != exitGood || errs != "" || !strings.Contains(out, "Strategy redis-") || !strings.Contains(out, "300000") {
		t.Errorf("got %d %q %q, want a plan for 300,000 requests a second", code, out, errs)
	}
	code, out, errs = try(t, append(args, "--json")...)
	var p plan.Plan
	if err := json.Unmarshal([]byte(out), &p); err != nil || code != exitGood || errs != "" || p.PeakPerSecond != 200_000 || p.Buckets != 1 || len(p.Costs) == 0 {
		t.Errorf("got %d %q %q (%v), want the same as JSON", code, out, errs, err)
	}
}

func TestPlanRefusesWhatCannotBeMeant(t *testing.T) {
	wish := map[string]string{"participants": "1000", "share": "0.8", "seconds": "2", "headroom": "2", "stock": "10"}
	for flag, values := range map[string][]string{
		"participants": {"0", "-5", "many", "99999999999"}, "share": {"0", "1.5", "80", "-0.1", "NaN", "half"}, "seconds": {"0", "-2", "NaN", "Inf"},
		"headroom": {"0", "0.5", "1000", "x"}, "stock": {"0", "-1", "3000000000"},
	} {
		for _, value := range values {
			args := []string{"plan"}
			for name, v := range wish {
				if name == flag {
					v = value
				}
				args = append(args, "--"+name+"="+v)
			}
			if code, out, errs := try(t, args...); code != exitUsage || out != "" || !strings.Contains(errs, "--"+flag) {
				t.Errorf("--%s=%s: got %d %q %q, want status 2 and a sentence about it", flag, value, code, out, errs)
			}
		}
	}
	if code, _, errs := try(t, "plan", "--share", "0.8"); code != exitUsage || !strings.Contains(errs, "--participants") || !strings.Contains(errs, "--help") {
		t.Errorf("got %d %q, want status 2 and what is missing", code, errs)
	}
}

// A node of the plan opens as many connections as a process does.
func TestThePlanKnowsTheConnectionsOfAProcess(t *testing.T) {
	if got, want := plan.Measured().NodeConns.Value, float64(appConns+saleConns+pgstore.WriterConns); got != want {
		t.Errorf("got %v connections, want %v", got, want)
	}
}
