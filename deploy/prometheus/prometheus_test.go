package prometheus

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"seckill/infra/testenv"
)

// promtool runs Prometheus' own tool.
func promtool(t *testing.T, args ...string) {
	t.Helper()
	path := testenv.Program(t, "prometheus", "promtool")
	if out, err := exec.CommandContext(t.Context(), path, args...).CombinedOutput(); err != nil {
		t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

func TestPrometheusTakesItsConfigurationAndItsRules(t *testing.T) {
	promtool(t, "check", "config", "prometheus.yml") // and the rules that it names
}

func TestAlertsGoOffWhenTheyShould(t *testing.T) {
	promtool(t, "test", "rules", "rules_test.yml")
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func all(pattern, text string) []string {
	var found []string
	for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
		found = append(found, m[1])
	}
	return found
}

// TestEveryAlertHasItsEntryInTheRunbook: whoever is woken by a name finds it there, by
// the link of the alert, and no entry outlives its alert.
func TestEveryAlertHasItsEntryInTheRunbook(t *testing.T) {
	rules := read(t, "rules.yml")
	alerts := all(`(?m)^      - alert: (\w+)$`, rules)
	links := all(`(?m)runbook_url: "?docs/runbook\.md#([^"\s]+(?: [^"\s]+)*)"?$`, rules)
	if len(alerts) < 20 || len(links) != len(alerts) {
		t.Fatalf("read %d alerts and %d links", len(alerts), len(links))
	}
	entries := all(`(?m)^### (Seckill\w+)$`, read(t, "../../docs/runbook.md"))
	for i, alert := range alerts {
		want := strings.ToLower(alert)
		if alert == "SeckillAlarm" { // each alarm has an entry of its own: see docs/runbook_test.go
			want = "{{ $labels.kind }}"
		}
		if links[i] != want {
			t.Errorf("%s links to %q, want %q", alert, links[i], want)
		}
		if !slices.Contains(entries, alert) {
			t.Errorf("%s has no entry in the runbook", alert)
		}
	}
	for _, entry := range entries {
		if !slices.Contains(alerts, entry) {
			t.Errorf("the entry %s is about no alert", entry)
		}
	}
}

// TestTheConsoleMarksWhatAnAlertStandsOn: whoever looks at the console and whoever is
// woken by an alert are told the same.
func TestTheConsoleMarksWhatAnAlertStandsOn(t *testing.T) {
	rules, console := read(t, "rules.yml"), read(t, "../../api/console/static/five.js")
	for alert, bound := range map[string]string{
		"SeckillOrdersQueued":           "lag",
		"SeckillViewsBehind":            "lag",
		"SeckillRedisConnections":       "connections",
		"SeckillPostgresConnections":    "connections",
		"SeckillPoolWaits":              "wait",
		"SeckillRedisSlow":              "slow",
		"SeckillPostgresSlow":           "statements",
		"SeckillPostgresOldTransaction": "transaction",
		"SeckillGCPauses":               "pause",
	} {
		over := all(`alert: `+alert+`\n +expr: .* > ([0-9.]+)\n`, rules)
		wrong := all(`\n  `+bound+`: \{ warn: [0-9.]+, bad: ([0-9.]+) \}`, console)
		if len(over) != 1 || !slices.Equal(over, wrong) {
			t.Errorf("%s goes off over %v, the console marks %s over %v", alert, over, bound, wrong)
		}
	}
}
