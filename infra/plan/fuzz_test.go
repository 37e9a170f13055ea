package plan

import (
	"math"
	"strings"
	"testing"
)

// FuzzNumbers: a share or a factor that is read is a number that can be reckoned with,
// and the same written as percents.
func FuzzNumbers(f *testing.F) {
	for _, text := range []string{"0.8", "80%", " 1.5 ", "1e309", "NaN", "Inf%", "-0", "0x1p-2", "1_000"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v, err := ParseShare(text)
		if w, err2 := ParseHeadroom(text); (err == nil) != (err2 == nil) || err == nil && w != v {
			t.Errorf("%q is %v as a share and %v as a factor", text, v, w)
		}
		if err != nil {
			return
		}
		if math.IsNaN(v) || math.IsInf(v, 0) {
			t.Errorf("%q is read as %v", text, v)
		}
		if percent, err := ParseShare(text + "%"); err == nil && !strings.Contains(text, "%") && math.Abs(percent*100-v) > math.Abs(v)*1e-9 && math.Abs(v) > 1e-300 {
			t.Errorf("%q is %v, and in percent %v", text, v, percent)
		}
	})
}
