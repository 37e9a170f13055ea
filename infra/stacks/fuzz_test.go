package stacks

import (
	"bytes"
	"runtime"
	"testing"
)

// FuzzParse: any text is read as far as it goes, with no more goroutines than it has
// lines, none of whose functions is the runtime's own.
func FuzzParse(f *testing.F) {
	mine := make([]byte, 64<<10)
	f.Add(mine[:runtime.Stack(mine, true)])
	f.Add([]byte("goroutine 1 [running]:\nmain.f(0x1)\n\t/x.go:1\n"))
	f.Add([]byte("goroutine 12 [select (no cases), 99999999999999999999 minutes]:\n(x)\ngoroutine  ]["))
	f.Fuzz(func(t *testing.T, text []byte) {
		all := parse(text)
		if len(all) > bytes.Count(text, []byte("\n"))+1 {
			t.Errorf("%d goroutines in %q", len(all), text)
		}
		for _, g := range all {
			for _, name := range g.names {
				if name == "" || !keeps(name) {
					t.Errorf("%q holds the function %q", text, name)
				}
			}
		}
	})
}
