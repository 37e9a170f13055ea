package stacks

import (
	"bufio"
	"bytes"
	"runtime"
	"strconv"
	"strings"
)

// goroutine is one of them, or several of the same stack.
type goroutine struct {
	stack
	id      int64 // 0: not known
	count   int
	minutes int64 // how long it has waited, as far as the runtime counts
}

// parse reads what runtime.Stack wrote of all goroutines. One that was cut off at the
// end is read as far as it goes.
func parse(text []byte) []goroutine {
	var all []goroutine
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, len(text)+1)
	for lines.Scan() {
		line := lines.Text()
		if g, ok := header(line); ok {
			all = append(all, g)
			continue
		}
		if len(all) == 0 || line == "" || line[0] == '\t' || strings.HasPrefix(line, "created by ") || strings.HasPrefix(line, "...") {
			continue
		}
		last := &all[len(all)-1]
		if name := function(line); keeps(name) {
			last.names = append(last.names, name)
		}
	}
	return all
}

// header reads `goroutine 12 [select, 3 minutes]:`.
func header(line string) (goroutine, bool) {
	rest, ok := strings.CutPrefix(line, "goroutine ")
	number, rest, ok2 := strings.Cut(rest, " ")
	id, err := strconv.ParseInt(number, 10, 64)
	from, to := strings.IndexByte(rest, '['), strings.LastIndexByte(rest, ']')
	if !ok || !ok2 || err != nil || from < 0 || to < from {
		return goroutine{}, false
	}
	words := strings.Split(rest[from+1:to], ", ")
	g := goroutine{id: id, count: 1}
	g.state, _, _ = strings.Cut(words[0], " (")
	for _, word := range words[1:] {
		if n, ok := strings.CutSuffix(word, " minutes"); ok {
			g.minutes, _ = strconv.ParseInt(n, 10, 64) // what is no number is no wait that is known
		}
	}
	return g, true
}

// function takes the arguments off `pkg.(*T).f(0x1, …)`.
func function(line string) string {
	if at := strings.LastIndexByte(line, '('); at > 0 {
		return line[:at]
	}
	return line
}

// keeps tells whether a function says something: the runtime's own do not.
func keeps(name string) bool {
	return !strings.HasPrefix(name, "runtime.") && !strings.HasPrefix(name, "internal/runtime/")
}

// profiled reads the runtime's profile: nobody stands still for it but for a moment.
func profiled() []goroutine {
	records := make([]runtime.StackRecord, runtime.NumGoroutine()+64)
	n, ok := runtime.GoroutineProfile(records)
	for ; !ok; n, ok = runtime.GoroutineProfile(records) {
		records = make([]runtime.StackRecord, n+n/8+64) // there are more by now
	}
	counts := map[[32]uintptr]int{}
	for _, r := range records[:n] {
		counts[r.Stack0]++
	}
	all := make([]goroutine, 0, len(counts))
	for pcs, count := range counts {
		r := runtime.StackRecord{Stack0: pcs}
		g := goroutine{count: count}
		g.state = "running"
		frames := runtime.CallersFrames(r.Stack())
		for {
			frame, more := frames.Next()
			if frame.Function == "runtime.gopark" {
				g.state = "waiting"
			}
			if frame.Function != "" && keeps(frame.Function) {
				g.names = append(g.names, frame.Function)
			}
			if !more {
				break
			}
		}
		all = append(all, g)
	}
	return all
}
