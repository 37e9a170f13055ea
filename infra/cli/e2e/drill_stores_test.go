package e2e

import (
	"encoding/json"
	"testing"
)

// A lost Redis and a paused PostgreSQL under a load, on stores that the drill started
// itself, lose nothing that was acknowledged. How soon a busy machine is as before is
// not judged here.
func TestADrillOfStoresLosesNothing(t *testing.T) {
	done := Run(t, cleanEnv(), "drill", "stores", "--json", "--hold", "1s", "--rate", "20", "--within", "2m")
	var report struct {
		Good  bool
		Steps []struct {
			Step, Skipped string
			Answers       map[string]int64
			Acked         int64 `json:"acknowledged"`
			Lost          int64 `json:"acknowledged_and_lost"`
			NormalMS      int64 `json:"normal_after_ms"`
		}
		Checks []struct {
			Name, Detail string
			OK           bool
		}
	}
	if err := json.Unmarshal([]byte(done.Stdout), &report); err != nil {
		t.Fatalf("exit %d, %v\n%s%s", done.Code, err, done.Stdout, done.Stderr)
	}
	if (done.Code == 0) != report.Good {
		t.Errorf("exit %d with good %t", done.Code, report.Good)
	}
	tried := map[string]bool{}
	for _, s := range report.Steps {
		if s.Skipped != "" {
			continue
		}
		tried[s.Step] = true
		if s.Lost != 0 || s.NormalMS < 0 || s.Acked == 0 {
			t.Errorf("%s: %+v", s.Step, s)
		}
		if refusals := s.Answers["503 busy"] + s.Answers["503 not_ready"] + s.Answers["no answer"]; s.Step == "redis_killed" && refusals == 0 {
			t.Errorf("%s: %v, want buyers to have noticed: else nothing was broken", s.Step, s.Answers)
		}
	}
	for _, step := range []string{"redis_killed", "redis_lost", "redis_paused", "postgres_paused"} {
		if !tried[step] {
			t.Errorf("%s was not tried", step)
		}
	}
	if len(report.Checks) != 4 {
		t.Errorf("got %+v, want four checks at the end", report.Checks)
	}
	for _, check := range report.Checks {
		if !check.OK {
			t.Errorf("%s: %s", check.Name, check.Detail)
		}
	}
}
