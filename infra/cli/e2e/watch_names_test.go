package e2e

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"seckill/infra/testenv"
)

// exported gives the names of the samples that a process exports: of a histogram those
// with _bucket, _sum and _count.
func exported(t *testing.T, c *Client) map[string]bool {
	t.Helper()
	answer, err := c.Call(http.MethodGet, "/metrics", "", "", nil)
	if err != nil || answer.Status != http.StatusOK {
		t.Fatalf("got %d, %v", answer.Status, err)
	}
	names := map[string]bool{}
	for line := range strings.Lines(answer.Raw) {
		if name := regexp.MustCompile(`^seckill_[a-zA-Z0-9_]+`).FindString(line); name != "" {
			names[name] = true
		}
	}
	return names
}

// watchedNames gives the metrics that a file of deploy/ names, and the recording rules.
func watchedNames(t *testing.T, file string) (metrics, rules []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../../deploy", file))
	if err != nil {
		t.Fatal(err)
	}
	found := func(pattern string) []string {
		all := regexp.MustCompile(pattern).FindAllString(string(text), -1)
		slices.Sort(all)
		return slices.Compact(all)
	}
	return found(`\bseckill_[a-z0-9_]+\b`), found(`\bseckill:[a-z0-9_:]+\b`)
}

// TestEveryMetricThatRulesAndDashboardNameIsExported asks a process that has just
// started: each family is there before anything happens, so that an alert on it is never
// one on nothing.
func TestEveryMetricThatRulesAndDashboardNameIsExported(t *testing.T) {
	t.Parallel()
	child := ServeRig(t, NewRig(t))
	there := exported(t, NewClient(child.URL))
	recorded, err := os.ReadFile("../../../deploy/prometheus/rules.yml")
	if err != nil {
		t.Fatal(err)
	}
	for file, least := range map[string]int{"prometheus/rules.yml": 20, "grafana/dashboards/seckill.json": 30} {
		metrics, rules := watchedNames(t, file)
		if len(metrics) < least || len(rules) < 2 {
			t.Errorf("%s: found %d metrics and %d rules", file, len(metrics), len(rules))
		}
		for _, name := range metrics {
			if !there[name] {
				t.Errorf("%s names %s, which no process exports", file, name)
			}
		}
		for _, rule := range rules {
			if !strings.Contains(string(recorded), "record: "+rule+"\n") {
				t.Errorf("%s names %s, which nobody records", file, rule)
			}
		}
	}
}

// TestLabelsThatRulesNameExist: a label that no series has matches nothing, and nobody
// notices.
func TestLabelsThatRulesNameExist(t *testing.T) {
	t.Parallel()
	child := ServeRig(t, NewRig(t))
	client := NewClient(child.URL)
	var text string
	testenv.Eventually(t, 60*time.Second, func() error { // the lanes of a recorder are its share
		answer, err := client.Call(http.MethodGet, "/metrics", "", "", nil)
		if text = answer.Raw; err == nil && !strings.Contains(text, "\nseckill_recorder_lanes 64\n") {
			err = fmt.Errorf("the one recorder does not record 64 lanes")
		}
		return err
	})
	for _, file := range []string{"prometheus/rules.yml", "grafana/dashboards/seckill.json"} {
		raw, err := os.ReadFile(filepath.Join("../../../deploy", file))
		if err != nil {
			t.Fatal(err)
		}
		plain := strings.ReplaceAll(string(raw), `\"`, `"`)
		seen := 0
		for _, m := range regexp.MustCompile(`(seckill_[a-z0-9_]+)\{([^}]*)\}`).FindAllStringSubmatch(plain, -1) {
			for _, l := range regexp.MustCompile(`(\w+)(=|=~)"([^"]*)"`).FindAllStringSubmatch(m[2], -1) {
				if l[1] == "instance" {
					continue // Prometheus' own
				}
				for value := range strings.SplitSeq(l[3], "|") {
					seen++
					pattern := `(?m)^` + m[1] + `\{[^}]*\b` + l[1] + `="` + value + `"`
					if !regexp.MustCompile(pattern).MatchString(text) {
						t.Errorf("%s asks for %s with %s %q, which no series has", file, m[1], l[1], value)
					}
				}
			}
		}
		if seen < 3 {
			t.Errorf("%s: looked at %d labels", file, seen)
		}
	}
}
