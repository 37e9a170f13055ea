package grafana

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/cog/plugins"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"

	"seckill/infra/testenv"
)

const file = "dashboards/seckill.json"

// board is the form that Grafana takes from files.
//
//lint:ignore SA1019 the form that is preferred over it is for Grafana's API
type board = dashboard.Dashboard

func read(t *testing.T) (d board) {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	plugins.RegisterDefaultPlugins() // so that queries and options of panels are read too
	var strict board
	err = strict.UnmarshalJSONStrict(raw)
	var faults cog.BuildErrors
	if errors.As(err, &faults) && len(faults) == 0 {
		err = nil // the SDK gives an empty list in the place of no error, and drops what it read
	}
	if err = errors.Join(err, json.Unmarshal(raw, &d)); err != nil {
		t.Fatalf("Grafana's SDK does not read the dashboard: %v", err)
	}
	return d
}

// expressions gives every expression of the dashboard by where it stands.
func expressions(t *testing.T, d board) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, p := range d.Panels {
		if p.Panel == nil {
			continue // a row
		}
		for i, target := range p.Panel.Targets {
			raw, err := json.Marshal(target)
			if err != nil {
				t.Fatal(err)
			}
			var query struct {
				Expr string `json:"expr"`
			}
			if err := json.Unmarshal(raw, &query); err != nil || query.Expr == "" {
				t.Errorf("panel %q, query %d: no expression (%v)", *p.Panel.Title, i, err)
			}
			found[fmt.Sprintf("%s %d", *p.Panel.Title, i)+fmt.Sprint(*p.Panel.Id)] = query.Expr
		}
	}
	return found
}

func TestGrafanaReadsTheDashboard(t *testing.T) {
	d := read(t)
	if d.Title == nil || *d.Title == "" || d.Uid == nil || len(d.Panels) < 30 {
		t.Fatalf("got %d panels", len(d.Panels))
	}
	ids := map[uint32]bool{}
	for _, p := range d.Panels {
		switch {
		case p.Panel == nil && p.RowPanel == nil:
			t.Error("something is neither a panel nor a row")
		case p.Panel != nil && (p.Panel.Id == nil || ids[*p.Panel.Id] || p.Panel.GridPos == nil || len(p.Panel.Targets) == 0):
			t.Errorf("panel %+v: want an id of its own, a place, and something to show", p.Panel.Title)
		case p.Panel != nil:
			ids[*p.Panel.Id] = true
		}
	}
}

// TestPrometheusReadsEveryExpression hands all of them to promtool as rules.
func TestPrometheusReadsEveryExpression(t *testing.T) {
	path := testenv.Program(t, "prometheus", "promtool")
	d := read(t)
	all := expressions(t, d)
	if len(all) < 40 {
		t.Fatalf("found %d expressions", len(all))
	}
	// What Grafana puts in before it asks.
	fill := strings.NewReplacer("$__rate_interval", "1m", "$instance", ".*")
	rules := []any{}
	for place, expr := range all {
		if strings.Contains(fill.Replace(expr), "$") {
			t.Errorf("%s: %s has a variable that nobody fills in", place, expr)
		}
		rules = append(rules, map[string]any{"record": "checked", "expr": fill.Replace(expr), "labels": map[string]string{"place": place}})
	}
	raw, err := json.Marshal(map[string]any{"groups": []any{map[string]any{"name": "dashboard", "rules": rules}}}) // JSON is YAML
	if err != nil {
		t.Fatal(err)
	}
	as := filepath.Join(t.TempDir(), "rules.yml")
	if err := os.WriteFile(as, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), path, "check", "rules", as).CombinedOutput(); err != nil {
		t.Errorf("promtool: %v\n%s", err, out)
	}
}

// TestTheDashboardAsksTheDatasourceThatIsProvided: a dashboard that names another one is
// empty.
func TestTheDashboardAsksTheDatasourceThatIsProvided(t *testing.T) {
	d := read(t)
	for _, p := range d.Panels {
		if p.Panel == nil {
			continue
		}
		if ref := p.Panel.Datasource; ref == nil || ref.Uid == nil || *ref.Uid != "${datasource}" {
			t.Errorf("panel %q asks %+v, want the variable", *p.Panel.Title, ref)
		}
	}
	for _, name := range []string{"provisioning/datasources/prometheus.yml", "provisioning/dashboards/seckill.yml"} {
		text, err := os.ReadFile(name)
		if err != nil || !strings.HasPrefix(string(text), "apiVersion: 1\n") {
			t.Errorf("%s: %v\n%s", name, err, text)
		}
	}
}
