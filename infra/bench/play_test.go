package bench

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"seckill/infra/load"
)

// played plays a scenario at the fake.
func (f *fake) played(name string, size func(*Scenario)) *Report {
	f.t.Helper()
	s, ok := Find(name)
	if !ok {
		f.t.Fatalf("there is no scenario %s", name)
	}
	s.Rate, s.Buyers = 300, 0
	if name == Spike {
		s.Buyers = 300
	} else {
		s.For = time.Second
	}
	if size != nil {
		size(&s)
	}
	if err := s.Validate(); err != nil {
		f.t.Fatal(err)
	}
	report, err := Play(f.t.Context(), Options{
		Scenario: s, URL: f.url, Operator: Operator{Token: "boss", Client: NewClient(f.tls)}, TLS: f.tls,
		Sign: func(_ context.Context, n int) ([]string, error) {
			var tokens []string
			for i := range n {
				tokens = append(tokens, fmt.Sprintf("buyer-%d", i))
			}
			return tokens, nil
		},
		Conns: f.conns, Timeout: 20 * time.Second, Poll: 50 * time.Millisecond, Think: 10 * time.Millisecond, Tries: 5, Patience: f.patience,
		Say: f.t.Logf, Progress: func(*load.Run, time.Time) func() { return func() {} },
	})
	if err != nil {
		f.t.Fatal(err)
	}
	if !f.closed {
		f.t.Error("the rehearsal sale is left open")
	}
	return report
}

func (f *fake) wantCheck(r *Report, name string, want *bool) {
	f.t.Helper()
	for _, c := range r.Checks {
		if c.Name != name {
			continue
		}
		if (c.OK == nil) != (want == nil) || c.OK != nil && *c.OK != *want {
			f.t.Errorf("%s: got %v (%s)", name, c.OK, c.Detail)
		}
		return
	}
	f.t.Errorf("nobody checked %q", name)
}

func yes() *bool { v := true; return &v }
func no() *bool  { v := false; return &v }

func TestEveryScenarioPlaysAtAGoodInstallationAndFindsNothing(t *testing.T) {
	for _, s := range Scenarios() {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t)
			r := f.played(s.Name, nil)
			if !r.Good || len(r.Checks) < 7 || len(r.Kinds) == 0 || len(r.Series) == 0 || !r.Backlog.Drained || r.Bytes.PerQuestion < 50 {
				t.Errorf("got %+v", r)
			}
			if r.AsExpected != 1 {
				t.Errorf("got %v as expected: %+v", r.AsExpected, r.Kinds)
			}
		})
	}
}

// Who was to press while the server stood still was answered after it went on: the
// percentiles of the report must show it, whatever else the machine does.
func TestAStallOfASecondIsInTheReport(t *testing.T) {
	f := newFake(t)
	f.stallAt, f.stallFor = 150, time.Second
	r := f.played("soak", func(s *Scenario) { s.For, s.Mix = 3*time.Second, load.Mix{load.Purchases: 1} })
	k := find(r, load.KindPurchase)
	// A third of the presses were due in the stall, so one in a hundred waited for nearly
	// all of it, and one in ten for more than half.
	if k.P99 < 850 || k.P90 < 450 || k.Max < 900 {
		t.Errorf("got p90 %.0f, p99 %.0f, most %.0f ms after a stall of a second", k.P90, k.P99, k.Max)
	}
	most := 0.0
	for _, s := range r.Series {
		most = max(most, s.P99)
	}
	if most < 850 || f.from.IsZero() {
		t.Errorf("no part of the time shows the stall: %+v", r.Series)
	}
}

// With too few connections the load did not come as it was to: the latencies say so, and
// the run is invalid.
func TestWhoWaitedForAConnectionMakesARunInvalid(t *testing.T) {
	f := newFake(t)
	f.stallAt, f.stallFor, f.conns = 50, time.Second, 1
	r := f.played("soak", func(s *Scenario) { s.For, s.Mix = 2*time.Second, load.Mix{load.Purchases: 1} })
	if r.Valid || len(r.Invalid) == 0 || !strings.Contains(strings.Join(r.Invalid, "; "), "all 1 connections were busy") || r.Generator.LateP99 < 500 {
		t.Errorf("got valid %t %q, sends up to %.0f ms late at p99", r.Valid, r.Invalid, r.Generator.LateP99)
	}
	if k := find(r, load.KindPurchase); k.P99 < 850 || !r.Good {
		t.Errorf("got p99 %.0f ms, good %t: the waiting counts", k.P99, r.Good)
	}
}

func TestWhatMustHoldIsFoundBroken(t *testing.T) {
	for name, c := range map[string]struct {
		scenario string
		break_   func(*fake)
		size     func(*Scenario)
		check    string
		want     *bool
	}{
		"drift":         {"drain", func(f *fake) { f.drift = 2 }, nil, checkBooks, no()},
		"oversold":      {"spike", func(f *fake) { f.oversells = true }, nil, checkOversold, no()},
		"lost":          {"drain", func(f *fake) { f.forgets = 3 }, nil, checkKept, no()},
		"left":          {"spike", func(f *fake) { f.left = 4 }, nil, checkUnsold, no()},
		"two orders":    {"repeat-clicks", func(f *fake) { f.twice = true }, nil, checkOneOrder, no()},
		"not drained":   {"drain", func(f *fake) { f.stuck, f.patience = 5, 3*time.Second }, nil, checkDrained, no()},
		"no metrics":    {"drain", func(f *fake) { f.blind = true }, nil, checkDrained, nil},
		"attackers in":  {"soak", func(f *fake) { f.naive = true }, func(s *Scenario) { s.Mix = load.Mix{load.Purchases: 1, load.Attackers: 1} }, checkRepelled, no()},
		"attackers out": {"soak", func(*fake) {}, func(s *Scenario) { s.Mix = load.Mix{load.Purchases: 1, load.Attackers: 1} }, checkRepelled, yes()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t)
			c.break_(f)
			r := f.played(c.scenario, c.size)
			f.wantCheck(r, c.check, c.want)
			if want := c.want == nil || *c.want; r.Good != want {
				t.Errorf("got good %t, want %t: %+v", r.Good, want, r.Checks)
			}
		})
	}
}

func TestARunIsInvalidWhereTheGeneratorWasTheBottleneck(t *testing.T) {
	for want, g := range map[string]Generator{
		"":                           {Cores: 2, CPUPeak: .9, LateP99: 10, Conns: 5},
		"95 % of its 2 cores":        {Cores: 2, CPUPeak: .95, LateP99: 1},
		"12.0 ms late at p99":        {Cores: 2, CPUPeak: .2, LateP99: 12, Conns: 5},
		"all 10 connections":         {Cores: 2, CPUPeak: .2, LateP99: 12, Conns: 10},
		"shares the machine":         {Cores: 2, CPUPeak: .2, LateP99: 12, Shared: true},
		"busiest second, more than":  {Cores: 2, CPUPeak: .95, LateP99: 12},
		"sends were up to 1000.0 ms": {Cores: 2, CPUPeak: .1, LateP99: 1000},
	} {
		got := g.judge(10)
		if (want == "") != (len(got) == 0) || !strings.Contains(strings.Join(got, "; "), want) {
			t.Errorf("%+v: got %q, want %q", g, got, want)
		}
	}
}

func TestTheBacklogOfSeveralDatabasesIsTheirSum(t *testing.T) {
	const text = `# TYPE seckill_queued_orders gauge
seckill_queued_orders{database="b"} 3
seckill_queued_orders{database="main"} 4
seckill_recorder_lag_entries{database="main"} 1
seckill_log_position{database="b"} 10
seckill_log_position{database="main"} 100
seckill_relay_position{database="b"} 8
seckill_relay_position{database="main"} 99
seckill_projection_lag_events{database="b",projection="order_view"} 5
seckill_projection_lag_events{database="main",projection="order_view"} 6
`
	values, err := parseMetrics(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	got, err := sampleOf(overDatabases(values))
	if err != nil || got.Undecided != 7 || got.Journal != 1 || got.Relay != 3 || got.Views["order_view"] != 11 {
		t.Errorf("got %+v %v", got, err)
	}
	if _, err := sampleOf(map[string]float64{metricJournal: 0}); !errors.Is(err, errNoMetrics) {
		t.Errorf("got %v, want that there are no metrics of seckill", err)
	}
}

func TestAPageNeedsNothingFromElsewhere(t *testing.T) {
	f := newFake(t)
	r := f.played("spike", nil)
	r.Invalid, r.Valid, r.About = []string{"<script>alert(1)</script>"}, false, "&<x>"
	page, err := Page(r)
	if err != nil {
		t.Fatal(err)
	}
	text := string(page)
	for _, bad := range []string{"<script", "src=", "href=", "url(", "@import"} {
		if strings.Contains(text, bad) {
			t.Errorf("the page has %q", bad)
		}
	}
	for _, want := range []string{"prefers-color-scheme: dark", "<polyline", "INVALID", "Backlog to the last view", "Latency by share", "nothing oversold"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page has no %q", want)
		}
	}
	if strings.Contains(text, "NaN") || strings.Contains(text, "Inf") {
		t.Error("a chart has points that are nowhere")
	}
}

// Whoever stops a rehearsal leaves no open sale behind.
func TestARehearsalThatIsStoppedClosesItsSale(t *testing.T) {
	f := newFake(t)
	ctx, stop := context.WithCancel(t.Context())
	s, _ := Find("soak")
	s.For = time.Minute
	_, err := Play(ctx, Options{
		Scenario: s, URL: f.url, Operator: Operator{Token: "boss", Client: NewClient(nil)}, Say: t.Logf,
		Sign: func(_ context.Context, n int) ([]string, error) {
			return slices.Repeat([]string{"buyer-1"}, n), nil
		},
		Progress: func(*load.Run, time.Time) func() { stop(); return func() {} },
	})
	if !errors.Is(err, context.Canceled) || !f.closed {
		t.Errorf("got %v, closed %t; want the end of the context, and the sale closed", err, f.closed)
	}
}

// Over https the crowd and the operator prove who answers.
func TestARehearsalIsPlayedOverHTTPS(t *testing.T) {
	f := newFake(t)
	server := httptest.NewTLSServer(f)
	t.Cleanup(server.Close)
	trusts := server.Client().Transport.(*http.Transport).TLSClientConfig
	f.url, f.tls = server.URL, trusts
	if r := f.played("drain", nil); !r.Good || r.Accepted == 0 || find(r, load.KindPurchase).Failed > 0 {
		t.Errorf("got %+v", r.Kinds)
	}
}

func TestASaleOfRealBuyersIsNotPlayedIn(t *testing.T) {
	f := newFake(t)
	s, _ := Find("drain")
	o := Options{Scenario: s, Sale: "thesale", URL: f.url, Operator: Operator{Token: "boss", Client: NewClient(nil)}, Say: t.Logf,
		Sign: func(_ context.Context, n int) ([]string, error) { return make([]string, n), nil }}
	o.Scenario.Rate, o.Scenario.For = 10, time.Second
	if _, err := Play(t.Context(), o); err == nil || !strings.Contains(err.Error(), "real buyers") || f.presses > 0 {
		t.Errorf("got %v after %d presses, want a refusal", err, f.presses)
	}
	o.Operator.Token = ""
	if _, err := Play(t.Context(), o); err == nil || !strings.Contains(err.Error(), "cannot be seen") {
		t.Errorf("got %v, want a refusal", err)
	}
}

func TestABaselineIsKeptWhole(t *testing.T) {
	file := t.TempDir() + "/deep/" + BaselineFile
	if _, ok, err := ReadBaseline(file); ok || err != nil {
		t.Errorf("got %t %v, want none", ok, err)
	}
	want := Baseline{At: time.Now().UTC().Truncate(time.Second), Scenario: Spike, Rate: .985}
	for range 2 {
		if err := WriteBaseline(file, want); err != nil {
			t.Fatal(err)
		}
	}
	if got, ok, err := ReadBaseline(file); !ok || err != nil || got != want {
		t.Errorf("got %+v %t %v, want %+v", got, ok, err, want)
	}
}
