package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"seckill/api"
	"seckill/infra/testenv"
)

// exampleFolder holds the example in JavaScript.
const exampleFolder = "../../../docs/examples/javascript"

// The types that are kept are those that the pinned tools make of the document now, and
// the example agrees with them.
func TestTheJavaScriptTypesAreThoseOfTheDocument(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("skipped in short mode: no Go code runs in it")
	}
	testenv.Program(t, "nodejs", "node")
	testenv.Program(t, "npm", "npm")
	dir := t.TempDir()
	for _, name := range []string{"package.json", "package-lock.json", "tsconfig.json", "generate.mjs", "seckill.mjs", "buy.mjs", "buyer-api.d.ts"} {
		data, err := os.ReadFile(filepath.Join(exampleFolder, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	document, err := filepath.Abs("../../../api/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	in := func(program string, args ...string) (string, error) {
		cmd := exec.CommandContext(t.Context(), program, args...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := in("npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts"); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("install the pinned tools: %v\n%s", err, out)
		}
		t.Skipf("the pinned tools cannot be installed here: %v\n%s", err, out)
	}
	if out, err := in("node", "generate.mjs", document, "fresh.d.ts"); err != nil {
		t.Fatalf("generate the types: %v\n%s", err, out)
	}
	kept, err := os.ReadFile(filepath.Join(dir, "buyer-api.d.ts"))
	if err != nil {
		t.Fatal(err)
	}
	fresh, err := os.ReadFile(filepath.Join(dir, "fresh.d.ts"))
	if err != nil {
		t.Fatal(err)
	}
	if len(kept) == 0 || !bytes.Equal(kept, fresh) {
		t.Error("docs/examples/javascript/buyer-api.d.ts is not what api/openapi.yaml says now; in its folder run: npm ci && npm run generate")
	}
	if out, err := in(filepath.Join("node_modules", ".bin", "tsc")); err != nil {
		t.Errorf("the example does not agree with the types: %v\n%s", err, out)
	}
}

// printed is what the example prints.
type printed struct {
	OrderID string `json:"order_id"`
	Status  string `json:"status"`
	Repeat  bool   `json:"repeat"`
	Key     string `json:"key"`
	Unknown bool   `json:"unknown"`
	Refused string `json:"refused"`
	Receipt string `json:"receipt"`
}

// runExample runs the example as a buyer, with settings of the form NAME=value, and gives what
// it printed and its exit code.
func runExample(t *testing.T, url, sale, buyer, key string, env ...string) (printed, int) {
	t.Helper()
	token, err := api.SignToken([]byte(TestSecret), buyer, "", "", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	args := []string{filepath.Join(exampleFolder, "buy.mjs"), url, sale, "item"}
	if key != "" {
		args = append(args, key)
	}
	cmd := exec.CommandContext(patience(t), "node", args...)
	cmd.Env = append(cleanEnv("SECKILL_TOKEN="+token), env...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	var p printed
	if err := json.Unmarshal(out, &p); err != nil {
		t.Fatalf("the example ends with %d and prints %q: %v\n%s", cmd.ProcessState.ExitCode(), out, err, stderr.String())
	}
	return p, cmd.ProcessState.ExitCode()
}

func TestTheJavaScriptExampleBuysWhateverBecomesOfTheAnswers(t *testing.T) {
	testenv.Program(t, "nodejs", "node")
	l := openLossy(t)
	buys := func(buyer, key string, env ...string) (printed, int) {
		return runExample(t, l.proxy.URL(), l.sale, buyer, key, env...)
	}
	got, code := buys("plain", "")
	if code != 0 || got.Status != "placed" || got.Repeat || got.Key == "" {
		t.Fatalf("got %+v and exit %d, want an order", got, code)
	}
	l.promised[got.OrderID] = "plain"

	l.proxy.DropReplies(1)
	if got, code = buys("one-lost", "", "TRY_TIMEOUT_MS=3000"); code != 0 || got.Status != "placed" || !got.Repeat || l.proxy.Dropped() != 1 {
		t.Fatalf("with a lost answer: got %+v and exit %d, want the order of the first try", got, code)
	}
	l.promised[got.OrderID] = "one-lost"

	l.proxy.DropReplies(1 << 20)
	got, code = buys("all-lost", "", "TRY_TIMEOUT_MS=1000", "TRIES=2")
	if code != 4 || !got.Unknown || got.Key == "" {
		t.Fatalf("with every answer lost: got %+v and exit %d, want that it is not known", got, code)
	}
	l.proxy.Heal()
	if got, code = buys("all-lost", got.Key); code != 0 || !got.Repeat || got.Status != "placed" {
		t.Fatalf("the key again: got %+v and exit %d, want the order", got, code)
	}
	l.promised[got.OrderID] = "all-lost"
	l.check()
}

// What cannot be an answer is a lost one, and waiting for the opening is no try.
func TestTheJavaScriptExampleCountsTriesAsTheRulesSay(t *testing.T) {
	t.Parallel()
	testenv.Program(t, "nodejs", "node")
	var keys []string
	shop := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			keys = append(keys, r.Header.Get("Idempotency-Key")) // one call after the other
		}
		switch {
		case r.Method == http.MethodGet:
			_, _ = io.WriteString(w, `{"order_id":"o-1","status":"placed"}`)
		case len(keys) == 1:
			_, _ = io.WriteString(w, "null")
		case len(keys) == 2:
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusTooEarly)
			_, _ = io.WriteString(w, `{"code":"too_early","retry_after_ms":1}`)
		default:
			_, _ = io.WriteString(w, `{"order_id":"o-1","status":"queued"}`)
		}
	}))
	defer shop.Close()
	got, code := runExample(t, shop.URL, "sale", "patient", "mine", "TRIES=2")
	if code != 0 || got.OrderID != "o-1" || !slices.Equal(keys, []string{"mine", "mine", "mine"}) {
		t.Errorf("got %+v and exit %d after %q, want the order by the third try", got, code, keys)
	}
}

func TestTheJavaScriptExampleObeysAndTakesANo(t *testing.T) {
	t.Parallel()
	testenv.Program(t, "nodejs", "node")
	r := NewRig(t)
	child := ServeRig(t, r)
	f := &funnel{t, NewClient(child.URL)}
	soon := f.sale(1, map[string]any{"opens_at": time.Now().Add(5 * time.Second).Format(time.RFC3339Nano)})
	got, code := runExample(t, child.URL, soon, "early", "")
	if code != 0 || got.Status != "placed" {
		t.Fatalf("before the opening: got %+v and exit %d, want an order", got, code)
	}
	no, code := runExample(t, child.URL, soon, "late", "")
	if code != 3 || no.Refused != "sold_out" || no.Receipt == "" {
		t.Errorf("sold out: got %+v and exit %d, want it refused with a receipt", no, code)
	}
	// While the node is started again nobody answers, and then it does.
	sale := f.CreateSale(t, 10)
	if end := child.Stop(); end != 0 {
		t.Errorf("the node ends with %d", end)
	}
	type ended struct {
		printed
		code int
	}
	done := make(chan ended, 1)
	go func() {
		defer close(done) // also where it fails the test
		p, code := runExample(t, child.URL, sale, "patient", "", "TRIES=1000")
		done <- ended{p, code}
	}()
	child.Start()
	child.AwaitReady()
	if e := <-done; e.code != 0 || e.Status != "placed" {
		t.Errorf("over a restart: got %+v, want an order", e)
	}
}
