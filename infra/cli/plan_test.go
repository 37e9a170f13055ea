package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"seckill/eventstore/pgstore"
	"seckill/infra/bench"
	"seckill/infra/plan"
)

func TestPlanSaysWhatASaleNeeds(t *testing.T) {
	args := []string{"plan", "--participants", "500000", "--share", "80%", "--seconds", "2", "--headroom", "1.5", "--stock", "10000", "--no-measure", "--data", t.TempDir()}
	code, out, errs := try(t, args...)
	if code != exitGood || errs != "" || !strings.Contains(out, "Strategy redis-") || !strings.Contains(out, "300000") || !strings.Contains(out, "The built-in unit costs") {
		t.Errorf("got %d %q %q, want a plan for 300,000 requests a second", code, out, errs)
	}
	code, out, errs = try(t, append(args, "--json")...)
	var p plan.Plan
	if err := json.Unmarshal([]byte(out), &p); err != nil || code != exitGood || errs != "" || p.PeakPerSecond != 200_000 || p.CostsFrom.Kind != plan.SourceBuiltIn || p.Wire.EgressMbit < 1000 || p.Buckets != 1 || len(p.Costs) == 0 {
		t.Errorf("got %d %q %q (%v), want the same as JSON", code, out, errs, err)
	}
}

// What was measured last stands in the data folder, with its date.
func TestPlanComputesFromTheLastMeasurementAndSaysItsDate(t *testing.T) {
	dir := t.TempDir()
	args := []string{"plan", "--participants", "500000", "--share", "80%", "--seconds", "2", "--headroom", "1.5", "--stock", "10000", "--data", dir, "--json"}
	m := plan.NewMeasurement(map[string]float64{plan.KeyAPIRefused: 100, plan.KeyRecorded: 1000})
	m.At, m.Postgres, m.Machine = time.Date(2026, 11, 11, 0, 0, 0, 0, time.UTC), "15.18", "2 cores"
	if err := bench.WriteJSON(filepath.Join(dir, plan.MeasurementFile), m); err != nil {
		t.Fatal(err)
	}
	code, out, errs := try(t, args...)
	var p plan.Plan
	if err := json.Unmarshal([]byte(out), &p); err != nil || code != exitGood || errs != "" {
		t.Fatalf("got %d %q %q (%v)", code, out, errs, err)
	}
	if p.CostsFrom.Kind != plan.SourceMeasured || p.CostsFrom.At == nil || !p.CostsFrom.At.Equal(m.At) || !strings.Contains(p.CostsFrom.With, "PostgreSQL 15.18") {
		t.Errorf("got costs from %+v, want the measurement's date and versions", p.CostsFrom)
	}
	if p.Log.PurchasesPerSecond != 1000 || p.Seconds.Recorded != 10 || p.API.Cores < 38 {
		t.Errorf("got %+v, %+v and %+v, want them from what was measured", p.Log, p.Seconds, p.API)
	}
	if _, out, _ := try(t, args[:len(args)-1]...); !strings.Contains(out, "Unit costs measured on this machine") || !strings.Contains(out, "2026-11-1") {
		t.Errorf("got %q, want the date", out)
	}
	if err := os.WriteFile(filepath.Join(dir, plan.MeasurementFile), []byte(`{"form":9,"values":{"recorded_per_s":0}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, out, errs := try(t, args...); code != exitFailure || out != "" || !strings.Contains(errs, "bench unit") || !strings.Contains(errs, "form 9") {
		t.Errorf("got %d %q %q, want a sentence about a measurement that cannot be used", code, out, errs)
	}
	if code, out, _ := try(t, append(args, "--built-in")...); code != exitGood || !strings.Contains(out, `"kind":"built-in"`) {
		t.Errorf("got %d %q, want the built-in figures", code, out)
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
