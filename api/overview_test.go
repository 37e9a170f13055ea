package api

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"seckill/domain"
)

// fakeOverviews lets one watch, and sends what a test gives it.
type fakeOverviews struct {
	mu     sync.Mutex
	seen   Overview
	frames chan OverviewFrame // nil: nobody may watch
	ended  int
}

func (f *fakeOverviews) Overview() Overview {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.seen
}

func (f *fakeOverviews) Watch() (OverviewWatch, bool) { return fakeWatch{f}, f.frames != nil }

type fakeWatch struct{ *fakeOverviews }

func (w fakeWatch) Frames() <-chan OverviewFrame { return w.frames }

func (w fakeWatch) End() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended++
}

func (f *fakeOverviews) ends() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.ended
}

func TestTheOverviewIsForOperators(t *testing.T) {
	h := newHouse(t, nil)
	n := int64(7)
	h.overviews.seen = Overview{Node: "n1", Backlog: []OverviewStage{{Stage: "journal", Waiting: &n}}}
	for _, path := range []string{pathOverview, pathOverviewStream} {
		h.ask(http.MethodGet, path, "").problem(403, domain.CodeForbidden)
		h.ask(http.MethodGet, path, "", "Authorization", "").problem(401, domain.CodeUnauthenticated)
	}
	got := h.ask(http.MethodGet, pathOverview, "", "Authorization", "Bearer "+tokenOf(t, "boss", RoleAdmin))
	var seen Overview
	if err := json.Unmarshal([]byte(got.Body), &seen); err != nil || got.Status != 200 || seen.Node != "n1" || *seen.Backlog[0].Waiting != 7 {
		t.Errorf("got %d %s (%v), want what the node sees", got.Status, got.Body, err)
	}
	if strings.Contains(got.Body, "unknown_since") || got.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("got %s, %v", got.Body, got.Header)
	}
}

// streamOf opens a stream of the overview as an operator.
func streamOf(t *testing.T, h *house) (*http.Response, *bufio.Reader) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, h.url+pathOverviewStream, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+tokenOf(t, "boss", RoleAdmin))
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = res.Body.Close() })
	if res.StatusCode != 200 || res.Header.Get("Content-Type") != "text/event-stream" || res.Header.Get("Cache-Control") != "no-store" {
		t.Fatalf("got %d %v, want a stream", res.StatusCode, res.Header)
	}
	return res, bufio.NewReader(res.Body)
}

// event reads the next event of a stream, its lines joined.
func event(t *testing.T, r *bufio.Reader) string {
	t.Helper()
	var lines []string
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			t.Fatalf("read an event after %q: %v", lines, err)
		}
		if line = strings.TrimSuffix(line, "\n"); line == "" {
			return strings.Join(lines, "|")
		}
		lines = append(lines, line)
	}
}

func TestAStreamSendsWhatIsSeenUntilTheNodeDrains(t *testing.T) {
	h := newHouse(t, nil)
	h.overviews.frames = make(chan OverviewFrame)
	res, events := streamOf(t, h)
	for n, data := range []string{`{"node":"n1"}`, `{"node":"n2"}`} {
		h.overviews.frames <- OverviewFrame{Number: uint64(n + 8), JSON: []byte(data)}
	}
	for _, want := range []string{`event: overview|id: 8|data: {"node":"n1"}`, `event: overview|id: 9|data: {"node":"n2"}`} {
		if got := event(t, events); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	h.server.Drain()
	if got, want := event(t, events), `event: end|data: {"reason":"draining"}`; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if rest, err := io.ReadAll(events); err != nil || len(rest) > 0 {
		t.Errorf("after its end a stream sent %q (%v)", rest, err)
	}
	if n := h.overviews.ends(); n != 1 || res.Body.Close() != nil {
		t.Errorf("%d watches were ended, want 1", n)
	}
}

func TestTheSwitchOfWhatNobodyWaitsForEndsStreamsAndNotTheOverview(t *testing.T) {
	h := newHouse(t, nil)
	h.overviews.frames = make(chan OverviewFrame)
	_, events := streamOf(t, h)
	h.switches.turnOn(domain.PauseNoncore)
	h.overviews.frames <- OverviewFrame{Number: 1, JSON: []byte(`{}`)}
	if got, want := event(t, events), `event: end|data: {"reason":"paused"}`; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	token := "Bearer " + tokenOf(t, "boss", RoleAdmin)
	again := h.ask(http.MethodGet, pathOverviewStream, "", "Authorization", token)
	if doc := again.problem(503, domain.CodePaused); !strings.Contains(doc["detail"].(string), "pause_noncore") {
		t.Errorf("got %v, want the switch named", doc)
	}
	h.ask(http.MethodGet, pathOverview, "", "Authorization", token).wantStatus(200)
}

func TestStreamsAreBoundedAndAHeadOfOneEnds(t *testing.T) {
	h := newHouse(t, nil)
	token := "Bearer " + tokenOf(t, "boss", RoleAdmin)
	if got := h.ask(http.MethodGet, pathOverviewStream, "", "Authorization", token).problem(503, domain.CodeBusy)["detail"]; got != streamsTaken {
		t.Errorf("got %v, want that there are as many readers as may be", got)
	}
	h.overviews.frames = make(chan OverviewFrame)
	got := h.ask(http.MethodHead, pathOverviewStream, "", "Authorization", token)
	if got.Status != 200 || got.Header.Get("Content-Type") != "text/event-stream" {
		t.Errorf("got %d %v for HEAD", got.Status, got.Header)
	}
}

func TestAWatcherThatLeavesIsForgotten(t *testing.T) {
	h := newHouse(t, nil)
	h.overviews.frames = make(chan OverviewFrame)
	res, _ := streamOf(t, h)
	if err := res.Body.Close(); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(30 * time.Second); h.overviews.ends() == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the watch of a reader who left was not ended")
		}
	}
}
