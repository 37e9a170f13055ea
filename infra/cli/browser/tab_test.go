package browser

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"seckill/api"
	"seckill/infra/cli/e2e"
	"seckill/infra/testenv"
)

// shop is a server, the proxy before it, and a browser.
type shop struct {
	*e2e.Client
	proxy   *proxy
	browser context.Context
	env     []string // the server's settings
}

// patience is how long a test waits for something that must come.
const patience = 40 * time.Second

func newShop(t *testing.T, settings ...string) *shop {
	t.Helper()
	return newShopOn(t, e2e.NewRig, settings...)
}

// newShopOn is newShop on an installation of the test's own.
func newShopOn(t *testing.T, rig func(testing.TB) *e2e.Rig, settings ...string) *shop {
	t.Helper()
	if testing.Short() {
		t.Skip("skipped in short mode: it runs the built program and a browser")
	}
	path := testenv.Program(t, "chromium", "chromium", "chromium-browser", "google-chrome")
	env := append(rig(t).Settings(t), settings...)
	child := e2e.Serve(t, e2e.ChildOptions{Env: env})
	opts := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox)
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), opts...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("start Chromium: %v", err)
	}
	return &shop{Client: e2e.NewClient(child.URL), proxy: newProxy(t, child.URL), browser: ctx, env: env}
}

// item is an item of a test sale.
func item(sku string, stock int) map[string]any {
	return map[string]any{"sku": sku, "title": "Item " + sku, "price": "19.90", "currency": "CNY", "stock": stock}
}

// sale makes a sale that opens at a time, and awaits that it sells if that has
// come.
func (s *shop) sale(t *testing.T, opens time.Time, terms map[string]any, items ...any) string {
	t.Helper()
	body := map[string]any{
		"title": "Red shoes", "items": items,
		"opens_at": opens.Format(time.RFC3339Nano), "closes_at": opens.Add(time.Hour).Format(time.RFC3339Nano),
	}
	for name, value := range terms {
		body[name] = value
	}
	made := s.must(t, http.StatusCreated, http.MethodPost, "/api/v1/admin/sales", "operator", "admin", body)
	id := made.Text("id")
	if opens.Before(time.Now()) {
		testenv.Eventually(t, patience, func() error {
			got, err := s.Call(http.MethodGet, "/api/v1/sales/"+id, "", "", nil)
			if err == nil && got.Text("state") != "open" {
				err = fmt.Errorf("the sale is %s", got.Text("state"))
			}
			return err
		})
	}
	return id
}

func (s *shop) must(t *testing.T, status int, method, path, buyer, role string, body any) e2e.Answer {
	t.Helper()
	got, err := s.Call(method, path, buyer, role, body)
	if err != nil || got.Status != status {
		t.Fatalf("%s %s: got %d %s, %v; want %d", method, path, got.Status, got.Raw, err, status)
	}
	return got
}

// orders counts a buyer's orders in a sale, once there is one: an order is told as soon
// as the log has it, lists are of the read model.
func (s *shop) orders(t *testing.T, sale, buyer string) int {
	t.Helper()
	var list []any
	testenv.Eventually(t, 60*time.Second, func() error {
		if list, _ = s.must(t, http.StatusOK, http.MethodGet, "/api/v1/orders?sale="+sale, buyer, "", nil).Body["orders"].([]any); len(list) == 0 {
			return errors.New("no order is listed")
		}
		return nil
	})
	return len(list)
}

// tab is a window of its own, with nothing kept from others.
type tab struct {
	t   *testing.T
	ctx context.Context
}

// tabOptions say who looks, from where. Skew is how far Date is off.
type tabOptions struct {
	buyer    string // none: not signed in
	language string // English
	skew     time.Duration
	script   string // runs before the page's own
}

// watchful collects what the page's policy stopped and what broke; counting, every
// text of the countdown.
const watchful = `window.seen = {policy: [], faults: [], counts: []};
document.addEventListener('securitypolicyviolation', (e) => seen.policy.push(e.violatedDirective + ' ' + e.blockedURI));
addEventListener('error', (e) => seen.faults.push(String(e.message)));
addEventListener('unhandledrejection', (e) => seen.faults.push(String(e.reason)));`

const counting = `addEventListener('DOMContentLoaded', () => new MutationObserver(() =>
  document.querySelector('main').dataset.phase === 'scheduled' && seen.counts.push(document.querySelector('#count').textContent))
  .observe(document.querySelector('#count'), {childList: true, characterData: true, subtree: true}));`

const skewed = `{const off = %d, Real = Date;
window.Date = class extends Real {
  constructor(...a) { if (a.length) super(...a); else super(Real.now() + off); }
  static now() { return Real.now() + off; }
};}`

// open opens the page of a sale.
func (s *shop) open(t *testing.T, sale string, o tabOptions) *tab {
	t.Helper()
	address := s.proxy.url + "/s/" + sale
	if o.buyer != "" {
		address += "#token=" + tokenOf(t, o.buyer, "")
	}
	o.script = counting + o.script
	return s.tab(t, address, o)
}

// tokenOf signs a token.
func tokenOf(t *testing.T, who, role string) string {
	t.Helper()
	token, err := api.SignToken([]byte(e2e.TestSecret), who, role, "", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// tab opens an address. When the test ends, nothing may have been stopped by the
// page's policy, and nothing broken.
func (s *shop) tab(t *testing.T, address string, o tabOptions) *tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(s.browser, chromedp.WithNewBrowserContext())
	t.Cleanup(cancel)
	ctx, stop := context.WithTimeout(ctx, 2*time.Minute)
	t.Cleanup(stop)
	w := &tab{t: t, ctx: ctx}
	if o.language == "" {
		o.language = "en-US"
	}
	before := func(script string) step {
		return chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
			_, err := cdp.Call(ctx, target, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: script})
			return err
		})
	}
	w.do(before(watchful), chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, emulation.SetUserAgentOverride, emulation.SetUserAgentOverrideParams{UserAgent: "Mozilla/5.0 Chrome", AcceptLanguage: o.language})
		return err
	}))
	if o.script != "" {
		w.do(before(o.script))
	}
	if o.skew != 0 {
		w.do(before(fmt.Sprintf(skewed, o.skew.Milliseconds())))
	}
	w.do(chromedp.Navigate(address))
	t.Cleanup(func() {
		if got := w.text(`JSON.stringify([seen.policy, seen.faults])`); got != "[[],[]]" {
			t.Errorf("stopped by the policy, or broken: %s", got)
		}
	})
	return w
}

// step is something a browser does.
type step = chromedp.Action[chromedp.Void]

func (w *tab) do(steps ...step) {
	w.t.Helper()
	if err := chromedp.Do(w.ctx, steps...); err != nil {
		w.t.Fatal(err)
	}
}

// picture writes a picture of the whole page into the folder PICTURES, where that is
// set.
func (w *tab) picture(name string) {
	w.t.Helper()
	dir := os.Getenv("PICTURES")
	if dir == "" {
		return
	}
	png, err := chromedp.Run(w.ctx, chromedp.FullScreenshot(100))
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, name+".png"), png, 0o644)
	}
	if err != nil {
		w.t.Error(err)
	}
}

// text evaluates an expression.
func (w *tab) text(expression string) string {
	w.t.Helper()
	got, err := chromedp.Run(w.ctx, chromedp.Evaluate[string]("String("+expression+")"))
	if err != nil {
		w.t.Fatalf("%s: %v", expression, err)
	}
	return got
}

// await waits until an expression is what it should be.
func (w *tab) await(expression, want string) {
	w.t.Helper()
	testenv.Eventually(w.t, patience, func() error {
		if got := w.text(expression); got != want {
			return fmt.Errorf("%s is %q, want %q; the page says %q", expression, got, want,
				strings.Join(strings.Fields(w.text("document.querySelector('main').innerText")), " "))
		}
		return nil
	})
}

// Expressions about the page.
const (
	outcome = `document.querySelector('#outcome').hidden ? '' : document.querySelector('#outcome').dataset.outcome`
	phase   = `document.querySelector('main').dataset.phase`
	focused = `document.activeElement.id || document.activeElement.dataset.action || document.activeElement.className`
)

func button(sku string) string { return `document.querySelector('[data-sku="` + sku + `"] .buy')` }

// free waits until an item can be bought.
func (w *tab) free(sku string) {
	w.t.Helper()
	w.await(button(sku)+".disabled", "false")
}

// press presses with the mouse.
func (w *tab) press(sku string) {
	w.t.Helper()
	w.free(sku)
	w.do(chromedp.Click(`[data-sku="` + sku + `"] .buy`))
}

// tabTo goes on with the Tab key until something is focused.
func (w *tab) tabTo(want string) {
	w.t.Helper()
	for range 20 {
		if w.text(focused) == want {
			return
		}
		w.do(chromedp.KeyEvent("\t"))
	}
	w.t.Fatalf("the Tab key never came to %s; it is at %s", want, w.text(focused))
}
