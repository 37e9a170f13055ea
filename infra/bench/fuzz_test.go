package bench

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

// FuzzMetrics: what is read of a page of metrics is the same once written again.
func FuzzMetrics(f *testing.F) {
	f.Add("# HELP a b\na 1\nseckill_x{y=\"a b\"} 2.5e3\n\nbroken\nz NaN\n")
	f.Add("a 1\na 2\n 3\n")
	f.Fuzz(func(t *testing.T, page string) {
		values, err := parseMetrics(strings.NewReader(page))
		if err != nil {
			return
		}
		var again strings.Builder
		for name, v := range values {
			fmt.Fprintf(&again, "%s %v\n", name, v)
		}
		back, err := parseMetrics(strings.NewReader(again.String()))
		for name, v := range values {
			if name == "" || name[0] == '#' || strings.HasSuffix(name, "\r") {
				continue // reads as something else now
			}
			if got, ok := back[name]; err != nil || !ok || got != v && !(math.IsNaN(got) && math.IsNaN(v)) {
				t.Errorf("%q: %q is %v, and then %v, %v", page, name, v, got, err)
			}
		}
		_, _ = sampleOf(values) // never panics; what is missing is an error
	})
}
