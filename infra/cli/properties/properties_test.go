package properties

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

var (
	// Builds that are broken on purpose need not be waited for as long as others.
	patience = flag.Duration("properties.patience", 0, "how long checks wait for what must come; 0: as long as only a broken program takes")
	longest  = flag.Int("properties.steps", 30, "steps of the longest programs")
	only     = flag.String("properties.program", "", "a file with the one program to run by TestKeptPrograms")
)

// TestMain gives rapid what nobody chose: how many programs, how long to shrink one
// that fails, and a seed, which is printed.
func TestMain(m *testing.M) {
	flag.Parse()
	checks := "30"
	if testing.Short() {
		checks = "10"
	}
	defaults := map[string]string{"rapid.checks": checks, "rapid.shrinktime": "2m", "rapid.seed": fmt.Sprint(rand.Uint64N(1<<62) + 1)}
	flag.Visit(func(f *flag.Flag) { delete(defaults, f.Name) })
	for name, value := range defaults {
		if err := flag.Set(name, value); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
	}
	fmt.Printf("programs from -rapid.seed=%s\n", flag.Lookup("rapid.seed").Value)
	os.Exit(m.Run())
}

// TestRandomProgramsDoWhatTheContractSays is the whole of it; see docs/properties.md.
func TestRandomProgramsDoWhatTheContractSays(t *testing.T) {
	h, done := (*house)(nil), map[string]int{}
	defer func() {
		if h != nil {
			h.close()
		}
	}()
	gen := programs(min(10, *longest), *longest)
	rapid.Check(t, func(rt *rapid.T) {
		p := gen.Draw(rt, "program")
		if h != nil && (h.dirty || h.programs >= programsOfAHouse) {
			h.close()
			h = nil
		}
		if h == nil {
			h = newHouse(t)
			h.done = done
		}
		h.dirty = true
		play(rt, h, p)
		h.programs++
		h.dirty = rt.Failed()
	})
	t.Logf("in all programs: %v", done)
	if n, err := strconv.Atoi(flag.Lookup("rapid.checks").Value.String()); err != nil || n < 30 {
		return // too few for all of it
	}
	for _, what := range []string{
		"purchase reserved", "purchase sold_out", "purchase repeat", "purchase same_order", "purchase limit_exceeded",
		"purchase paused", "purchase sale_ended", "order cancelled", "order paid", "died while selling",
	} {
		if done[what] == 0 {
			t.Errorf("no program met %q: the steps do not do what they are for", what)
		}
	}
}

// TestKeptPrograms runs the programs that found something once, and those by which
// builds that are broken on purpose are caught.
func TestKeptPrograms(t *testing.T) {
	files, err := filepath.Glob("testdata/programs/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("programs %v, %v", files, err)
	}
	if *only != "" {
		files = []string{*only}
	}
	h := newHouse(t)
	defer func() { h.close() }()
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			p, err := parse(string(text))
			if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			if h.dirty {
				h.close()
				h = newHouse(h.TB)
			}
			h.dirty = true
			play(t, h, p)
			h.dirty = t.Failed()
		})
	}
}

func TestProgramsCanBeWrittenDown(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p := programs(0, 20).Draw(rt, "program")
		again, err := parse("# a remark\n\n" + p.String())
		if err != nil {
			rt.Fatalf("%v:\n%s", err, p)
		}
		var did []step
		for _, s := range p.Steps {
			if s.Do != "nothing" {
				did = append(did, s)
			}
		}
		if p.Steps = did; !reflect.DeepEqual(again, p) {
			rt.Fatalf("got\n%s\nwant\n%s", again, p)
		}
	})
	for _, text := range []string{"buy 1 2 3", "terms postgres buckets=1", "terms postgres buckets=1 stock=1,2 limit=1 orders=1 rebuy=true\nfly 1 2 3"} {
		if p, err := parse(text); err == nil {
			t.Errorf("%q was read as %v, want an error", text, p)
		}
	}
}
