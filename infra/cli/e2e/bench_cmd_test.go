package e2e

import (
	"encoding/json"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"seckill/infra/testenv"
)

// rehearsed is what `bench --json` prints, as far as tests look at it.
type rehearsed struct {
	SaleID     string `json:"sale_id"`
	Valid      bool
	Good       bool
	Invalid    []string
	Accepted   int
	AsExpected float64 `json:"as_expected"`
	Checks     []struct {
		Name   string
		OK     *bool
		Detail string
	}
	Kinds []struct {
		Kind                      string
		Sent, OK, Refused, Failed int64
		Outcomes                  map[string]int64
		P50                       float64 `json:"p50_ms"`
		P99                       float64 `json:"p99_ms"`
	}
	Backlog struct {
		Seen, Drained bool
		Samples       []json.RawMessage
	}
}

func (r rehearsed) kind(name string) (sent, ok, refused, failed int64) {
	for _, k := range r.Kinds {
		if k.Kind == name {
			return k.Sent, k.OK, k.Refused, k.Failed
		}
	}
	return 0, 0, 0, 0
}

// rehearse runs `bench` and reads its report. That a busy machine makes a run invalid
// is right, and then its exit code is 3.
func rehearse(t *testing.T, env []string, args ...string) (Finished, rehearsed) {
	t.Helper()
	done := Run(t, env, append([]string{"bench", "--json"}, args...)...)
	var report rehearsed
	if err := json.Unmarshal([]byte(done.Stdout), &report); err != nil {
		t.Fatalf("exit %d, %v\n%s%s", done.Code, err, done.Stdout, done.Stderr)
	}
	if want := map[bool]int{true: 0, false: 3}[report.Valid && report.Good]; done.Code != want || report.Valid != (len(report.Invalid) == 0) {
		t.Errorf("exit %d, valid %t, good %t, invalid %q; want exit %d", done.Code, report.Valid, report.Good, report.Invalid, want)
	}
	if !report.Good {
		t.Errorf("a check failed: %+v", report.Checks)
	}
	for _, c := range report.Checks {
		if c.OK == nil {
			t.Errorf("%s was not checked: %s", c.Name, c.Detail)
		}
	}
	return done, report
}

func TestARehearsedSpikeSellsWhatThereIsAndChecksTheBooks(t *testing.T) {
	r := NewRig(t)
	node := ServeRig(t, r)
	page, data := filepath.Join(t.TempDir(), "report.html"), t.TempDir()
	done, report := rehearse(t, r.Settings(t), "spike", "--url", node.URL, "--buyers", "600", "--rate", "300", "--stock", "99",
		"--poll", "200ms", "--html", page, "--record-baseline", "--data", data, "--secret", TestSecret)
	if report.Accepted != 99 {
		t.Errorf("got %d accepted, want 99 (and one who tried the door)", report.Accepted)
	}
	for _, kind := range []string{"purchase", "verdict", "placed", "poll", "page", "payment", "attack"} {
		if sent, _, _, failed := report.kind(kind); sent == 0 || failed > 0 {
			t.Errorf("%s: %d sent, %d failed", kind, sent, failed)
		}
	}
	if !report.Backlog.Seen || !report.Backlog.Drained || report.AsExpected < .9 {
		t.Errorf("got backlog %+v, %v as expected", report.Backlog, report.AsExpected)
	}
	html, err := os.ReadFile(page)
	if err != nil || !strings.Contains(string(html), "<svg") {
		t.Errorf("got no page: %v", err)
	}
	_, err = os.Stat(filepath.Join(data, "baseline.json"))
	if kept := err == nil; kept != report.Valid {
		t.Errorf("a baseline is kept: %t, and the run is valid: %t\n%s", kept, report.Valid, done.Stderr)
	}
	shown, err := NewClient(node.URL).Call(http.MethodGet, "/api/v1/sales/"+report.SaleID, "", "", nil)
	if err != nil || shown.Text("state") != "ended" {
		t.Errorf("the rehearsal sale is %s (%v), want it ended", shown.Raw, err)
	}
}

// Operators may be served apart: the sale is made and the books are compared there.
func TestARehearsalGoesToOperatorsWhereTheyAreServedApart(t *testing.T) {
	r := NewRig(t)
	admin := net.JoinHostPort("127.0.0.1", strconv.Itoa(testenv.FreePort(t)))
	node := ServeRig(t, r, "SECKILL_ADMIN_ADDR="+admin)
	args := []string{"drain", "--url", node.URL, "--rate", "50", "--duration", "1s", "--poll", "200ms", "--secret", TestSecret}
	if _, report := rehearse(t, r.Settings(t), append(args, "--admin-url", "http://"+admin)...); !report.Backlog.Seen {
		t.Errorf("got no backlog of %s", admin)
	}
	if done := Run(t, r.Settings(t), append([]string{"bench"}, args...)...); done.Code != 1 || !strings.Contains(done.Stderr, "make a rehearsal sale") {
		t.Errorf("exit %d %q, want that no sale can be made where buyers go", done.Code, done.Stderr)
	}
}

func TestRehearsedRepeatsAndRefusalsAreOneOrderEachAndNone(t *testing.T) {
	r := NewRig(t)
	node := ServeRig(t, r)
	args := []string{"--url", node.URL, "--duration", "1s", "--poll", "200ms", "--secret", TestSecret}
	_, clicks := rehearse(t, r.Settings(t), append([]string{"repeat-clicks", "--rate", "60"}, args...)...)
	if sent, ok, _, _ := clicks.kind("verdict"); ok == 0 || sent < 4*int64(clicks.Accepted) {
		t.Errorf("got %d presses, %d good, %d orders; want four presses an order", sent, ok, clicks.Accepted)
	}
	_, refusals := rehearse(t, r.Settings(t), append([]string{"refusals", "--rate", "300"}, args...)...)
	if sent, ok, refused, _ := refusals.kind("verdict"); ok > 0 || refused != sent || sent == 0 {
		t.Errorf("got %d presses, %d good, %d refused; want all refused", sent, ok, refused)
	}
}

// A server that is stopped for a second answers nobody in it: whoever was to be answered
// then waited, and the percentiles say so, whatever else the machine does.
func TestARehearsalSeesAServerThatStandsStill(t *testing.T) {
	r := NewRig(t)
	node := ServeRig(t, r)
	stood := make(chan time.Duration, 1)
	go func() {
		defer close(stood)
		client := NewClient(node.URL)
		for { // until the crowd is there
			answer, err := client.Call(http.MethodGet, "/metrics", "", "", nil)
			var sold float64
			for line := range strings.Lines(answer.Raw) {
				if value, ok := strings.CutPrefix(line, `seckill_purchases_total{outcome="reserved"} `); ok {
					sold, _ = strconv.ParseFloat(strings.TrimSpace(value), 64)
				}
			}
			if err == nil && sold > 100 {
				break
			}
			if t.Context().Err() != nil {
				return
			}
			time.Sleep(20 * time.Millisecond)
		}
		node.Freeze()
		from := time.Now()
		time.Sleep(time.Second)
		stood <- time.Since(from)
		node.Thaw()
	}()
	_, report := rehearse(t, r.Settings(t), "soak", "--url", node.URL, "--rate", "200", "--duration", "5s", "--mix", "purchases=1", "--secret", TestSecret)
	still := float64((<-stood).Milliseconds())
	for _, k := range report.Kinds {
		// A fifth of the presses were due in that second, so one in a hundred of all
		// waited for most of it.
		if k.Kind == "purchase" && (still < 1000 || k.P99 < .8*still) {
			t.Errorf("the server stood still for %.0f ms, and p99 is %.0f ms (p50 %.0f)", still, k.P99, k.P50)
		}
	}
}

func TestWhatCannotBeRehearsedIsRefusedWithAWayOut(t *testing.T) {
	for want, args := range map[string][]string{
		"--secret":          {"spike", "--url", "https://sale.example.com"},
		"--rate":            {"soak", "--rate", "-1"},
		"--mix":             {"soak", "--mix", "robots=3"},
		"--url":             {"soak", "--url", "ftp://x"},
		"--record-baseline": {"soak", "--record-baseline"},
		"spike":             {"flood"},
	} {
		if done := Run(t, []string{"SECKILL_DATA_DIR=" + t.TempDir()}, append([]string{"bench"}, args...)...); done.Code != 2 || done.Stdout != "" || !strings.Contains(done.Stderr, want) {
			t.Errorf("%v: got exit %d %q, want 2 and a sentence about %s", args, done.Code, done.Stderr, want)
		}
	}
	done := Run(t, []string{"SECKILL_DATA_DIR=" + t.TempDir()}, "bench", "drain", "--url", "http://127.0.0.1:1")
	if done.Code != 1 || !strings.Contains(done.Stderr, "cannot be reached") {
		t.Errorf("got exit %d %q, want that nothing answers there", done.Code, done.Stderr)
	}
}
