package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/alecthomas/kong"

	"seckill/domain"
	"seckill/infra/config"
	"seckill/infra/pg"
)

// try runs the program in this process; nothing in it may need a store.
func try(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(args, console{out: &out, err: &errs, signals: make(chan os.Signal)})
	return code, out.String(), errs.String()
}

func TestHelpAndVersionEndWell(t *testing.T) {
	for _, args := range [][]string{{"--help"}, {"demo", "--help"}, {"version"}} {
		if code, out, errs := try(t, args...); code != exitGood || out == "" || errs != "" {
			t.Errorf("%v: exit code %d, stdout %q, stderr %q; want 0, something, nothing", args, code, out, errs)
		}
	}
	_, out, _ := try(t, "version", "--json")
	var v versions
	if err := json.Unmarshal([]byte(out), &v); err != nil || v.Schema < 1 || !strings.HasPrefix(v.Go, "go") || v.Module == "" {
		t.Errorf("version --json: got %q (%v)", out, err)
	}
}

func TestATokenIsSignedByTheSecretOfTheDataFolder(t *testing.T) {
	dir := t.TempDir()
	code, out, errs := try(t, "token", "--buyer", "alice", "--role", "admin", "--data", dir)
	if code != exitGood || strings.Count(strings.TrimSpace(out), ".") != 2 {
		t.Fatalf("exit code %d, stdout %q, stderr %q; want a token", code, out, errs)
	}
	c := console{settings: config.Settings{DataDir: dir}}
	v, err := c.verifier(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	caller, err := v.Verify(t.Context(), strings.TrimSpace(out))
	if err != nil || caller.Buyer != "alice" || caller.Role != "admin" {
		t.Errorf("got %+v and %v, want alice as admin", caller, err)
	}
	if code, _, errs := try(t, "token", "--buyer", "a", "--jwks-url", "https://issuer/keys"); code != exitUsage || !strings.Contains(errs, "issuer") {
		t.Errorf("with a JWKS: exit code %d, stderr %q; want 2 and why", code, errs)
	}
}

func TestAnErrorForPeopleIsToldAloneWhateverWrapsIt(t *testing.T) {
	cases := map[string]error{
		"It is gone.":                               fmt.Errorf("open: %w", &pg.Problem{Sentence: "It is gone.", Cause: errors.New("dial secret")}),
		"There is no such sale.":                    fmt.Errorf("show: %w", &domain.Problem{Code: domain.CodeSaleNotFound}),
		"one\ntwo":                                  &usageError{fmt.Errorf("settings: %w", &config.InvalidError{Problems: []string{"one", "two"}})},
		"the address x is taken":                    explainListen("--http-addr", "x", fmt.Errorf("listen: %w", syscall.EADDRINUSE)),
		"Redis at h:1/0 cannot be reached":          explainRedis("redis://:pw@h:1/0", fmt.Errorf("dial: %w", os.ErrDeadlineExceeded)),
		"Redis at h:1/0 does not let us in":         explainRedis("redis://:pw@h:1", errors.New("WRONGPASS invalid")),
		"Redis at h:1, i:2 is a cluster that is":    explainRedis("redis://:pw@h:1,i:2", errors.New("CLUSTERDOWN Hash slot not served")),
		"Redis at h:1/0 has fewer replicas than":    explainRedis("redis://:pw@h:1", errors.New("NOREPLICAS Not enough good replicas to write.")),
		"Redis at h:1/0 is full":                    explainRedis("redis://:pw@h:1", errors.New("OOM command not allowed when used memory > 'maxmemory'.")),
		"Redis at h:1/0 is a server of a cluster":   explainRedis("redis://:pw@h:1", errors.New("MOVED 1 i:2")),
		"this took too long and was given up: lock": fmt.Errorf("lock: %w", context.DeadlineExceeded),
	}
	for want, err := range cases {
		if got := sentence(err); !strings.HasPrefix(got, want) || strings.Contains(got, "pw") || strings.Contains(got, "secret") {
			t.Errorf("got %q, want %q first", got, want)
		}
	}
}

func TestATakenAddressIsToldWithTheFlagThatChoosesAnother(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for _, flag := range []string{"--http-addr", "--admin-addr"} {
		args := []string{"serve", "--http-addr", "127.0.0.1:0", "--jwt-secret", strings.Repeat("s", 32), flag, taken.Addr().String()}
		code, _, errs := try(t, args...)
		if code == 0 || !strings.Contains(errs, taken.Addr().String()) || !strings.Contains(errs, "with "+flag) {
			t.Errorf("%s on a taken address: exit code %d, stderr %q; want the address and the flag", flag, code, errs)
		}
	}
}

func TestRolesAreReadAndAnUnknownOneIsAUsageError(t *testing.T) {
	r, err := parseRoles([]string{"api", " relay", "api"})
	if err != nil || len(r) != 2 || !r.any(roleRelay) || r.any(roleRecorder) {
		t.Errorf("got %v and %v, want api and relay", r, err)
	}
	for _, names := range [][]string{{"cook"}, {}, {""}} {
		var u *usageError
		if _, err := parseRoles(names); !errors.As(err, &u) {
			t.Errorf("%v: got %v, want a usage error", names, err)
		}
	}
}

func TestWhatAStoryIsAskedByIsCheckedBeforeAnyStore(t *testing.T) {
	for want, args := range map[string][]string{
		"--limit must be 1 or more":                                    {"trace", "alice", "--limit", "0"},
		`--as must be one of "order","buyer","trace" but got "parrot"`: {"trace", "alice", "--as", "parrot"},
	} {
		if code, _, errs := try(t, args...); code != exitUsage || !strings.Contains(errs, want) {
			t.Errorf("%v: exit code %d, stderr %q; want 2 and %q", args, code, errs, want)
		}
	}
}

// A list is marked by kong itself, and an empty choice cannot be written.
func TestWhatIsToBeWrittenStandsOnceInTheHelp(t *testing.T) {
	parser, err := newParser(&program{}, console{})
	if err != nil {
		t.Fatal(err)
	}
	flags := 0
	if err := kong.Visit(parser.Model, func(n kong.Visitable, next kong.Next) error {
		if f, ok := n.(*kong.Flag); ok {
			flags++
			if shown := f.FormatPlaceHolder(); strings.Contains(shown, "…") && f.IsSlice() {
				t.Errorf("--%s=%s", f.Name, shown)
			}
			if strings.HasPrefix(f.Enum, ",") {
				t.Errorf("--%s offers nothing at all as a choice: %q", f.Name, f.Enum)
			}
		}
		return next(nil)
	}); err != nil || flags < 50 {
		t.Fatalf("%d flags were looked at: %v", flags, err)
	}
}

func TestNumbersForPeopleAreGrouped(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", 50_000: "50,000", 1_234_567: "1,234,567"} {
		if got := grouped(n); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestAnAddressOfEveryInterfaceIsDialledOnThisMachine(t *testing.T) {
	for listened, want := range map[string]string{"0.0.0.0:80": "127.0.0.1:80", "[::]:80": "127.0.0.1:80", "10.0.0.1:80": "10.0.0.1:80", "localhost:80": "localhost:80"} {
		if got := dialable(listened); got != want {
			t.Errorf("%s: got %s, want %s", listened, got, want)
		}
	}
}

// What the core refuses as not in form was asked for wrongly here too.
func TestARequestThatIsNotInFormIsAUsageError(t *testing.T) {
	c := console{err: &bytes.Buffer{}}
	invalid := fmt.Errorf("tell: %w", domain.Invalid(domain.FieldError{Field: "id", Reason: "want a trace id"}))
	if code := c.fail(invalid); code != exitUsage {
		t.Errorf("exit code %d, want 2", code)
	}
	if code := c.fail(&domain.Problem{Code: domain.CodeSaleNotFound}); code != exitFailure {
		t.Errorf("a sale that is not there: exit code %d, want 1", code)
	}
}

// timeout(1) signals a process and then its group: that is one wish to stop, and what a
// command began must still be taken back.
func TestTwoSignalsAtOnceAreOneWishToStop(t *testing.T) {
	signals, quit := make(chan os.Signal), make(chan struct{})
	at := time.Unix(0, 0).UTC()
	clock := make(chan time.Time)
	var done []string
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		console{signals: signals}.obey(quit, func() time.Time { return <-clock }, []func(){
			func() { done = append(done, "stop") }, func() { done = append(done, "end") },
		})
	}()
	for i, after := range []time.Duration{0, time.Millisecond, 2 * sameStop} {
		signals <- syscall.SIGTERM
		if i == 2 && len(done) != 1 {
			t.Errorf("after two signals at once: %v, want the first act alone", done)
		}
		clock <- at.Add(after)
	}
	<-ended
	if got := strings.Join(done, " "); got != "stop end" {
		t.Errorf("got %q, want both acts after a signal that came later", got)
	}
}
