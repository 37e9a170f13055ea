package api

import (
	"context"
	"net/http"
	"strconv"
	"testing"
	"time"

	"seckill/commands"
	"seckill/domain"
)

// slowFinder makes polls wait until they are let go, and tells of each that waits.
func (h *house) slowFinder() (waits chan string, letGo chan struct{}) {
	waits, letGo = make(chan string, 100), make(chan struct{})
	h.finder.find = func(context.Context, string, string) (commands.OrderAnswer, error) { return placedOrder(), nil }
	h.finder.wait = func(ctx context.Context, buyer, _ string, _ int64, _ time.Duration) (commands.OrderAnswer, error) {
		waits <- buyer
		select {
		case <-letGo:
		case <-ctx.Done():
		}
		return orderIn(domain.OrderStatusPaid), nil
	}
	return waits, letGo
}

// poll asks for an order with a wait and gives its status, or the HTTP status.
func (h *house) poll(buyer string) string {
	got := h.ask(http.MethodGet, "/api/v1/orders/"+testOrder+"?wait=30s&after=1", "", "Authorization", "Bearer "+tokenOf(h.t, buyer, ""))
	if got.Status != http.StatusOK {
		return strconv.Itoa(got.Status)
	}
	return got.json()["status"].(string)
}

// fillPolls lets n polls of a buyer wait and gives their answers to come.
func (h *house) fillPolls(buyer string, n int, waits chan string) chan string {
	h.t.Helper()
	answers := make(chan string, n)
	for range n {
		go func() { answers <- h.poll(buyer) }()
	}
	for range n {
		select {
		case <-waits:
		case <-time.After(10 * time.Second):
			h.t.Fatal("a poll that may wait does not after 10 s")
		}
	}
	return answers
}

func TestABuyerHasFourPollsThatWaitAndFurtherOnesAreAnsweredAtOnce(t *testing.T) {
	h := newHouse(t, nil)
	waits, letGo := h.slowFinder()
	answers := h.fillPolls("buyer-1", pollsPerBuyer, waits)
	for range 3 {
		if got := h.poll("buyer-1"); got != "placed" {
			t.Errorf("a fifth poll: got %s, want at once the order as it is known", got)
		}
	}
	others := h.fillPolls("buyer-2", 1, waits)
	close(letGo)
	for range pollsPerBuyer {
		if got := <-answers; got != "paid" {
			t.Errorf("a poll that waited: got %s, want the news", got)
		}
	}
	<-others
	if got := h.poll("buyer-1"); got != "paid" {
		t.Errorf("after the others returned: got %s, want a poll that waits", got)
	}
	if n, buyers := h.server.polls.waiting, len(h.server.polls.of); n != 0 || buyers != 0 {
		t.Errorf("got %d polls of %d buyers remembered when none waits", n, buyers)
	}
}

func TestANodeHasABoundOfPollsThatWaitWhoeverAsks(t *testing.T) {
	h := newHouse(t, func(_ *Deps, o *Options) { o.WaitingPolls = 3 })
	waits, letGo := h.slowFinder()
	var answers []chan string
	for i := range 3 {
		answers = append(answers, h.fillPolls("buyer-"+strconv.Itoa(i), 1, waits))
	}
	if got := h.poll("buyer-9"); got != "placed" {
		t.Errorf("got %s for a poll over the node's bound, want at once the order as it is known", got)
	}
	close(letGo)
	for _, answer := range answers {
		if got := <-answer; got != "paid" {
			t.Errorf("a poll that waited: got %s, want the news", got)
		}
	}
}

func TestAPollWhoseCallerHangsUpGivesItsPlaceBack(t *testing.T) {
	h := newHouse(t, func(_ *Deps, o *Options) { o.WaitingPolls = 1 })
	waits, _ := h.slowFinder()
	ctx, hangUp := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, h.url+"/api/v1/orders/"+testOrder+"?wait=30s&after=1", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+tokenOf(t, "buyer-1", ""))
	go func() {
		<-waits
		hangUp()
	}()
	if res, err := http.DefaultClient.Do(req); err == nil {
		res.Body.Close()
		t.Fatal("the poll was answered, want it cut off")
	}
	left := func() bool { return h.server.polls.enter("buyer-2") }
	for end := time.Now().Add(10 * time.Second); !left(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the place is still taken 10 s after the caller hung up")
		}
	}
}
