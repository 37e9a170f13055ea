package chaos

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"seckill/domain"
	"seckill/infra/cli/e2e"
)

// saleRun is one sale and the rate at which buyers come to it.
type saleRun struct {
	id       string
	strategy string
	stock    int
	every    time.Duration
	// steady is how many good answers in a row are the usual state.
	steady int
}

// scarce tells whether the sale is to sell out.
func (s *saleRun) scarce() bool { return s.strategy != "redis-async" }

// load lets buyers come to sales in an open loop, each buyer once, and keeps every answer.
// Who gets no answer asks the next node at once, with the same key, as our clients do.
type load struct {
	nodes []*e2e.Client
	sales []*saleRun
	next  atomic.Int64
	stop  context.CancelFunc
	all   sync.WaitGroup

	mu   sync.Mutex
	told []told
}

// told is one answer.
type told struct {
	sale         *saleRun
	buyer, order string
	word         string
	seen         bool // the answer says that the order was accepted, see sawOrder
	again        bool // the buyer had asked before
	sent, at     time.Time
}

// patience is how long a buyer waits for an answer.
const patience = 3 * time.Second

// Words for what is no answer of a node.
const wordNone = "no answer"

func newLoad(fronts []string, sales []*saleRun) *load {
	l := &load{sales: sales}
	transport := &http.Transport{MaxIdleConnsPerHost: 64}
	for _, url := range fronts {
		l.nodes = append(l.nodes, e2e.NewClientWith(url, http.Client{Timeout: patience, Transport: transport}))
	}
	return l
}

// start lets buyers come until the load is ended.
func (l *load) start() {
	ctx, cancel := context.WithCancel(context.Background())
	l.stop = cancel
	for _, sale := range l.sales {
		l.all.Go(func() {
			tick := time.NewTicker(sale.every)
			defer tick.Stop()
			for i := 0; ; i++ {
				select {
				case <-ctx.Done():
					return
				case <-tick.C:
					buyer := fmt.Sprintf("buyer-%s-%d", sale.strategy, i)
					l.all.Go(func() { l.come(sale, buyer) })
				}
			}
		})
	}
}

// end lets nobody come any more, and waits until all were answered.
func (l *load) end() {
	l.stop()
	l.all.Wait()
}

// come is one buyer who wants one unit.
func (l *load) come(sale *saleRun, buyer string) {
	first := int(l.next.Add(1))
	if l.ask(first, sale, buyer, false).word == wordNone {
		l.ask(first+1, sale, buyer, true)
	}
}

// ask asks one node.
func (l *load) ask(node int, sale *saleRun, buyer string, again bool) told {
	t := told{sale: sale, buyer: buyer, again: again, sent: time.Now()}
	answer, err := l.nodes[node%len(l.nodes)].Buy(sale.id, buyer, "key-of-"+buyer)
	t.at = time.Now()
	t.word, t.order = wordOf(answer, err), answer.Text("order_id")
	t.seen = sawOrder(t.word, answer)
	if t.word == wordNone {
		t.order = ""
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.told = append(l.told, t)
	return t
}

// wordOf is an answer in a word or two.
func wordOf(answer e2e.Answer, err error) string {
	switch code := answer.Text("code"); {
	case err != nil:
		return wordNone
	case code != "":
		return fmt.Sprintf("%d %s", answer.Status, code)
	default:
		return fmt.Sprint(answer.Status)
	}
}

// Answers of a purchase, by what a buyer has then.
func promised(word string) bool { return word == "202" || word == "201" || word == "200" }
func settled(word string) bool  { return promised(word) || word == "409 sold_out" }

// sawOrder tells whether whoever answered saw that the order was accepted: the gate has it
// or the log. Of another one nobody could see yet what became of it.
func sawOrder(word string, answer e2e.Answer) bool {
	switch status := domain.OrderStatus(answer.Text("status")); status {
	case domain.OrderStatusQueued:
		return promised(word) && answer.Text("waiting_for") == string(domain.WaitingForRecorder)
	case domain.OrderStatusRejected:
		return false
	default:
		return promised(word)
	}
}

// allowed tells whether a buyer may be told so while something is broken.
func allowed(word string) bool {
	switch word {
	case "503 busy", "503 not_ready", "503 paused", "429 rate_limited", "409 in_progress", wordNone:
		return true
	}
	return settled(word)
}

// all gives every answer so far.
func (l *load) answers() []told {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.told[:len(l.told):len(l.told)]
}

// quick is how soon an answer comes in the usual state, on a machine that carries
// everything.
const quick = time.Second

// normal gives when the run of good and quick answers began that goes on now, over all
// sales, and whether it is long enough in each. Only first answers to who came after from
// count.
func (l *load) normal(from time.Time) (began time.Time, ok bool) {
	began = from
	runs := map[*saleRun]int{}
	starts := map[*saleRun]time.Time{}
	for _, t := range l.answers() {
		switch {
		case t.again || t.sent.Before(from):
		case !settled(t.word) || t.at.Sub(t.sent) > quick:
			runs[t.sale] = 0
		default:
			if runs[t.sale]++; runs[t.sale] == 1 {
				starts[t.sale] = t.sent
			}
		}
	}
	for _, sale := range l.sales {
		if runs[sale] < sale.steady {
			return began, false
		}
		if starts[sale].After(began.Add(2 * sale.every)) {
			began = starts[sale]
		}
	}
	return began, true
}

// comeAgain lets everybody who was told to come again, or nothing, come again with the
// same key until he has an order or a refusal.
func (l *load) comeAgain(within time.Duration) (c cameAgain) {
	open := map[string]told{}
	for _, t := range l.answers() {
		key := t.sale.id + t.buyer
		if settled(t.word) {
			open[key] = told{}
		} else if was, seen := open[key]; !seen || was.buyer != "" {
			open[key] = t
		}
	}
	var who []told
	for _, t := range open {
		if t.buyer != "" {
			who = append(who, t)
		}
	}
	deadline := time.Now().Add(within)
	var mu sync.Mutex
	l.atOnce(len(who), func(i int) {
		was, t := who[i].word, told{}
		for time.Now().Before(deadline) {
			if t = l.ask(i, who[i].sale, who[i].buyer, true); settled(t.word) {
				break
			}
			was = t.word
			time.Sleep(50 * time.Millisecond) // a person's pause; nothing is waited for
		}
		mu.Lock()
		defer mu.Unlock()
		c.note(who[i].buyer, was, t.word)
	})
	return c
}

// cameAgain is what became of those who came again.
type cameAgain struct {
	buyers int
	// had an order already: of them, refused had just been told to come again.
	had, refused int
	left         []string // neither an order nor a refusal, to the end
}

// note takes one in, by what he was told last and before.
func (c *cameAgain) note(buyer, before, last string) {
	c.buyers++
	switch {
	case !settled(last):
		c.left = append(c.left, buyer)
	case last == "200":
		c.had++
		if before != wordNone {
			c.refused++
		}
	}
}

// sellOut lets new buyers come until a sale says that it is sold out.
func (l *load) sellOut(sale *saleRun, within time.Duration) error {
	deadline := time.Now().Add(within)
	for i := 0; ; i++ {
		t := l.ask(i, sale, fmt.Sprintf("late-%s-%d", sale.strategy, i), false)
		switch {
		case t.word == "409 sold_out":
			return nil
		case time.Now().After(deadline):
			return fmt.Errorf("the sale by %s is not sold out after %s: the last answer is %s", sale.strategy, within, t.word)
		case !promised(t.word):
			time.Sleep(20 * time.Millisecond) // a person's pause; nothing is waited for
		}
	}
}

// atOnce does n things, 16 at a time.
func (l *load) atOnce(n int, do func(i int)) {
	var next atomic.Int64
	var all sync.WaitGroup
	for range min(n, 16) {
		all.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				do(i)
			}
		})
	}
	all.Wait()
}
