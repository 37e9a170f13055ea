package browser

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"seckill/infra/cli/e2e"
	"seckill/infra/testenv"
)

const ago = -time.Minute

func TestTheBuyerPage(t *testing.T) {
	s := newShop(t)
	for name, sees := range map[string]func(*testing.T, *shop){
		"counts down by the server's time with a clock an hour behind":           func(t *testing.T, s *shop) { countsDown(t, s, -time.Hour) },
		"counts down by the server's time with a clock an hour ahead":            func(t *testing.T, s *shop) { countsDown(t, s, time.Hour) },
		"opens in time on a device that slept":                                   opensAfterSleep,
		"asks twice at most before the opening, also when nobody answers":        asksTwice,
		"keeps its version through everything but what it says":                  keepsItsVersion,
		"can be written to files for a CDN":                                      isWritten,
		"buys once for a double click":                                           buysOnce,
		"finds the order after a lost answer and a reload":                       findsTheOrder,
		"says sold out, item by item":                                            saysSoldOut,
		"says when more comes, and sells it then":                                saysMore,
		"says that the limit is reached":                                         saysLimit,
		"says that the sale has ended":                                           saysEnded,
		"stays locked on a slow network until there is an answer":                staysLocked,
		"can be used with the keyboard alone, to buy and to give up":             takesKeys,
		"speaks Chinese and English, by the browser and by choice":               speaks,
		"takes the token out of the address and sells to nobody without a token": signsIn,
	} {
		t.Run(name, func(t *testing.T) { sees(t, s) })
	}
}

func countsDown(t *testing.T, s *shop, skew time.Duration) {
	t.Parallel()
	opens := time.Now().Add(6 * time.Second)
	sale := s.sale(t, opens, nil, item("a", 5))
	w := s.open(t, sale, tabOptions{buyer: "early", skew: skew})
	w.await(phase, "scheduled")
	locked := w.text(button("a") + ".disabled")
	if time.Now().Before(opens) && locked != "true" {
		t.Error("the button is free before the sale opens")
	}
	w.await(phase, "open")
	if now := time.Now(); now.Before(opens.Add(-time.Second)) {
		t.Errorf("the page opened %s before the sale", opens.Sub(now))
	}
	w.press("a")
	w.await(outcome, "placed")
	if n := s.proxy.of(sale).before(opens); n < 1 || n > 2 {
		t.Errorf("got %d calls of the API before the opening, want 1 or 2", n)
	}
	counts := strings.Split(w.text("seen.counts.join()"), ",")
	falling := slices.IsSortedFunc(counts, func(a, b string) int { return strings.Compare(b, a) })
	if !falling || len(counts) > 8 || counts[0] > "00:00:07" {
		t.Errorf("the countdown went %v, want it to fall from 6 s", counts)
	}
}

// opensAfterSleep lets performance.now() stand still for a time, as it does while a
// device sleeps.
func opensAfterSleep(t *testing.T, s *shop) {
	t.Parallel()
	opens := time.Now().Add(8 * time.Second)
	sale := s.sale(t, opens, nil, item("a", 5))
	w := s.open(t, sale, tabOptions{buyer: "sleepy", script: `window.stood = 0;
		const real = performance.now.bind(performance);
		performance.now = () => real() + 1e6 - window.stood;`})
	w.await(phase, "scheduled")
	w.text("window.stood = 120000")
	w.await(phase, "open")
	if now := time.Now(); now.Before(opens.Add(-time.Second)) {
		t.Errorf("the page opened %s before the sale", opens.Sub(now))
	}
	if n := s.proxy.of(sale).before(opens); n > 2 {
		t.Errorf("got %d calls of the API before the opening, want 2 at most", n)
	}
}

func asksTwice(t *testing.T, s *shop) {
	t.Parallel()
	opens := time.Now().Add(9 * time.Second)
	sale := s.sale(t, opens, nil, item("a", 5))
	wire := s.proxy.of(sale)
	wire.cut(true)
	w := s.open(t, sale, tabOptions{buyer: "alone"})
	w.await(phase, "open")
	if n := wire.before(opens); n < 1 || n > 2 {
		t.Errorf("got %d calls of the API before the opening, want at most 2", n)
	}
	wire.cut(false)
	w.press("a")
	w.await(outcome, "placed")
}

func isWritten(t *testing.T, s *shop) {
	sale, dir := s.sale(t, time.Now().Add(time.Hour), nil, item("a", 5)), t.TempDir()
	done := e2e.Run(t, s.env, "export-page", "--sale", sale, "--out", dir)
	if done.Code != 0 {
		t.Fatalf("got status %d: %s", done.Code, done.Stderr)
	}
	written, err := os.ReadFile(filepath.Join(dir, "s", sale, "index.html"))
	if err != nil {
		t.Fatal(err)
	}
	if served := s.must(t, http.StatusOK, http.MethodGet, "/s/"+sale, "", "", nil); served.Raw != string(written) {
		t.Errorf("the page in the bundle is not the one that is served:\n%s", written)
	}
	if none := e2e.Run(t, s.env, "export-page", "--sale", "zzzzzzzz", "--out", dir); none.Code != 1 {
		t.Errorf("a sale that is not there: got status %d, want 1", none.Code)
	}
}

func buysOnce(t *testing.T, s *shop) {
	sale := s.sale(t, time.Now().Add(ago), nil, item("a", 5))
	w := s.open(t, sale, tabOptions{buyer: "twice"})
	w.free("a")
	w.text(button("a") + ".click(), " + button("a") + ".click()")
	w.do(chromedp.DoubleClick(`[data-sku="a"] .buy`))
	w.await(outcome, "placed")
	if keys := s.proxy.of(sale).keys(); len(keys) != 1 || keys[0] == "" {
		t.Errorf("got purchases under %q, want one", keys)
	}
	if n := s.orders(t, sale, "twice"); n != 1 {
		t.Errorf("got %d orders, want 1", n)
	}
}

func findsTheOrder(t *testing.T, s *shop) {
	sale := s.sale(t, time.Now().Add(ago), nil, item("a", 5))
	wire := s.proxy.of(sale)
	wire.do(true, 0)
	w := s.open(t, sale, tabOptions{buyer: "unlucky"})
	w.press("a")
	w.await(outcome, "lost")
	w.do(chromedp.Reload())
	wire.do(false, 0)
	w.await(outcome, "placed")
	keys := wire.keys()
	if slices.Sort(keys); len(keys) < 2 || keys[0] == "" || len(slices.Compact(keys)) != 1 {
		t.Errorf("got purchases under %q, want several under one key", wire.keys())
	}
	if n := s.orders(t, sale, "unlucky"); n != 1 {
		t.Errorf("got %d orders, want 1", n)
	}
	w.do(chromedp.Reload())
	w.await(outcome, "placed")
}

func saysSoldOut(t *testing.T, s *shop) {
	sale := s.sale(t, time.Now().Add(ago), nil, item("a", 1), item("b", 5))
	w := s.open(t, sale, tabOptions{buyer: "slow"})
	w.free("a")
	got, err := s.Call(http.MethodPost, "/api/v1/sales/"+sale+"/purchases", "quick", "", `{"sku":"a","quantity":1}`)
	if err != nil || got.Status > 299 {
		t.Fatalf("buy the last one: %d %s %v", got.Status, got.Raw, err)
	}
	if w.text(button("a")+".disabled") == "false" {
		w.text(button("a") + ".click()")
		w.await(outcome, "sold_out")
	}
	other := s.open(t, sale, tabOptions{buyer: "later"})
	other.free("b")
	other.await(button("a")+".textContent", "Sold out")
	other.press("b")
	other.await(outcome, "placed")
}

func saysMore(t *testing.T, s *shop) {
	a := item("a", 2)
	a["release"] = []any{map[string]any{"at": time.Now().Add(8 * time.Second).Format(time.RFC3339Nano), "quantity": 1}}
	sale := s.sale(t, time.Now().Add(ago), nil, a)
	s.must(t, http.StatusAccepted, http.MethodPost, "/api/v1/sales/"+sale+"/purchases", "quick", "", `{"sku":"a","quantity":1}`)
	w := s.open(t, sale, tabOptions{buyer: "patient"})
	w.await(`String(`+button("a")+`.textContent.startsWith("Sold out; more at "))`, "true")
	w.free("a")
	w.press("a")
	w.await(outcome, "placed")
}

func saysLimit(t *testing.T, s *shop) {
	sale := s.sale(t, time.Now().Add(ago), map[string]any{"orders_per_buyer": 2, "limit_per_buyer": 1}, item("a", 5))
	testenv.Eventually(t, patience, func() error {
		got, err := s.Call(http.MethodPost, "/api/v1/sales/"+sale+"/purchases", "greedy", "", `{"sku":"a","quantity":1}`, "Idempotency-Key", "elsewhere")
		if err == nil && got.Status > 299 {
			err = fmt.Errorf("got %d %s", got.Status, got.Raw)
		}
		return err
	})
	w := s.open(t, sale, tabOptions{buyer: "greedy"})
	w.press("a")
	w.await(outcome, "limit_exceeded")
}

func saysEnded(t *testing.T, s *shop) {
	sale := s.sale(t, time.Now().Add(ago), nil, item("a", 5))
	w := s.open(t, sale, tabOptions{buyer: "late"})
	w.free("a")
	s.must(t, http.StatusOK, http.MethodPost, "/api/v1/admin/sales/"+sale+"/close", "operator", "admin", nil)
	w.text(button("a") + ".click()")
	w.await(outcome, "sale_ended")
	w.do(chromedp.Reload())
	w.await(phase, "ended")
	w.await(button("a")+".disabled", "true")
}

func staysLocked(t *testing.T, s *shop) {
	sale := s.sale(t, time.Now().Add(ago), nil, item("a", 5))
	s.proxy.of(sale).do(false, 2*time.Second)
	w := s.open(t, sale, tabOptions{buyer: "far-away"})
	w.press("a")
	if got, locked := w.text(outcome), w.text(button("a")+".disabled"); got != "sending" || locked != "true" {
		t.Errorf("got outcome %q and locked %s while there is no answer, want sending and true", got, locked)
	}
	w.await(outcome, "placed")
	if n := len(s.proxy.of(sale).keys()); n != 1 {
		t.Errorf("got %d purchases, want 1", n)
	}
}

func takesKeys(t *testing.T, s *shop) {
	sale := s.sale(t, time.Now().Add(ago), nil, item("a", 5))
	w := s.open(t, sale, tabOptions{buyer: "keys"})
	w.free("a")
	w.tabTo("buy")
	w.do(chromedp.KeyEvent(kb.Enter))
	w.await(outcome, "placed")
	w.await(focused, "outcome")
	w.tabTo("cancel")
	w.do(chromedp.KeyEvent(kb.Enter))
	w.tabTo("cancel.sure")
	w.do(chromedp.KeyEvent(kb.Enter))
	w.await(outcome, "cancelled")
	w.await(`document.querySelector('#announce').textContent.startsWith('Order cancelled')`, "true")
}

func speaks(t *testing.T, s *shop) {
	sale := s.sale(t, time.Now().Add(ago), nil, item("a", 5))
	w := s.open(t, sale, tabOptions{buyer: "reader", language: "zh-CN"})
	w.free("a")
	w.await(button("a")+".textContent", "立即抢购")
	w.await("document.documentElement.lang", "zh-CN")
	w.do(chromedp.Click("#language"))
	w.await(button("a")+".textContent", "Buy now")
	w.do(chromedp.Reload())
	w.await(button("a")+".textContent", "Buy now")
	w.do(chromedp.Click("#language"))
	w.press("a")
	w.await(outcome, "placed")
	w.await("document.querySelector('#outcome-title').textContent", "抢购成功")
}

func signsIn(t *testing.T, s *shop) {
	sale := s.sale(t, time.Now().Add(ago), nil, item("a", 5))
	w := s.open(t, sale, tabOptions{buyer: "signed"})
	w.free("a")
	if got := w.text("location.href"); strings.Contains(got, "token") {
		t.Errorf("the address still says %s", got)
	}
	stranger := s.open(t, sale, tabOptions{})
	stranger.await(phase, "open")
	stranger.await(outcome, "unauthenticated")
	stranger.await(button("a")+".disabled", "true")
}
