package client

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"
)

// order is an answer about order o1.
func order(status string, version string) func(http.ResponseWriter) {
	return told(200, `{"order_id":"o1","status":"`+status+`","version":`+version+`,"amount":null,"placed_at":null,"lines":[]}`)
}

func TestAnOrderIsAwaitedByLongPollsWithPausesWhereTheyComeBackAtOnce(t *testing.T) {
	t.Parallel()
	c, s, waits := asked(t, Options{PollWait: 7 * time.Second},
		order("queued", "0"), refused(503, CodeBusy, `"retry_after_ms":1`), cut, order("queued", "0"), order("placed", "1"))
	got, err := c.AwaitOrder(t.Context(), "o1")
	if err != nil || got.Status != StatusPlaced || len(s.seen) != 5 {
		t.Fatalf("got %+v, %v after %d requests", got, err, len(s.seen))
	}
	for _, r := range s.seen {
		if wait := r.URL.Query().Get("wait"); wait != "7s" || r.URL.Query().Has("after") {
			t.Errorf("polled with %s, want wait=7s", r.URL.RawQuery)
		}
	}
	if first, last := (*waits)[0], (*waits)[3]; len(*waits) != 4 || first < pollPause/2 || last < pollPause/2 {
		t.Errorf("waits %v: want a pause after each poll that came back at once without news", *waits)
	}
}

func TestAChangeIsAwaitedAfterTheVersionThatWasSeen(t *testing.T) {
	t.Parallel()
	c, s, _ := asked(t, Options{}, order("placed", "1"), order("paid", "2"))
	got, err := c.AwaitChange(t.Context(), Order{ID: "o1", Status: StatusPlaced, Version: 1})
	if err != nil || got.Status != StatusPaid || s.seen[0].URL.Query().Get("after") != "1" {
		t.Errorf("got %+v, %v with %s", got, err, s.seen[0].URL.RawQuery)
	}
}

func TestPollingEndsWithTheContextAndTellsWhatIsKnown(t *testing.T) {
	t.Parallel()
	c, _, _ := asked(t, Options{}, order("queued", "0"))
	ctx, cancel := context.WithCancel(t.Context())
	c.sleep = func(context.Context, time.Duration) error { cancel(); return ctx.Err() }
	if got, err := c.AwaitOrder(ctx, "o1"); !errors.Is(err, context.Canceled) || got.Status != StatusQueued {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestASaleThatDidNotChangeIsNotSentAgain(t *testing.T) {
	t.Parallel()
	c, s, _ := asked(t, Options{}, told(200, `{"id":"s1","state":"scheduled","title":"Shoes"}`, "ETag", `W/"1"`), told(304, ""),
		told(200, `{"id":"s1","state":"open"}`, "ETag", `W/"2"`))
	first, err := c.Sale(t.Context(), "s1")
	if err != nil || first.Title != "Shoes" || s.seen[0].Header.Get("Authorization") != "" {
		t.Fatalf("got %+v, %v", first, err)
	}
	same, changed, err := c.Refresh(t.Context(), first)
	if err != nil || changed || same.Title != "Shoes" || s.seen[1].Header.Get("If-None-Match") != `W/"1"` {
		t.Errorf("got %+v, %v, %v", same, changed, err)
	}
	if next, changed, err := c.Refresh(t.Context(), same); err != nil || !changed || next.State != StateOpen || next.ETag != `W/"2"` {
		t.Errorf("got %+v, %v, %v", next, changed, err)
	}
}

// This machine's clock is an hour behind that of the server.
func TestTheOpeningIsAwaitedByTheServersClock(t *testing.T) {
	t.Parallel()
	ours := time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)
	sale := func(state string) func(http.ResponseWriter) {
		return told(200, `{"id":"s1","state":"`+state+`","server_time":"2026-01-02T04:00:00Z","opens_at":"2026-01-02T04:00:30Z"}`, "ETag", state)
	}
	c, _, waits := asked(t, Options{}, sale("scheduled"), told(304, ""), sale("open"))
	c.now = func() time.Time { return ours }
	c.sleep = func(_ context.Context, d time.Duration) error {
		ours, *waits = ours.Add(d), append(*waits, d)
		return nil
	}
	got, err := c.AwaitOpen(t.Context(), "s1")
	if err != nil || got.State != StateOpen || len(*waits) != 2 {
		t.Fatalf("got %+v, %v after waits %v", got, err, *waits)
	}
	opens := time.Date(2026, 1, 2, 3, 0, 30, 0, time.UTC)
	if late := ours.Sub(opens); late < 0 || late > openingJitter || (*waits)[0] > 25*time.Second {
		t.Errorf("looked %s after the opening, with waits %v; want a look before it and one at it", late, *waits)
	}
}

func TestATicketIsGotByWorkWhereItIsAskedFor(t *testing.T) {
	t.Parallel()
	if _, err := (puzzle{Algorithm: "SHA-256", Salt: "x", MaxNumber: 100, Challenge: strings.Repeat("0", 64)}).solve(t.Context()); err == nil {
		t.Error("a challenge without a solution was solved")
	}
	const salt = "pepper?expires=1&for=me&"
	sum := sha256.Sum256([]byte(salt + "4321"))
	good := puzzle{Algorithm: "SHA-256", Salt: salt, MaxNumber: 5000, Signature: "sig", Challenge: hex.EncodeToString(sum[:])}
	challenge, err := json.Marshal(good)
	if err != nil {
		t.Fatal(err)
	}
	wrong := refused(422, CodeInvalidRequest, `"errors":[{"field":"solution","reason":"came too late"}]`)
	c, s, _ := asked(t, Options{}, told(200, string(challenge)), wrong, told(200, string(challenge)), told(201, `{"ticket":"tk","expires_at":"2026-01-02T03:04:05Z"}`))
	ticket, err := c.Ticket(t.Context(), "s")
	if err != nil || ticket.Text != "tk" || len(s.seen) != 4 {
		t.Fatalf("got %+v, %v after %d requests", ticket, err, len(s.seen))
	}
	var sent struct {
		Solution string `json:"solution"`
	}
	var told struct{ Number int64 }
	if err := json.Unmarshal([]byte(s.bodies[3]), &sent); err != nil {
		t.Fatal(err)
	}
	raw, err := base64.StdEncoding.DecodeString(sent.Solution)
	if err != nil || json.Unmarshal(raw, &told) != nil || told.Number != 4321 {
		t.Errorf("sent %s (%v), want the number 4321", raw, err)
	}
}
