package e2e

import (
	"encoding/json"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"seckill/infra/plan"
)

// The measurement is taken on private stores, whatever is configured, is what plan
// computes from, and leaves the installation as it was.
func TestUnitCostsAreMeasuredOnceAndPlanComputesFromThem(t *testing.T) {
	r := NewRig(t)
	node := ServeRig(t, r)
	dir := t.TempDir()
	env := append(r.Settings(t), "SECKILL_DATA_DIR="+dir)
	wish := []string{"plan", "--participants", "500000", "--share", "80%", "--seconds", "2", "--headroom", "1.5", "--stock", "10000", "--json"}
	done := Run(t, env, wish...) // there is none yet, so it makes one
	var made plan.Plan
	if err := json.Unmarshal([]byte(done.Stdout), &made); err != nil || done.Code != 0 || made.CostsFrom.Kind != plan.SourceMeasured {
		t.Fatalf("exit %d (%v): costs from %+v\n%s", done.Code, err, made.CostsFrom, done.Stderr)
	}
	if !strings.HasPrefix(made.CostsFrom.With, "seckill") || !strings.Contains(made.CostsFrom.With, "PostgreSQL 1") || strings.Contains(made.CostsFrom.With, "Redis ,") {
		t.Errorf("got versions %q", made.CostsFrom.With)
	}
	measured := 0
	for _, c := range made.Costs {
		if c.Command == "seckill bench unit" && c.Value > 0 {
			measured++
		}
	}
	if want := len(made.Costs) - 1; measured != want { // a process's connections are no measurement
		t.Errorf("got %d of %d unit costs measured: %+v", measured, want, made.Costs)
	}
	again := Run(t, env, wish...)
	if again.Code != 0 || again.Stdout != done.Stdout || strings.Contains(again.Stderr, "Measuring") {
		t.Errorf("exit %d: the second plan is another one, or measured again:\n%s%s", again.Code, again.Stdout, again.Stderr)
	}
	if files, _ := filepath.Glob(filepath.Join(dir, "*.json*")); len(files) != 1 {
		t.Errorf("got %v, want the measurement alone", files)
	}
	list, err := NewClient(node.URL).Call(http.MethodGet, "/api/v1/sales", "", "", nil)
	if err != nil || !strings.Contains(list.Raw, `"sales":[]`) {
		t.Errorf("the installation has sales of a measurement: %s %v", list.Raw, err)
	}
}
