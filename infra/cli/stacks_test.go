package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"seckill/api"
	"seckill/infra/config"
)

func stacksAt(second int, groups ...api.StacksGroup) api.StacksView {
	return api.StacksView{Node: "n1", At: time.Unix(int64(1_000_000+second), 0), Groups: groups}
}

func waitingAt(kind string, minutes int64, ids ...int64) api.StacksGroup {
	ms := minutes * 60_000
	return api.StacksGroup{WaitsFor: kind, Idle: kind == "http_idle", Goroutines: int64(len(ids)), OldestMS: &ms, IDs: ids,
		Sites: []api.StacksSite{{Goroutines: int64(len(ids)), Stack: []string{kind}}}}
}

func TestWhatStaysFromDumpToDumpIsTheOldestWait(t *testing.T) {
	r := stacksReport{Dumps: []api.StacksView{
		stacksAt(0, waitingAt("http_idle", 3, 1, 2, 3), waitingAt("postgres_pool", 0, 10, 11)),
		stacksAt(5, waitingAt("http_idle", 3, 1), waitingAt("postgres_pool", 0, 11, 12), waitingAt("redis", 0, 30)),
		stacksAt(10, waitingAt("postgres_pool", 0, 11, 12, 13)),
	}}
	r.sum()
	var got []string
	for _, g := range r.Groups {
		got = append(got, g.WaitsFor)
	}
	if want := []string{"postgres_pool", "redis", "http_idle"}; !slices.Equal(got, want) {
		t.Fatalf("got %v, want %v: who holds nobody up comes last", got, want)
	}
	pool, idle := r.Groups[0], r.Groups[2]
	if !slices.Equal(pool.Goroutines, []int64{2, 2, 3}) || *pool.OldestMS != 10_000 || pool.oldest() != "≥ "+short(10*time.Second) {
		t.Errorf("got %+v, oldest %d: want goroutine 11 to have waited since the first dump", pool, *pool.OldestMS)
	}
	if !slices.Equal(idle.Goroutines, []int64{3, 1, 0}) || *idle.OldestMS != 180_000 {
		t.Errorf("got %+v, want the three minutes that the runtime counted", idle)
	}
	if *r.Groups[1].OldestMS != 0 {
		t.Errorf("got %d, want no wait of whoever was seen once", *r.Groups[1].OldestMS)
	}
}

func TestAWaitThatANodeDoesNotKnowIsNotKnown(t *testing.T) {
	r := stacksReport{Dumps: []api.StacksView{stacksAt(0, api.StacksGroup{WaitsFor: "redis_pool", Goroutines: 900})}}
	r.sum()
	if g := r.Groups[0]; g.OldestMS != nil || g.oldest() != "not known" {
		t.Errorf("got %+v", g)
	}
}

func TestStacksAsksANodeThreeTimesAsAnOperator(t *testing.T) {
	asked := 0
	node := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/api/v1/admin/stacks" || r.Header.Get("Authorization") != "Bearer operator" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		asked++
		_ = json.NewEncoder(w).Encode(stacksAt(asked, waitingAt("redis_pool", 0, 7)))
	}))
	defer node.Close()
	var out, say bytes.Buffer
	c := console{out: &out, err: &say}
	cmd := stacksCmd{URL: node.URL + "/", Token: config.Secret("operator"), Every: leastBetweenDumps, Dumps: 3}
	if err := cmd.Run(c); err != nil || asked != 3 {
		t.Fatalf("got %v after %d questions, want three", err, asked)
	}
	if text := out.String(); !strings.Contains(text, "redis_pool") || !strings.Contains(text, "≥ "+short(2*time.Second)) {
		t.Errorf("got %s", text)
	}
	cmd.Token = "somebody"
	if err := cmd.Run(c); err == nil || !strings.Contains(err.Error(), "401") {
		t.Errorf("got %v, want the node's refusal", err)
	}
}

func TestANodeThatIsNotThereIsSaidInASentence(t *testing.T) {
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	node := "http://" + gone.Addr().String()
	if err := gone.Close(); err != nil {
		t.Fatal(err)
	}
	code, out, errs := try(t, "stacks", "--url", node, "--data", t.TempDir())
	if want := "seckill: the node at " + node + " cannot be reached: is it running, and is the address right?\n"; code != exitFailure || out != "" || errs != want {
		t.Errorf("exit code %d, stdout %q, stderr %q; want 1 and %q", code, out, errs, want)
	}
	late := fmt.Errorf("ask: %w", &url.Error{Op: "Get", URL: node, Err: os.ErrDeadlineExceeded})
	if got := sentence(nodeAway(node, late)); !strings.Contains(got, "did not answer in time") {
		t.Errorf("a node that does not answer: %q", got)
	}
}
