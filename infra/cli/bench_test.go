package cli

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"seckill/infra/bench"
	"seckill/infra/config"
	"seckill/infra/plan"
)

const someSecret = "0123456789abcdef0123456789abcdef"

// Nothing of this machine is sent to another one unasked, and what is needed there is
// said.
func TestWhoSignsTokensIsKnownBeforeAnythingIsSent(t *testing.T) {
	for name, c := range map[string]struct {
		bench    benchCmd
		settings config.Settings
		foreign  bool
		want     string // the secret
		err      string
	}{
		"this machine":               {want: someSecret, settings: config.Settings{JWTSecret: someSecret}},
		"this machine, its own":      {want: "*"},
		"another, told nothing":      {foreign: true, err: "--secret"},
		"another, with a setting":    {foreign: true, settings: config.Settings{JWTSecret: someSecret}, want: someSecret},
		"another, with its secret":   {foreign: true, bench: benchCmd{Secret: someSecret}, want: someSecret},
		"another, with tokens":       {foreign: true, bench: benchCmd{Tokens: "file"}},
		"a secret that is guessable": {bench: benchCmd{Secret: "short"}, err: "at least"},
		"an issuer signs":            {settings: config.Settings{JWKSURL: "https://x"}, err: "JWKS"},
		"an issuer signed":           {settings: config.Settings{JWKSURL: "https://x"}, bench: benchCmd{Tokens: "file"}},
	} {
		t.Run(name, func(t *testing.T) {
			c.settings.DataDir = t.TempDir()
			secret, err := c.bench.signer(console{settings: c.settings}, c.foreign)
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("got %v, want a sentence about %s", err, c.err)
				}
				return
			}
			if err != nil || c.want == "*" && len(secret) < 32 || c.want != "*" && string(secret) != c.want {
				t.Errorf("got %q and %v, want %q", secret, err, c.want)
			}
		})
	}
}

func TestTokensOfAFileAreTakenInItsOrderAndTooFewAreSaid(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(file, []byte("one\n\n two \nthree\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	b := benchCmd{Tokens: file}
	got, err := b.sign(nil)(t.Context(), 2)
	if err != nil || strings.Join(got, ",") != "one,two" {
		t.Errorf("got %v %v", got, err)
	}
	if _, err := b.sign(nil)(t.Context(), 4); err == nil || !strings.Contains(err.Error(), "3 tokens") {
		t.Errorf("got %v, want how many there are", err)
	}
	b.Tokens += "-none"
	if _, err := b.sign(nil)(t.Context(), 1); err == nil || !strings.Contains(sentence(err), "cannot be read") {
		t.Errorf("got %v, want that there is no such file", err)
	}
}

func TestFlagsOfARehearsalTakeThePlaceOfTheScenarios(t *testing.T) {
	good := benchCmd{Scenario: "hot-sku", Rate: new(5.0), Skus: new(3), Mix: "purchases=1,pages=1", Conns: 1, Tries: 1, Timeout: 1, Poll: 1, Think: 1, Patience: 1, Buckets: 1}
	s, err := good.scenario()
	if err != nil || s.Rate != 5 || s.SKUs != 3 || s.Mix.String() != "purchases=1,pages=1" || s.Hot != .9 {
		t.Errorf("got %+v %v", s, err)
	}
	for want, change := range map[string]func(*benchCmd){
		"--conns": func(b *benchCmd) { b.Conns = 0 }, "--tries": func(b *benchCmd) { b.Tries = 0 }, "--timeout": func(b *benchCmd) { b.Timeout = -1 },
		"--buckets": func(b *benchCmd) { b.Buckets = 0 }, "--skus": func(b *benchCmd) { b.Skus = new(1000) }, "--duration": func(b *benchCmd) { b.Duration = new(time.Duration(1)) },
		"--presses":              func(b *benchCmd) { b.Presses = new(-1) },
		"--rate must be above 0": func(b *benchCmd) { b.Rate = new(0.0) }, "--buyers must be above 0": func(b *benchCmd) { b.Buyers = new(0) },
		"--stock must be above 0": func(b *benchCmd) { b.Stock = new(int64(0)) }, "--skus must be above 0": func(b *benchCmd) { b.Skus = new(0) },
		"visitors": func(b *benchCmd) { b.Rate = new(1e9) },
	} {
		b := good
		change(&b)
		if _, err := b.scenario(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want a sentence about %s", err, want)
		}
	}
}

func TestAChildGetsTheSettingsOfFlagsAndAMeasurementNoneButItsOwn(t *testing.T) {
	t.Setenv("SECKILL_NAMESPACE", "elsewhere")
	env := childEnv(config.Settings{Namespace: "here", DataDir: "/d", JWTSecret: someSecret})
	last := map[string]string{}
	for _, kv := range env {
		name, value, _ := strings.Cut(kv, "=")
		last[name] = value
	}
	if last["SECKILL_NAMESPACE"] != "here" || last["SECKILL_DATA_DIR"] != "/d" || last["SECKILL_JWT_SECRET"] != someSecret {
		t.Errorf("got %v", last)
	}
	for _, kv := range plainEnv("SECKILL_DATA_DIR=/u") {
		if strings.HasPrefix(kv, "SECKILL_") && kv != "SECKILL_DATA_DIR=/u" {
			t.Errorf("a measurement gets %s", kv)
		}
	}
}

// Two measurements at once would throw away what the other measures with.
func TestOneMeasurementAtATimeIsTakenOnADataFolder(t *testing.T) {
	dir := t.TempDir()
	free, err := lockUnits(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	refused := make(chan error)
	go func() {
		_, err := lockUnits(ctx, dir)
		refused <- err
	}()
	stop()
	if err := <-refused; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want that the second one waits", err)
	}
	if err := free(); err != nil {
		t.Fatal(err)
	}
	// Who waited for somebody else's measurement takes that.
	m := plan.NewMeasurement(map[string]float64{plan.KeyRecorded: 5})
	if err := bench.WriteJSON(filepath.Join(dir, plan.MeasurementFile), m); err != nil {
		t.Fatal(err)
	}
	got, err := (console{settings: config.Settings{DataDir: dir}}).measureUnits(t.Context(), false)
	if err != nil || got.Values[plan.KeyRecorded] != 5 {
		t.Errorf("got %+v %v, want the one that is there", got, err)
	}
}

// A sentence that a person can act on.
func TestErrorsOfARehearsalAreSentences(t *testing.T) {
	if err := benchError(&bench.UnreachableError{URL: "http://x", Err: os.ErrDeadlineExceeded}); !strings.Contains(sentence(err), "http://x cannot be reached") {
		t.Errorf("got %q", sentence(err))
	}
	if c := (console{err: &strings.Builder{}}); c.fail(benchError(&bench.SaleError{Sale: "s", Why: "it is over"})) != exitUsage {
		t.Error("a sale that cannot be rehearsed with is a wrong command line")
	}
}

// Nobody plays for minutes to be told at the end that the page has no place.
func TestAPageThatCannotBeWrittenIsSaidBeforeTheRun(t *testing.T) {
	dir := t.TempDir()
	if err := pageFits(filepath.Join(dir, "page.html")); err != nil {
		t.Errorf("got %v of a page that can be written", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if code, _, errs := try(t, "bench", "spike", "--html", dir); code != exitUsage || !strings.Contains(errs, "is a folder") {
		t.Errorf("a folder: exit code %d, %q", code, errs)
	}
	if code, _, errs := try(t, "bench", "spike", "--html", filepath.Join(dir, "none", "page.html")); code != exitFailure || !strings.Contains(errs, "page.html cannot be written: no such file or directory") {
		t.Errorf("a folder that is not there: exit code %d, %q", code, errs)
	}
}

func TestARehearsalOfNoStrategyIsAUsageError(t *testing.T) {
	if code, _, errs := try(t, "bench", "spike", "--strategy", "best"); code != exitUsage || !strings.Contains(errs, "redis-sync") {
		t.Errorf("exit code %d, %q; want 2 and the strategies", code, errs)
	}
}

// An image has no history of its sources: what it was built as is told to the linker.
func TestAReportNamesTheProgramAsVersionDoes(t *testing.T) {
	builtVersion, builtRevision = "v1.2.3", "abc"
	t.Cleanup(func() { builtVersion, builtRevision = "", "" })
	if got := moduleVersion(); got != "seckill v1.2.3 abc" {
		t.Errorf("got %q, want what the image was built as", got)
	}
}
