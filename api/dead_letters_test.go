package api

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"seckill/commands"
	"seckill/domain"
)

// fakeDead has set one order aside in order_view.
type fakeDead struct {
	mu      sync.Mutex
	dropped commands.Actor
	retried commands.Actor
	many    int // so many other sequences; 0: the one
}

func (f *fakeDead) Sequences(_ context.Context, projection, sequence string, most int) ([]DeadSequence, error) {
	if f.many > 0 {
		return make([]DeadSequence, min(f.many, most)), nil
	}
	if projection != "" && projection != "order_view" || sequence != "" && sequence != testOrder {
		return nil, nil
	}
	return []DeadSequence{{Projection: "order_view", Sequence: testOrder, State: "parked", First: 7, Last: 9, Events: 2, Since: time.Unix(1_800_000_000, 0)}}, nil
}

func (f *fakeDead) Letters(ctx context.Context, projection, sequence string) ([]DeadLetter, error) {
	found, err := f.Sequences(ctx, projection, sequence, 1)
	if len(found) == 0 {
		return nil, err
	}
	return []DeadLetter{{Projection: projection, Sequence: sequence, Position: 7, Type: "order.paid"}}, nil
}

func (f *fakeDead) Retry(ctx context.Context, projection, sequence string, actor commands.Actor) ([]DeadOutcome, error) {
	f.mu.Lock()
	f.retried = actor
	f.mu.Unlock()
	found, err := f.Sequences(ctx, projection, sequence, 1)
	if len(found) == 0 {
		return nil, err
	}
	return []DeadOutcome{{Projection: projection, Sequence: sequence, Applied: 1, Detail: "it does not fit"}}, nil
}

func (f *fakeDead) Drop(ctx context.Context, projection, sequence string, actor commands.Actor) ([]DeadSequence, error) {
	found, err := f.Sequences(ctx, projection, sequence, 1)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.dropped = actor
	return found, err
}

func TestOperatorsLookAtWhatIsSetAsideTryItAgainOrGiveItUp(t *testing.T) {
	h := newHouse(t, nil)
	of := "/api/v1/admin/dead-letters/order_view/" + testOrder
	for _, c := range []struct{ method, path, body, want string }{
		{http.MethodGet, "/api/v1/admin/dead-letters", "", `{"sequences":[{"projection":"order_view"`},
		{http.MethodGet, "/api/v1/admin/dead-letters?projection=stock_log", "", `{"sequences":[]}`},
		{http.MethodGet, of, "", `{"letters":[{"projection":"order_view"`},
		{http.MethodPost, of + "/retry", "", `"applied":1,"ok":false,"detail":"it does not fit"`},
		{http.MethodPost, of + "/drop", `{"reason":"of a test"}`, `{"sequences":[{"projection":"order_view"`},
	} {
		if got := h.admin(c.method, c.path, c.body); got.Status != http.StatusOK || !strings.Contains(got.Body, c.want) {
			t.Errorf("%s %s: got %d %s, want %s in it", c.method, c.path, got.Status, got.Body, c.want)
		}
	}
	if a := h.dead.retried; a.By != "boss" {
		t.Errorf("retried by %+v, want boss", a)
	}
	if a := h.dead.dropped; a.By != "boss" || a.Note != "of a test" {
		t.Errorf("it was dropped by %q because of %q", a.By, a.Note)
	}
	other := "/api/v1/admin/dead-letters/stock_log/" + testOrder
	h.admin(http.MethodGet, other, "").problem(404, domain.CodeNotFound)
	h.admin(http.MethodPost, other+"/retry", "").problem(404, domain.CodeNotFound)
	h.admin(http.MethodPost, other+"/drop", `{"reason":"x"}`).problem(404, domain.CodeNotFound)
	h.admin(http.MethodPost, of+"/drop", `{"reason":""}`).problem(422, domain.CodeInvalidRequest)
}

func TestTheListOfWhatIsSetAsideIsBounded(t *testing.T) {
	h := newHouse(t, nil)
	h.dead.many = 300
	for query, want := range map[string]struct {
		told int
		more bool
	}{"": {200, true}, "?limit=1": {1, true}, "?limit=299": {299, true}, "?limit=300": {300, false}, "?limit=500": {300, false}} {
		var got DeadSequences
		answer := h.admin(http.MethodGet, pathDead+query, "")
		if err := json.Unmarshal([]byte(answer.Body), &got); err != nil || len(got.Sequences) != want.told || got.More != want.more {
			t.Errorf("%q: got %d sequences, more %v (%d, %v); want %d, %v", query, len(got.Sequences), got.More, answer.Status, err, want.told, want.more)
		}
	}
	h.admin(http.MethodGet, pathDead+"?limit=501", "").problem(422, domain.CodeInvalidRequest)
}
