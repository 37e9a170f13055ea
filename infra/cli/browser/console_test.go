package browser

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"seckill/infra/cli/e2e"
	"seckill/infra/testenv"
)

func TestTheConsole(t *testing.T) {
	s := newShop(t, "SECKILL_LIMIT_PURCHASES=1")
	for name, sees := range map[string]func(*testing.T, *shop){
		"shows what the command line turned, within a look":                showsFlips,
		"turns a switch with a reason and a confirmation, and no way else": turns,
		"turns a switch of one sale with the keyboard alone":               turnsWithKeys,
		"asks again for a token that is not accepted":                      asksForTheToken,
		"takes the token out of the address and forgets it when told to":   keepsNoToken,
		"leaves hostile titles and reasons text":                           staysText,
		"shows sales with their clock, and where their units stand":        showsSales,
		"shows who asks too often":                                         showsMarks,
		"speaks Chinese and English, and fits on a phone":                  speaksAndFits,
		"asks one thing at a time, and nothing while nobody looks":         asksOneAtATime,
	} {
		t.Run(name, func(t *testing.T) { sees(t, s) })
	}
}

// console opens the console with a token of an operator.
func (s *shop) console(t *testing.T, who string, o tabOptions) *tab {
	t.Helper()
	w := s.tab(t, s.proxy.url+"/ops#token="+tokenOf(t, who, "admin"), o)
	w.await(boardState, "live")
	w.await(fresh("switches"), "live")
	return w
}

// Expressions about the console.
const (
	boardState = `document.querySelector('#main').dataset.state`
	sumState   = `document.querySelector('#sum').dataset.state`
	flipOpen   = `document.querySelector('#flip').open`
	flipError  = `document.querySelector('#flip-error').textContent`
)

func fresh(part string) string { return `document.querySelector('#fresh-` + part + `').dataset.state` }

// lamp is whether a switch is shown as on: "yes", "no", or "none" where it has no row.
func lamp(name, sale string) string {
	return `(document.querySelector('tr[data-key="` + name + `/` + sale + `"]')?.dataset.on ?? 'none')`
}

// told is a cell of a switch.
func told(name, sale, cell string) string {
	return `(document.querySelector('tr[data-key="` + name + `/` + sale + `"] [data-cell="` + cell + `"]')?.textContent ?? '')`
}

// flip turns a switch by the command line.
func (s *shop) flip(t *testing.T, way, name string, more ...string) {
	t.Helper()
	if done := e2e.Run(t, s.env, append([]string{"switch", way, name}, more...)...); done.Code != 0 {
		t.Fatalf("switch %s %s: status %d: %s", way, name, done.Code, done.Stderr)
	}
}

// off turns a switch off by the API.
func (s *shop) off(t *testing.T, name, sale string) {
	t.Helper()
	body := map[string]any{"on": false, "reason": "over"}
	if sale != "" {
		body["sale"] = sale
	}
	s.must(t, http.StatusOK, http.MethodPut, "/api/v1/admin/switches/"+name, "operator", "admin", body)
}

// standing is a switch as the API has it.
func (s *shop) standing(t *testing.T, name, sale string) map[string]any {
	t.Helper()
	list, _ := s.must(t, http.StatusOK, http.MethodGet, "/api/v1/admin/switches", "operator", "admin", nil).Body["switches"].([]any)
	for _, entry := range list {
		is, _ := entry.(map[string]any)
		if of, _ := is["sale"].(string); is["name"] == name && of == sale {
			return is
		}
	}
	return map[string]any{"on": false}
}

func showsFlips(t *testing.T, s *shop) {
	t.Cleanup(func() { s.off(t, "pause_purchases", "") })
	w := s.console(t, "night-shift", tabOptions{script: `window.shown = [];
		setInterval(() => { const said = document.querySelector('#announce')?.textContent; if (said && shown.at(-1) !== said) shown.push(said); }, 20);`})
	w.await(lamp("pause_purchases", ""), "no")
	w.await(sumState, "none")
	s.flip(t, "on", "pause_purchases", "--reason", "the price is wrong")
	w.await(lamp("pause_purchases", ""), "yes")
	w.await(sumState, "on")
	w.await(told("pause_purchases", "", "reason"), "the price is wrong")
	w.await(`String(document.querySelector('#sum-text').textContent.includes('Pause purchases (everywhere)'))`, "true")
	w.await(`String(document.title.startsWith('⚠ 1 on'))`, "true")
	w.screen(1280, 900, false)
	if got := w.text("document.documentElement.scrollWidth <= innerWidth"); got != "true" {
		t.Error("the page is wider than the window")
	}
	w.picture("console-on")
	w.await(`String(shown.some((s) => s.includes('Turned on: Pause purchases, everywhere') && s.includes('the price is wrong')))`, "true")
	if by, want := w.text(told("pause_purchases", "", "by")), s.standing(t, "pause_purchases", "")["by"]; by == "" || by != want {
		t.Errorf("the console says that %q turned it, want %q", by, want)
	}
	s.flip(t, "off", "pause_purchases", "--reason", "corrected")
	w.await(lamp("pause_purchases", ""), "no")
	w.await(sumState, "none")
	w.await(`String(shown.some((s) => s.includes('Turned off: Pause purchases')))`, "true")
}

func turns(t *testing.T, s *shop) {
	t.Cleanup(func() { s.off(t, "skip_eligibility", "") })
	w := s.console(t, "duty-officer", tabOptions{})
	w.do(chromedp.Click(`tr[data-key="skip_eligibility/"] button`))
	w.await(flipOpen, "true")
	w.do(chromedp.Click("#flip-next"))
	w.await(flipError, "Say why: without a reason nothing is turned.")
	w.await(`document.querySelector('#flip-do').hidden`, "true")
	w.do(chromedp.Click("#flip-reason"), chromedp.KeyEvent("let the guests in"), chromedp.Click("#flip-next"))
	w.await(`document.querySelector('#flip-what').textContent`, "Turn ON: Skip who may buy (skip_eligibility), everywhere.")
	w.await(`document.querySelector('#flip-why').textContent`, "Reason: let the guests in")
	w.picture("console-confirm")
	w.await(`document.querySelector('#flip-who').textContent`, "Recorded as done by duty-officer.")
	if is := s.standing(t, "skip_eligibility", ""); is["on"] != false {
		t.Errorf("it was turned before anybody confirmed: %v", is)
	}
	w.await(`document.querySelector('#flip-do').disabled`, "false")
	w.do(chromedp.Click("#flip-do"))
	w.await(flipOpen, "false")
	w.await(lamp("skip_eligibility", ""), "yes")
	w.await(`document.querySelector('#done').textContent`, "Turned on: Skip who may buy, everywhere.")
	if is := s.standing(t, "skip_eligibility", ""); is["on"] != true || is["by"] != "duty-officer" || is["reason"] != "let the guests in" {
		t.Errorf("the API says %v, want it turned on by duty-officer with the reason", is)
	}
	done := e2e.Run(t, s.env, "replay", "--stream", "switches", "--json")
	if done.Code != 0 || !strings.Contains(done.Stdout, "duty-officer") {
		t.Errorf("the log does not say who turned it: status %d\n%s%s", done.Code, done.Stdout, done.Stderr)
	}
	w.do(chromedp.Click(`tr[data-key="skip_eligibility/"] button`))
	w.await(flipOpen, "true")
	w.await(`document.querySelector('#flip-off').checked`, "true")
	w.do(chromedp.Click("#flip-cancel"))
	w.await(flipOpen, "false")
}

func turnsWithKeys(t *testing.T, s *shop) {
	sale := s.sale(t, time.Now().Add(time.Hour), map[string]any{"title": "By keyboard"}, item("a", 5))
	w := s.console(t, "keys", tabOptions{})
	w.await(`String(document.querySelector('[data-key="`+sale+`"] h3')?.textContent)`, "By keyboard")
	w.tabTo("flip-any")
	w.do(chromedp.KeyEvent(kb.Enter))
	w.await(focused, "flip-reason")
	w.text(`document.querySelector('#flip-name').focus()`)
	w.do(chromedp.KeyEvent("Force"))
	w.await(`document.querySelector('#flip-name').value`, "force_ended")
	w.tabTo("flip-scope")
	w.do(chromedp.KeyEvent("sale By key"))
	w.await(`document.querySelector('#flip-scope').value`, sale)
	w.tabTo("flip-reason")
	w.do(chromedp.KeyEvent("wrong day"))
	w.tabTo("flip-next")
	w.do(chromedp.KeyEvent(kb.Enter))
	w.await(focused, "flip-sure")
	w.await(`document.querySelector('#flip-do').disabled`, "false")
	w.tabTo("flip-do")
	w.do(chromedp.KeyEvent(kb.Enter))
	w.await(flipOpen, "false")
	w.await(lamp("force_ended", sale), "yes")
	w.await(lamp("force_ended", ""), "no")
	if is := s.standing(t, "force_ended", sale); is["on"] != true || is["by"] != "keys" {
		t.Errorf("the API says %v, want it on for the sale, by keys", is)
	}
	s.off(t, "force_ended", sale)
	w.await(lamp("force_ended", sale), "none")
}

func asksForTheToken(t *testing.T, s *shop) {
	w := s.tab(t, s.proxy.url+"/ops", tabOptions{})
	w.await(boardState, "signed-out")
	denied := `document.querySelector('#denied').textContent`
	give := func(token string) {
		w.do(chromedp.Click("#token"), chromedp.KeyEvent(token+kb.Enter))
	}
	give("x.y.z")
	w.await(`String(`+denied+`.startsWith('The token was not accepted'))`, "true")
	give(tokenOf(t, "alice", ""))
	w.await(`String(`+denied+`.startsWith("This token is not an operator's"))`, "true")
	if got := w.cookies(); len(got) != 0 {
		t.Errorf("a buyer's token is kept in %v", got)
	}
	give("http://127.0.0.1:1/ops#in=used-before")
	w.await(`String(`+denied+`.startsWith('This link signs nobody in'))`, "true")
	give("http://127.0.0.1:1/ops#token=" + tokenOf(t, "boss", "admin"))
	w.await(boardState, "live")
	w.await(fresh("switches"), "live")
	w.await(denied, "")
	w.forgetCookies() // as one that ran out
	w.await(boardState, "signed-out")
	w.await(focused, "token")
	w.await(fresh("switches"), "out")
	w.await(lamp("pause_purchases", ""), "no") // what was seen stays
	w.await(`String(document.querySelector('#fresh-switches').textContent.startsWith('Signed out. Last seen'))`, "true")
}

func keepsNoToken(t *testing.T, s *shop) {
	w := s.console(t, "boss", tabOptions{})
	if got := w.text("location.href + JSON.stringify(localStorage) + JSON.stringify(sessionStorage) + document.cookie"); strings.Contains(got, "token") || strings.Contains(got, "eyJ") {
		t.Errorf("a script can read the token in %s", got)
	}
	kept := w.cookies()
	if len(kept) != 1 || !kept[0].HTTPOnly || kept[0].SameSite != network.CookieSameSiteStrict || kept[0].Path != "/api/v1/admin" || kept[0].Session {
		t.Errorf("got cookies %+v, want one for the routes of operators that no script reads", kept)
	}
	w.await("document.querySelector('#who').textContent", "Signed in as boss")
	w.do(chromedp.Reload())
	w.await(boardState, "live")
	w.await("document.querySelector('#who').textContent", "Signed in as boss")
	w.text(`location.hash = '#in=used-before'`) // who is in stays in
	w.await(`String(performance.getEntriesByType('resource').some((r) => r.name.endsWith('/ops/session')))`, "true")
	w.await(boardState, "live")
	w.await("document.querySelector('#who').textContent", "Signed in as boss")
	w.do(chromedp.Click("#leave"))
	w.await(boardState, "signed-out")
	w.await(`document.querySelector('#board').hidden`, "true")
	w.await(`document.querySelector('#announce').textContent`, "Signed out.")
	w.await(`document.querySelectorAll('#board tbody tr, article').length`, "0")
	if got := w.cookies(); len(got) != 0 {
		t.Errorf("signed out, and %v is left", got)
	}
	w.do(chromedp.Reload())
	w.await(boardState, "signed-out")
	w.await(`document.querySelector('#sign-in').hidden`, "false")
}

// cookies are those that the window has.
func (w *tab) cookies() []*network.Cookie {
	w.t.Helper()
	at := w.text("location.origin") + "/api/v1/admin/session"
	var kept []*network.Cookie
	w.do(chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		got, err := cdp.Call(ctx, target, network.GetCookies, network.GetCookiesParams{URLs: []string{at}})
		if err == nil {
			kept = got.Cookies
		}
		return err
	}))
	return kept
}

func (w *tab) forgetCookies() {
	w.t.Helper()
	w.do(chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, network.ClearBrowserCookies, cdp.Empty{})
		return err
	}))
}

func staysText(t *testing.T, s *shop) {
	const hostile = `<img src=x onerror="window.broken=1"><script>window.broken=1</script>"'&amp;`
	bad := item("a", 5)
	bad["title"] = hostile
	sale := s.sale(t, time.Now().Add(ago), map[string]any{"title": hostile}, bad)
	s.flip(t, "on", "pause_purchases", "--sale", sale, "--reason", hostile)
	t.Cleanup(func() { s.off(t, "pause_purchases", sale) })
	w := s.console(t, `<b>boss</b>`, tabOptions{})
	w.await(told("pause_purchases", sale, "reason"), hostile)
	w.await(`document.querySelector('[data-key="`+sale+`"] h3')?.textContent`, hostile)
	w.await(`document.querySelector('[data-key="`+sale+`"] tbody .name')?.textContent`, hostile)
	w.do(chromedp.Click(`tr[data-key="pause_purchases/` + sale + `"] button`))
	w.do(chromedp.Click("#flip-reason"), chromedp.KeyEvent(hostile), chromedp.Click("#flip-next"))
	w.await(`document.querySelector('#flip-why').textContent`, "Reason: "+hostile)
	if got := w.text(`String(window.broken) + document.querySelectorAll('img, body script, b').length`); got != "undefined0" {
		t.Errorf("a text became markup: %s", got)
	}
}

func showsSales(t *testing.T, s *shop) {
	sale := s.sale(t, time.Now().Add(ago), map[string]any{"title": "Blue hats"}, item("a", 5))
	later := s.sale(t, time.Now().Add(2*time.Hour), map[string]any{"title": "Later"}, item("b", 7))
	w := s.console(t, "boss", tabOptions{skew: -3 * time.Hour}) // the device's clock is of no interest
	in := func(sale, what string) string {
		return `document.querySelector('article[data-key="` + sale + `"] ` + what + `')?.textContent`
	}
	w.await(in(sale, "h3"), "Blue hats")
	w.await(in(sale, ".badge"), "Open")
	w.await(`String(`+in(later, ".clock")+`.startsWith('Opens in 01:5'))`, "true")
	w.await(`String(`+in(sale, ".clock")+`.startsWith('Closes in 00:5'))`, "true")
	w.await(in(sale, `td[data-cell="available"]`), "5")
	for _, buyer := range []string{"one", "two"} {
		s.must(t, http.StatusAccepted, http.MethodPost, "/api/v1/sales/"+sale+"/purchases", buyer, "", `{"sku":"a","quantity":1}`)
	}
	for cell, want := range map[string]string{"available": "3", "taken": "2", "released": "5", "stock": "5"} {
		w.await(in(sale, `td[data-cell="`+cell+`"]`), want)
	}
	s.must(t, http.StatusOK, http.MethodPost, "/api/v1/admin/sales/"+sale+"/pause", "operator", "admin", nil)
	w.await(in(sale, ".badge"), "Paused")
	w.await(in(sale, ".pauses"), "Nothing is sold because of: an operator")
	s.must(t, http.StatusOK, http.MethodPost, "/api/v1/admin/sales/"+later+"/pause", "operator", "admin", nil)
	w.await(in(later, ".badge"), "Paused")
	w.await(`String(`+in(later, ".clock")+`.startsWith('Opens in 01:5'))`, "true")
	s.must(t, http.StatusOK, http.MethodPost, "/api/v1/admin/sales/"+sale+"/close", "operator", "admin", nil)
	w.await(`String(document.querySelector('#sale-list article[data-key="`+sale+`"]'))`, "null")
	w.do(chromedp.Click("#over-title"))
	w.await(in(sale, ".badge"), "Ended")
	w.await(in(sale, `td[data-cell="taken"]`), "2")
	for part, want := range map[string]string{"event_store": "yes", "gate": "yes"} {
		w.await(`document.querySelector('#node-rows tr[data-key="`+part+`"]').dataset.ready`, want)
	}
}

func showsMarks(t *testing.T, s *shop) {
	sale := s.sale(t, time.Now().Add(ago), nil, item("a", 5))
	testenv.Eventually(t, patience, func() error {
		got, err := s.Call(http.MethodPost, "/api/v1/sales/"+sale+"/purchases", "hasty", "", `{"sku":"a","quantity":1}`)
		if err == nil && got.Status != http.StatusTooManyRequests {
			err = fmt.Errorf("got %d, want to be refused for asking too often", got.Status)
		}
		return err
	})
	w := s.console(t, "boss", tabOptions{})
	w.await(`String(document.querySelector('#mark-rows th')?.textContent)`, "hasty")
	w.await(`document.querySelector('#mark-rows td[data-cell="endpoint"]').textContent`, "purchases")
}

func speaksAndFits(t *testing.T, s *shop) {
	s.sale(t, time.Now().Add(time.Hour), map[string]any{"title": "一个名字很长很长很长很长很长很长很长很长很长很长的活动"}, item("a-very-long-stock-keeping-unit-name-without-any-break-in-it", 5))
	w := s.tab(t, s.proxy.url+"/ops", tabOptions{language: "zh-CN"})
	w.screen(360, 740, true)
	w.await("document.documentElement.lang", "zh-CN")
	w.await("document.querySelector('#sign-in-title').textContent", "登录")
	w.text(`location.hash = '#token=` + tokenOf(t, "on-duty", "admin") + `'`)
	w.await(boardState, "live")
	w.await("document.querySelector('#who').textContent", "已登录：on-duty")
	w.await("document.querySelector('#sum-title').textContent", "没有打开任何开关")
	w.await(`String(document.querySelectorAll('#sale-list article').length > 0)`, "true")
	if got := w.text("document.documentElement.scrollWidth + ' ' + innerWidth"); got != "360 360" {
		t.Errorf("the page is wider than a phone: %s", got)
	}
	w.picture("console-phone-zh")
	w.do(chromedp.Click("#language"))
	w.await("document.querySelector('#sum-title').textContent", "Nothing is switched on")
	w.do(chromedp.Reload())
	w.await("document.documentElement.lang", "en")
	if bare := w.text(`[...document.querySelectorAll('button, input, select, textarea')].filter((n) => !n.hidden && !(n.textContent || n.labels?.length || n.getAttribute('aria-label'))).length`); bare != "0" {
		t.Errorf("%s controls have no name", bare)
	}
}

// screen gives the window another size.
func (w *tab) screen(width, height int64, mobile bool) {
	w.t.Helper()
	w.do(chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: width, Height: height, DeviceScaleFactor: 1, Mobile: mobile})
		return err
	}))
}

// together notes how many calls were under way at once, and how many began; the stream
// of the overview is the one request beside them.
const together = `{const real = window.fetch; window.now = 0; window.most = 0; window.begun = 0;
window.fetch = async (...a) => { if (a[0].endsWith('/stream')) return real(...a); window.begun++; window.most = Math.max(window.most, ++window.now); try { return await real(...a); } finally { window.now--; } };}`

func asksOneAtATime(t *testing.T, s *shop) {
	w := s.console(t, "boss", tabOptions{script: together})
	w.await("String(begun > 12)", "true")
	if most := w.text("most"); most != "1" {
		t.Errorf("%s calls were under way at once, want one", most)
	}
	w.text(`Object.defineProperty(document, 'hidden', {get: () => true, configurable: true}), document.dispatchEvent(new Event('visibilitychange'))`)
	w.await("now", "0")
	begun := w.text("begun")
	w.await(fresh("switches"), "late") // after some seconds in which it would have asked
	if now := w.text("begun"); now != begun {
		t.Errorf("%s calls began while nobody looked, after %s before", now, begun)
	}
	w.text(`delete document.hidden, document.dispatchEvent(new Event('visibilitychange'))`)
	w.await(fresh("switches"), "live")
}
