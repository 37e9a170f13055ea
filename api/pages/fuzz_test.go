package pages_test

import (
	"strconv"
	"testing"

	"seckill/api/pages"
)

// FuzzParseVersion: a version of a page is read only in the one form it is written in,
// so that no two addresses that are kept for ever hold the same page.
func FuzzParseVersion(f *testing.F) {
	for _, text := range []string{"3", "3-abcdef012345", "03", "+3", "3-", "3-/../x", "9223372036854775808", "３"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		number, build, ok := pages.ParseVersion(text)
		if !ok {
			return
		}
		again := strconv.FormatInt(number, 10)
		if build != "" {
			again += "-" + build
		}
		if again != text || number < 1 {
			t.Errorf("%q is version %d of build %q", text, number, build)
		}
	})
}
