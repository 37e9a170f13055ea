package obs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestWhatAutoscalersLookAtIsShown: a name that nobody shows would never scale anything.
func TestWhatAutoscalersLookAtIsShown(t *testing.T) {
	files, err := filepath.Glob("../../deploy/k8s/base/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	metric := regexp.MustCompile(`metric:\n +name: (\w+)\n(?: +selector:\n +matchLabels:\n +(\w+): (\w+)\n)?`)
	shown, found := scrape(t, serving()), 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range metric.FindAllStringSubmatch(string(text), -1) {
			found++
			series := m[1]
			if m[2] != "" {
				series += "{" + m[2] + `="` + m[3] + `"}`
			}
			if _, there := shown[series]; !there {
				t.Errorf("%s looks at %s, which is not shown", filepath.Base(file), series)
			}
		}
		if n := strings.Count(string(text), "metric:\n"); n != len(metric.FindAllString(string(text), -1)) {
			t.Errorf("%s: %d metrics were not understood", filepath.Base(file), n)
		}
	}
	if found < 2 {
		t.Errorf("only %d metrics were found", found)
	}
}
