package api

import (
	"context"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"seckill/commands"
)

// fakeRoom lets in as a test says.
type fakeRoom struct {
	ready, enter atomic.Bool
	inside       atomic.Int64
	entered      atomic.Int64
}

func (f *fakeRoom) Ready(string) bool { return f.ready.Load() }
func (f *fakeRoom) Enter(context.Context, string) bool {
	if !f.enter.Load() {
		return false
	}
	f.inside.Add(1)
	f.entered.Add(1)
	return true
}
func (f *fakeRoom) Leave() { f.inside.Add(-1) }

func newRoom(ready, enter bool) *fakeRoom {
	f := &fakeRoom{}
	f.ready.Store(ready)
	f.enter.Store(enter)
	return f
}

func roomy(f *fakeRoom) func(*Deps, *Options) { return func(d *Deps, _ *Options) { d.Admission = f } }

func TestAPurchaseWithoutRoomIsBusyBeforeItsBodyIsRead(t *testing.T) {
	room := newRoom(false, true)
	h := newHouse(t, roomy(room))
	got := h.buy(`{"this is":"no purchase"}`)
	if got.Status != http.StatusServiceUnavailable || got.json()["code"] != "busy" {
		t.Fatalf("got %d %s, want 503 busy: nobody reads a body for which there is no room", got.Status, got.Body)
	}
	if after, err := strconv.Atoi(got.Header.Get("Retry-After")); err != nil || after < 1 {
		t.Errorf("Retry-After is %q", got.Header.Get("Retry-After"))
	}
	if len(h.purchaser.requests()) != 0 || room.entered.Load() != 0 {
		t.Error("a purchase without room was worked on")
	}
}

func TestAPurchaseThatFindsTheRoomTakenAfterItsBodyIsBusy(t *testing.T) {
	h := newHouse(t, roomy(newRoom(true, false)))
	if got := h.buy(oneShoe); got.Status != http.StatusServiceUnavailable || len(h.purchaser.requests()) != 0 {
		t.Errorf("got %d %s", got.Status, got.Body)
	}
}

func TestWhoIsNotSignedInIsToldSoWhateverTheRoom(t *testing.T) {
	h := newHouse(t, roomy(newRoom(false, false)))
	r, err := http.Post(h.url+"/api/v1/sales/"+testSale+"/purchases", "application/json", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	if r.StatusCode != http.StatusUnauthorized {
		t.Errorf("got %d, want 401", r.StatusCode)
	}
}

func TestEveryPurchaseGivesItsPlaceBack(t *testing.T) {
	room := newRoom(true, true)
	h := newHouse(t, roomy(room))
	h.buy(oneShoe)
	h.buy(`{"sku":1}`)
	h.purchaser.answer = func(commands.PurchaseRequest) (commands.PurchaseResult, error) { panic("broken") }
	h.buy(oneShoe)
	if room.inside.Load() != 0 || room.entered.Load() != 2 {
		t.Errorf("%d of %d are still inside", room.inside.Load(), room.entered.Load())
	}
}

func TestAPurchaseThatOnlyWaitsToBeRecordedHoldsNoPlace(t *testing.T) {
	room := newRoom(true, true)
	h := newHouse(t, roomy(room))
	before, after := int64(-1), int64(-1)
	h.purchaser.answer = func(req commands.PurchaseRequest) (commands.PurchaseResult, error) {
		before = room.inside.Load()
		req.Judged()
		req.Judged()
		after = room.inside.Load()
		return commands.PurchaseResult{}, nil
	}
	h.buy(oneShoe)
	if before != 1 || after != 0 || room.inside.Load() != 0 {
		t.Errorf("%d inside before the gate had judged, %d afterwards, %d at the end; want 1, 0 and 0", before, after, room.inside.Load())
	}
}

func TestABodyOnASlowLineHoldsNoPlace(t *testing.T) {
	room := newRoom(true, true)
	h := newHouse(t, roomy(room))
	line, err := net.Dial("tcp", h.url[len("http://"):])
	if err != nil {
		t.Fatal(err)
	}
	defer line.Close()
	head := "POST /api/v1/sales/" + testSale + "/purchases HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + tokenOf(t, "slow", "") +
		"\r\nContent-Type: application/json\r\nContent-Length: " + strconv.Itoa(len(oneShoe)) + "\r\n\r\n"
	if _, err := io.WriteString(line, head+oneShoe[:3]); err != nil {
		t.Fatal(err)
	}
	if got := h.buy(oneShoe); got.Status != http.StatusAccepted || room.entered.Load() != 1 {
		t.Errorf("got %d, %d were let in, want only the one whose body is here", got.Status, room.entered.Load())
	}
}

func TestTheGateIsLookedAtWhileTheBodyIsOnItsWay(t *testing.T) {
	h := newHouse(t, nil)
	h.purchaser.ahead = make(chan commands.PurchaseRequest, 1)
	line := h.dial(t)
	head := "POST /api/v1/sales/" + testSale + "/purchases HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + tokenOf(t, "slow", "") +
		"\r\nIdempotency-Key: k1\r\nContent-Type: application/json\r\nContent-Length: " + strconv.Itoa(len(oneShoe)) + "\r\n\r\n"
	if _, err := io.WriteString(line, head); err != nil {
		t.Fatal(err)
	}
	select {
	case got := <-h.purchaser.ahead:
		if got.Buyer != "slow" || got.Tier != "gold" || got.Sale != testSale || got.IdempotencyKey != "k1" || got.Route == "" || len(got.Lines) > 0 {
			t.Errorf("looked ahead for %+v, want what the head says", got)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("nobody looked ahead")
	}
	if answer, err := line.say(oneShoe); err != nil || answer.StatusCode != http.StatusAccepted {
		t.Errorf("got %v, %v; want 202", answer, err)
	}
	if got := h.purchaser.requests(); len(got) != 1 || len(got[0].Lines) != 1 || got[0].BodyHash == "" {
		t.Errorf("bought %+v, want the lines and their hash", got)
	}
}

// deadlined keeps the deadline of what it is asked.
type deadlined struct {
	Purchaser
	Finder
	left chan time.Duration
}

func (d *deadlined) tell(ctx context.Context) {
	left := time.Duration(-1)
	if end, ok := ctx.Deadline(); ok {
		left = time.Until(end)
	}
	d.left <- left
}

func (d *deadlined) LookAhead(ctx context.Context, _ *commands.PurchaseRequest) { d.tell(ctx) }

func (d *deadlined) Purchase(ctx context.Context, _ commands.PurchaseRequest) (commands.PurchaseResult, error) {
	d.tell(ctx)
	return commands.PurchaseResult{}, ctx.Err()
}

func (d *deadlined) Find(ctx context.Context, _, _ string) (commands.OrderAnswer, error) {
	d.tell(ctx)
	return commands.OrderAnswer{}, context.DeadlineExceeded
}

func (d *deadlined) Wait(ctx context.Context, _, _ string, _ int64, _ time.Duration) (commands.OrderAnswer, error) {
	d.tell(ctx)
	return commands.OrderAnswer{}, context.DeadlineExceeded
}

func TestAPurchaseAndAReadHaveADeadlineAndALongPollHasItsOwn(t *testing.T) {
	d := &deadlined{left: make(chan time.Duration, 2)}
	h := newHouse(t, func(deps *Deps, o *Options) {
		deps.Purchaser, deps.Finder = d, d
		o.PurchaseBudget, o.ReadBudget = time.Minute, time.Hour
	})
	h.buy(oneShoe)
	for _, what := range []string{"a look ahead", "a purchase"} {
		if left := <-d.left; left <= 0 || left > time.Minute {
			t.Errorf("%s has %s left, want up to a minute", what, left)
		}
	}
	got := h.ask(http.MethodGet, "/api/v1/orders/"+testOrder, "")
	if left := <-d.left; left <= time.Minute || left > time.Hour {
		t.Errorf("a read has %s left, want up to an hour", left)
	}
	if got.Status != http.StatusServiceUnavailable {
		t.Errorf("a read that took too long is %d, want 503", got.Status)
	}
	h.ask(http.MethodGet, "/api/v1/orders/"+testOrder+"?wait=1s", "")
	if left := <-d.left; left != -1 {
		t.Errorf("a long poll has a deadline of %s, want none but its own", left)
	}
}
