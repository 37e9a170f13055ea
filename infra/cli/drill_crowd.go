package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"seckill/api"
	"seckill/domain"
)

// rehearsalTier is of the buyers of rehearsals. A sale for it alone is a rehearsal
// sale: no real buyer may buy there.
const rehearsalTier = domain.RehearsalTier

// strangerTier is of buyers of a rehearsal who may not buy.
const strangerTier = "rehearsal-stranger"

// Kinds of questions that are asked all the time, each by a buyer who has not bought
// before; and what a node says of itself.
const (
	askOrdinary = "a purchase"
	askOver     = "over the limit"
	askStranger = "not eligible"
	askReady    = "/readyz"
)

// goods is what is bought in a rehearsal.
type goods struct {
	sale, sku string
	limit     int64
}

// crowd asks the nodes all the time and knows what it heard last.
type crowd struct {
	goods
	client http.Client
	secret []byte
	tag    string // of this drill's buyers
	every  time.Duration

	watchers []*watcher
	focus    atomic.Pointer[domain.SwitchName] // what /readyz is looked at for
	next     atomic.Int64
	asked    atomic.Int64
	unclear  atomic.Int64
	stop     context.CancelFunc
	all      sync.WaitGroup
}

// watcher asks one node one kind of question, one after the other.
type watcher struct {
	node, kind string
	every      time.Duration
	ask        func(ctx context.Context) (heard, error)

	mu     sync.Mutex
	streak streak
	owner  heard // the last who got an order here
	fault  string
}

// streak is an unbroken run of the same answer: since when the requests of it were
// sent, and how many there were since the crowd was told to begin anew.
type streak struct {
	word  string
	since time.Time
	n     int
}

// heard is an answer: its word is the status and the code. Buyer, tier and quantity
// are those of the question.
type heard struct {
	word, order string
	buyer, tier string
	quantity    int64
}

// askWithin bounds one request, maxAnswer what is read of its answer.
const (
	askWithin = 3 * time.Second
	maxAnswer = 64 << 10
	readyRate = 10 // looks at /readyz a second
)

func newCrowd(o drillOptions, what goods, tag string) *crowd {
	c := &crowd{goods: what, secret: o.Secret, tag: tag, every: time.Second / time.Duration(o.Rate), stop: func() {}}
	c.client = http.Client{Timeout: askWithin, Transport: &http.Transport{MaxIdleConnsPerHost: 8}}
	c.focus.Store(new(domain.SwitchName))
	for _, node := range o.Nodes {
		c.watch(node, askOrdinary, rehearsalTier, 1)
		c.watch(node, askOver, rehearsalTier, what.limit+1)
		c.watch(node, askStranger, strangerTier, 1)
		if o.Global {
			c.watchers = append(c.watchers, &watcher{node: node, kind: askReady, every: time.Second / readyRate,
				ask: func(ctx context.Context) (heard, error) { return c.ready(ctx, node) }})
		}
	}
	return c
}

func (c *crowd) watch(node, kind, tier string, quantity int64) {
	c.watchers = append(c.watchers, &watcher{node: node, kind: kind, every: c.every,
		ask: func(ctx context.Context) (heard, error) {
			return c.buy(ctx, node, heard{buyer: c.fresh(), tier: tier, quantity: quantity})
		}})
}

// fresh names a buyer who has not bought before.
func (c *crowd) fresh() string { return fmt.Sprintf("rehearsal-%s-%d", c.tag, c.next.Add(1)) }

// start lets the crowd ask until ctx ends or it is closed.
func (c *crowd) start(ctx context.Context) {
	ctx, c.stop = context.WithCancel(ctx)
	for _, w := range c.watchers {
		c.all.Go(func() {
			tick := time.NewTicker(w.every)
			defer tick.Stop()
			for ctx.Err() == nil {
				c.once(ctx, w)
				select {
				case <-ctx.Done():
				case <-tick.C:
				}
			}
		})
	}
}

// close ends the crowd and waits for it.
func (c *crowd) close() {
	c.stop()
	c.all.Wait()
	c.client.CloseIdleConnections()
}

// once asks one question and learns the answer.
func (c *crowd) once(ctx context.Context, w *watcher) {
	sent := time.Now()
	h, err := w.ask(ctx)
	if ctx.Err() != nil {
		return
	}
	unclear := err != nil || saysNothing(h.word)
	if w.kind != askReady {
		c.asked.Add(1)
		if unclear {
			c.unclear.Add(1)
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if unclear {
		w.fault = h.word
		if err != nil {
			w.fault = "no answer: " + oneLine(err)
		}
		return
	}
	if w.streak.word != h.word {
		w.streak = streak{word: h.word, since: sent}
	}
	w.streak.n++
	if h.word == wordAccepted {
		w.owner = h
	}
}

// begin counts answers anew, for a look at this switch.
func (c *crowd) begin(name domain.SwitchName) {
	c.focus.Store(&name)
	for _, w := range c.watchers {
		w.mu.Lock()
		w.streak.n, w.fault = 0, ""
		w.mu.Unlock()
	}
}

func (w *watcher) look() (streak, heard, string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.streak, w.owner, w.fault
}

// Words are the status of an answer, and the code of a refusal.
const (
	wordAccepted = "202"
	wordOwn      = "200"
	wordListed   = "listed"
	wordUnlisted = "not listed"
	// wordUntold: operators have a listener of their own, so buyers are not told.
	wordUntold = "not told"
)

func refusalWord(status int, code domain.Code) string { return fmt.Sprintf("%d %s", status, code) }

// saysNothing tells whether an answer says nothing of the sale: ask again.
func saysNothing(word string) bool {
	switch word {
	case refusalWord(http.StatusTooManyRequests, domain.CodeRateLimited), refusalWord(http.StatusServiceUnavailable, domain.CodeBusy),
		refusalWord(http.StatusServiceUnavailable, domain.CodeNotReady):
		return true
	}
	return false
}

// buy asks a node for units as a buyer.
func (c *crowd) buy(ctx context.Context, node string, who heard) (heard, error) {
	token, err := api.SignToken(c.secret, who.buyer, "", who.tier, tokenLife)
	if err != nil {
		return who, err
	}
	body, err := json.Marshal(map[string]any{"sku": c.sku, "quantity": who.quantity})
	if err != nil {
		return who, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, node+"/api/v1/sales/"+url.PathEscape(c.sale)+"/purchases", bytes.NewReader(body))
	if err != nil {
		return who, err
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/json")
	var answer struct {
		OrderID string      `json:"order_id"`
		Code    domain.Code `json:"code"`
	}
	status, err := c.do(r, &answer)
	who.order, who.word = answer.OrderID, fmt.Sprint(status)
	if answer.Code != "" {
		who.word = refusalWord(status, answer.Code)
	}
	return who, err
}

// ready asks a node whether it lists the switch that is looked at.
func (c *crowd) ready(ctx context.Context, node string) (heard, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, node+"/readyz", nil)
	if err != nil {
		return heard{}, err
	}
	var answer struct {
		Switches []domain.SwitchName `json:"switches"`
	}
	name := *c.focus.Load()
	switch status, err := c.do(r, &answer); {
	case err != nil:
		return heard{}, err
	case status != http.StatusOK:
		return heard{}, fmt.Errorf("/readyz answers %d", status)
	case answer.Switches == nil:
		return heard{word: wordUntold}, nil
	}
	for _, on := range answer.Switches {
		if on == name {
			return heard{word: wordListed}, nil
		}
	}
	return heard{word: wordUnlisted}, nil
}

// do sends a request and reads the JSON of its answer, where there is some.
func (c *crowd) do(r *http.Request, to any) (status int, err error) {
	answer, err := c.client.Do(r)
	if err != nil {
		return 0, err
	}
	defer func() { _ = answer.Body.Close() }() // it was read as far as it is wanted
	raw, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	if err != nil {
		return 0, err
	}
	_ = json.Unmarshal(raw, to) // what is no JSON of ours is told by its status
	return answer.StatusCode, nil
}
