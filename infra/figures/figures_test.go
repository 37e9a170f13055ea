package figures

import (
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// root is the checkout, from here.
const root = "../.."

// benchmark stands for a *testing.B.
type benchmark struct {
	metrics map[string]float64
	failed  []string
}

func (b *benchmark) Helper() {}
func (b *benchmark) ReportMetric(n float64, unit string) {
	b.metrics[unit] = n
}
func (b *benchmark) Fatalf(format string, _ ...any) { b.failed = append(b.failed, format) }

func tell(t *testing.T, f Figure) *benchmark {
	t.Helper()
	b := &benchmark{metrics: map[string]float64{}}
	Tell(b, f)
	return b
}

func TestAFigureIsReportedAndLeftForThePage(t *testing.T) {
	dir := t.TempDir()
	t.Setenv(EnvDir, dir)
	b := tell(t, Figure{Row: "append", Ours: 90, Yardstick: 100, Value: 0.9, Details: []Detail{{"rounds", 3, ""}}})
	if len(b.failed) > 0 || b.metrics["append:value"] != 0.9 || b.metrics["append:ours"] != 90 || b.metrics["append:yardstick"] != 100 {
		t.Errorf("got metrics %v, failures %v", b.metrics, b.failed)
	}
	results, err := Read(filepath.Join(dir, "none.json"))
	if err != nil {
		t.Fatal(err)
	}
	merged, err := results.Merge(dir, Taken{Machine: "m", Idle: 1})
	if err != nil || len(merged) != 1 || results.Figures["append"].Value != 0.9 || results.Figures["append"].Details[0].Value != 3 {
		t.Errorf("merged %v, %v: %+v", merged, err, results.Figures)
	}
}

func TestARowThatIsNotInTheTableFailsTheBenchmark(t *testing.T) {
	t.Setenv(EnvDir, t.TempDir())
	if b := tell(t, Figure{Row: "no-such-row"}); len(b.failed) != 1 {
		t.Errorf("got %d failures, want 1", len(b.failed))
	}
}

func TestWhatWasDividedByNothingIsNoFigure(t *testing.T) {
	dir := t.TempDir()
	t.Setenv(EnvDir, dir)
	nan := math.NaN()
	if b := tell(t, Figure{Row: "append", Ours: 1, Value: nan}); len(b.failed) != 1 {
		t.Errorf("got %d failures, want 1", len(b.failed))
	}
	if b := tell(t, Figure{Row: "append", Ours: 1, Value: 1, Details: []Detail{{"good", 1, ""}, {"bad", nan, ""}}}); len(b.failed) != 0 {
		t.Errorf("got %d failures, want none", len(b.failed))
	}
	if figures, _, err := left(dir); err != nil || len(figures) != 1 || len(figures[0].Details) != 1 {
		t.Errorf("left %+v, %v; want one figure with one detail", figures, err)
	}
}

func TestAShortRunNeverTakesThePlaceOfAFullOneAndOthersStay(t *testing.T) {
	r := Results{Figures: map[string]Kept{
		"append": {Figure{Row: "append", Value: 0.9}, Taken{}}, "gate-look": {Figure{Row: "gate-look", Value: 7}, Taken{}},
		"rebuild": {Figure{Row: "rebuild", Value: 0.1}, Taken{Short: true}},
	}, Stages: map[string]KeptStage{"accepted": {Stage{Name: "accepted", Count: 9}, Taken{}}}}
	run := func(short bool, value float64) {
		dir := t.TempDir()
		t.Setenv(EnvDir, dir)
		tell(t, Figure{Row: "append", Value: value})
		tell(t, Figure{Row: "rebuild", Value: value})
		TellStage(&benchmark{metrics: map[string]float64{}}, Stage{Name: "accepted", Count: int(value)}, nil)
		if _, err := r.Merge(dir, Taken{Short: short}); err != nil {
			t.Fatal(err)
		}
	}
	run(true, 2)
	if r.Figures["append"].Value != 0.9 || r.Figures["rebuild"].Value != 2 || r.Stages["accepted"].Count != 9 || !r.Figures["rebuild"].Taken.Short {
		t.Errorf("after a short run: %+v", r)
	}
	run(false, 3)
	if r.Figures["append"].Value != 3 || r.Figures["rebuild"].Value != 3 || r.Figures["gate-look"].Value != 7 || r.Stages["accepted"].Count != 3 {
		t.Errorf("after a full run: %+v", r)
	}
}

func TestThePageSaysWhatWasReachedAndWhatSaysNothing(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	taken := Taken{At: at, Machine: "m", Idle: 0.99, Command: "make bench"}
	short, busy := taken, taken
	short.Short, busy.Idle = true, 0.4
	page := Render(Results{Figures: map[string]Kept{
		"append":   {Figure{Row: "append", Ours: 90_000, Yardstick: 100_000, Value: 0.9}, taken},
		"rebuild":  {Figure{Row: "rebuild", Ours: 1, Yardstick: 2, Value: 0.5}, taken},
		"snapshot": {Figure{Row: "snapshot", Ours: 9, Yardstick: 1, Value: 9}, busy},
		"click":    {Figure{Row: "click", Ours: 1, Yardstick: 1, Value: 1}, short},
	}})
	for row, want := range map[string][]string{
		"(#append)":   {"| 90,000 events/s |", "100,000 events/s", "≥ 0.80 ×: reached", "2026-01-02, 99 % idle before |"},
		"(#rebuild)":  {"≥ 0.70 ×: **not reached**"},
		"(#snapshot)": {"≤ 1.50 ×: **not reached**", "(**busy**)"},
		"(#click)":    {"| ≤ 20 × |", "short run: says nothing"},
		"| refusals":  {"not taken yet", "≥ 0.80 ×"},
	} {
		line := ""
		for l := range strings.Lines(page) {
			if strings.HasPrefix(l, "|") && strings.Contains(l, row) {
				line = l
			}
		}
		for _, part := range want {
			if !strings.Contains(line, part) {
				t.Errorf("the line of %s is %q; want %q in it", row, line, part)
			}
		}
	}
}

func TestThePageIsWhatTheFiguresGive(t *testing.T) {
	results, err := Read(filepath.Join(root, "docs", "performance.json"))
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(root, "docs", "performance.md"))
	if err != nil {
		t.Fatal(err)
	}
	if string(page) != Render(results) {
		t.Error("docs/performance.md is not what docs/performance.json and the texts give: make performance")
	}
}

func TestEverySuiteHasABenchmarkThatTellsItsRows(t *testing.T) {
	sources := map[string]string{}
	for _, s := range Suites() {
		if sources[s.Package] == "" {
			files, err := filepath.Glob(filepath.Join(root, s.Package, "*_test.go"))
			if err != nil || len(files) == 0 {
				t.Fatalf("no tests in %s: %v", s.Package, err)
			}
			for _, file := range files {
				text, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				sources[s.Package] += string(text)
			}
		}
		if !strings.Contains(sources[s.Package], "func Benchmark"+s.Bench+"(b *testing.B)") {
			t.Errorf("suite %s: %s has no benchmark %s", s.Name, s.Package, s.Bench)
		}
		for _, flag := range regexp.MustCompile(`(?:^| )-([a-z.]+)`).FindAllStringSubmatch(s.Args+" "+s.Short, -1) {
			if !strings.Contains(sources[s.Package], `("`+flag[1]+`"`) {
				t.Errorf("suite %s: %s has no flag %s", s.Name, s.Package, flag[1])
			}
		}
		told := 0
		for _, row := range Rows() {
			if row.Suite != s.Name {
				continue
			}
			told++
			if !strings.Contains(sources[s.Package], `"`+row.ID+`"`) {
				t.Errorf("no benchmark of %s tells the row %s", s.Package, row.ID)
			}
		}
		if told == 0 {
			t.Errorf("suite %s has no row", s.Name)
		}
	}
	if s := ProfileSuite(); !strings.Contains(sources[s.Package], "func Benchmark"+s.Bench+"(b *testing.B)") {
		t.Errorf("%s has no benchmark %s", s.Package, s.Bench)
	}
	for _, row := range Rows() {
		if chosen, err := Choose(row.ID); err != nil || len(chosen) != 1 || chosen[0].Name != row.Suite {
			t.Errorf("row %s chooses %v, %v; want suite %s", row.ID, chosen, err, row.Suite)
		}
	}
	if _, err := Choose("refusals,refusal"); err == nil {
		t.Error("a name that is none was taken")
	}
}

func TestEveryTextBelongsToARowOrAStage(t *testing.T) {
	texts, err := bounds.ReadDir("bounds")
	if err != nil || len(texts) == 0 {
		t.Fatalf("%d texts, %v", len(texts), err)
	}
	for _, text := range texts {
		name := strings.TrimSuffix(text.Name(), ".md")
		_, row := RowOf(name)
		if !row && name != "intro" && name != "stages" && !strings.HasPrefix(name, "stage-") {
			t.Errorf("bounds/%s.md belongs to no row", name)
		}
	}
}

func TestProfilesOfAStageAreCopiedAndThoseOfOthersAreNot(t *testing.T) {
	from, to := t.TempDir(), filepath.Join(t.TempDir(), "new")
	t.Setenv(EnvDir, from)
	for _, stage := range []string{"accepted", "recorded"} {
		TellStage(&benchmark{metrics: map[string]float64{}}, Stage{Name: stage, Count: 1}, map[string]string{"cpu": "top of " + stage})
	}
	if err := CopyProfiles(from, to, []string{"accepted"}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(to, "accepted-cpu.txt"))
	if err != nil || string(text) != "top of accepted" {
		t.Errorf("got %q, %v", text, err)
	}
	if all, err := os.ReadDir(to); err != nil || len(all) != 1 {
		t.Errorf("copied %v, %v; want one file", all, err)
	}
}

func TestAStrangeFileOfABenchmarkIsAnErrorAndNoFigure(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, figurePrefix+"append.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := Results{Figures: map[string]Kept{}, Stages: map[string]KeptStage{}}
	if _, err := r.Merge(dir, Taken{}); err == nil || len(r.Figures) > 0 {
		t.Errorf("got %v, %v; want an error", r.Figures, err)
	}
}
