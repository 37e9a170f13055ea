package cli

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"

	"seckill/api"
)

// tellsAll are purchases in an open loop, each by a buyer who has not bought before,
// of which every answer is kept.
type tellsAll struct {
	crowd *crowd
	node  string
	rate  int

	mu   sync.Mutex
	told []toldOnce // in the order of their answers
	stop context.CancelFunc
	all  sync.WaitGroup
}

// toldOnce is one purchase and what its buyer was told.
type toldOnce struct {
	heard
	sent, at time.Time
}

// mostUnanswered bounds purchases under way at once: beyond it the load says so by an
// answer of its own.
const (
	mostUnanswered = 2000
	wordNotSent    = "not sent: too many wait for an answer"
	wordNoAnswer   = "no answer"
)

// start sends purchases until it is ended.
func (l *tellsAll) start(ctx context.Context) {
	ctx, l.stop = context.WithCancel(ctx)
	free := make(chan struct{}, mostUnanswered)
	l.all.Go(func() {
		tick := time.NewTicker(time.Second / time.Duration(l.rate))
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			select {
			case free <- struct{}{}:
			default:
				now := time.Now()
				l.note(toldOnce{heard: heard{word: wordNotSent}, sent: now, at: now})
				continue
			}
			l.all.Go(func() {
				defer func() { <-free }()
				l.buy(context.WithoutCancel(ctx)) // what was sent is waited for
			})
		}
	})
}

// buy buys once.
func (l *tellsAll) buy(ctx context.Context) {
	sent := time.Now()
	h, err := l.crowd.buy(ctx, l.node, heard{buyer: l.crowd.fresh(), tier: rehearsalTier, quantity: 1})
	if err != nil {
		h.word = wordNoAnswer
	}
	l.note(toldOnce{h, sent, time.Now()})
}

func (l *tellsAll) note(t toldOnce) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.told = append(l.told, t)
}

// end stops it and waits for every answer.
func (l *tellsAll) end() {
	l.stop()
	l.all.Wait()
}

// since gives what was sent or answered from a time on.
func (l *tellsAll) since(from time.Time) []toldOnce {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []toldOnce
	for _, t := range l.told {
		if !t.at.Before(from) {
			all = append(all, t)
		}
	}
	return all
}

// steady is how many purchases in a row got an order, in time, when all is as before.
const steady = 10

// settled gives when the unbroken run of accepted purchases began that goes on now, and
// whether it is long enough. Only those sent from a time on count.
func (l *tellsAll) settled(from time.Time) (began time.Time, ok bool) {
	n := 0
	for _, t := range l.since(from) {
		switch {
		case t.sent.Before(from):
		case t.word != wordAccepted || t.at.Sub(t.sent) > time.Second:
			n = 0
		default:
			if n == 0 {
				began = t.sent
			}
			n++
		}
	}
	return began, n >= steady
}

// seen fills in what buyers saw from a break until all was as before, or now.
func (s *storesStep) seen(told []toldOnce, broke, over time.Time) {
	s.Answers = map[string]int64{}
	last, stall, slowest := broke, time.Duration(0), time.Duration(0)
	for _, t := range told {
		if t.sent.After(over) {
			continue
		}
		s.Answers[t.word]++
		slowest = max(slowest, t.at.Sub(t.sent))
		if t.word == wordAccepted || t.word == wordOwn {
			s.Acked++
			stall, last = max(stall, t.at.Sub(last)), t.at
		}
	}
	stall = max(stall, over.Sub(last))
	s.StallMS, s.SlowestMS = stall.Milliseconds(), slowest.Milliseconds()
}

// orderStatus asks for an order as its buyer.
func (c *crowd) orderStatus(ctx context.Context, node string, who heard) (string, error) {
	var answer struct {
		Status string `json:"status"`
		Reason string `json:"reason"`
		Code   string `json:"code"`
	}
	token, err := api.SignToken(c.secret, who.buyer, "", who.tier, tokenLife)
	if err != nil {
		return "", err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, node+"/api/v1/orders/"+url.PathEscape(who.order), nil)
	if err != nil {
		return "", err
	}
	r.Header.Set("Authorization", "Bearer "+token)
	if _, err := c.do(r, &answer); err != nil {
		return "", err
	}
	if answer.Status == "" {
		return answer.Code, nil
	}
	if answer.Reason != "" {
		return fmt.Sprintf("%s (%s)", answer.Status, answer.Reason), nil
	}
	return answer.Status, nil
}
