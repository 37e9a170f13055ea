package browser

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"seckill/infra/cli/e2e"
)

func TestTheConsoleActs(t *testing.T) {
	s := newShop(t)
	for name, sees := range map[string]func(*testing.T, *shop){
		"releases units and takes them off sale, which the log has by name":       releases,
		"asks again under the same key for what may have been done":               asksAgain,
		"pauses, resumes, and closes only who is certain":                         steers,
		"preheats, verifies and compares the books, and shows what differs":       compares,
		"finds the story of a purchase and explains a receipt":                    tellsStories,
		"says what goroutines wait for when asked":                                asksForStacks,
		"acts under the name that it shows, or not at all":                        actsAsShown,
		"keeps the keyboard's place, and confirms no sentence that a text turned": keepsTheFocus,
	} {
		t.Run(name, func(t *testing.T) { sees(t, s) })
	}
}

// Expressions about the dialog.
const (
	actOpen  = `document.querySelector('#act').open`
	actError = `document.querySelector('#act-error').textContent`
	actTold  = `document.querySelector('#act-report').hidden ? '' : document.querySelector('#act-told').textContent`
	actFound = `document.querySelector('#act-found').innerText`
)

// act opens the dialog of a sale and chooses what to do.
func (w *tab) act(sale, action string) {
	w.t.Helper()
	button := `article[data-key="` + sale + `"] .act`
	w.await(`String(document.querySelector('`+button+`') !== null)`, "true")
	w.do(chromedp.Click(button))
	w.await(actOpen, "true")
	w.text(`(document.querySelector('#act-name').value = '` + action + `', document.querySelector('#act-name').dispatchEvent(new Event('change')))`)
	w.await(`document.querySelector('#act-name').value`, action)
}

// sure goes on to the sentence, reads it, and confirms.
func (w *tab) sure(sentence string) {
	w.t.Helper()
	w.do(chromedp.Click("#act-next"))
	w.await(`document.querySelector('#act-what').textContent`, sentence)
	if !strings.HasPrefix(w.text(`document.querySelector('#act-who').textContent`), "Recorded as done by ") {
		w.t.Error("the dialog does not say under which name it is recorded")
	}
	w.await(`document.querySelector('#act-do').disabled`, "false")
	w.do(chromedp.Click("#act-do"))
}

func (w *tab) shut() {
	w.t.Helper()
	w.do(chromedp.Click("#act-cancel"))
	w.await(actOpen, "false")
}

// logged is what the log has of a type in a sale.
func (s *shop) logged(t *testing.T, sale, kind string) string {
	t.Helper()
	done := e2e.Run(t, s.env, "replay", "--sale", sale, "--type", kind, "--json")
	if done.Code != 0 {
		t.Fatalf("replay: status %d: %s", done.Code, done.Stderr)
	}
	return done.Stdout
}

func releases(t *testing.T, s *shop) {
	sale := s.sale(t, time.Now().Add(ago), map[string]any{"title": "Tranches"}, item("a", 5))
	w := s.console(t, "quartermaster", tabOptions{})
	units := func(cell string) string {
		return `document.querySelector('article[data-key="` + sale + `"] td[data-cell="` + cell + `"]')?.textContent`
	}
	w.act(sale, "release")
	w.do(chromedp.Click("#act-next"))
	w.await(actError, "How many? A whole number from 1 to 2147483647.")
	w.do(chromedp.Click("#act-quantity"), chromedp.KeyEvent("7"))
	w.sure("Put 7 units of a more on sale in Tranches (" + sale + ").")
	w.await(actTold, "Released: 7 units of a in Tranches.")
	w.await(actFound, "Released over all: 12. Left: 12.")
	w.shut()
	w.await(units("available"), "12")
	if got := s.logged(t, sale, "stock.released"); !strings.Contains(got, "quartermaster") {
		t.Errorf("the log does not say who released: %s", got)
	}
	w.act(sale, "withdraw")
	w.do(chromedp.Click("#act-quantity"), chromedp.KeyEvent("13"))
	w.sure("Take 13 units of a off sale in Tranches (" + sale + ").")
	w.await(`String(`+actError+`.includes('below_reserved'))`, "true")
	w.do(chromedp.Click("#act-back"), chromedp.Click("#act-quantity"), chromedp.KeyEvent(kb.Backspace+kb.Backspace+"2"))
	w.sure("Take 2 units of a off sale in Tranches (" + sale + ").")
	w.await(actTold, "Taken off sale: 2 units of a in Tranches.")
	w.shut()
	w.await(units("available"), "10")
	if got := s.logged(t, sale, "stock.withdrawn"); strings.Count(got, "\n") != 1 || !strings.Contains(got, "quartermaster") {
		t.Errorf("got %s, want one withdrawal, by its name", got)
	}
}

// unsure lets the first release through and answers that nobody knows.
const unsure = `{const real = window.fetch;
window.asked = [];
window.fetch = async (path, o) => {
  const answer = await real(path, o);
  if (!String(path).endsWith('/releases')) return answer;
  asked.push(o.headers['Idempotency-Key']);
  return asked.length > 1 ? answer : new Response('{"code":"busy","detail":"It took too long."}', {status: 503});
};}`

func asksAgain(t *testing.T, s *shop) {
	sale := s.sale(t, time.Now().Add(ago), map[string]any{"title": "Doubted"}, item("a", 5))
	w := s.console(t, "quartermaster", tabOptions{script: unsure})
	release := func() {
		w.act(sale, "release")
		w.do(chromedp.Click("#act-quantity"), chromedp.KeyEvent("7"))
		w.sure("Put 7 units of a more on sale in Doubted (" + sale + ").")
	}
	release()
	w.await(actError, "Not confirmed: It took too long.")
	w.shut()
	release()
	w.await(actFound, "Released over all: 12. Left: 12.")
	w.await(`String(new Set(asked).size)`, "1")
}

func steers(t *testing.T, s *shop) {
	sale := s.sale(t, time.Now().Add(ago), map[string]any{"title": "Steered"}, item("a", 5))
	w := s.console(t, "helm", tabOptions{})
	badge := `document.querySelector('article[data-key="` + sale + `"] .badge')?.textContent`
	w.act(sale, "pause")
	w.do(chromedp.Click("#act-note"), chromedp.KeyEvent("a wrong price"))
	w.sure("Pause Steered (" + sale + ").")
	w.await(actTold, "Paused: Steered.")
	w.shut()
	w.await(badge, "Paused")
	if got := s.logged(t, sale, "sale.paused"); !strings.Contains(got, "helm") || !strings.Contains(got, "a wrong price") {
		t.Errorf("the log does not say who paused and why: %s", got)
	}
	w.act(sale, "resume")
	w.sure("Resume Steered (" + sale + ").")
	w.await(actTold, "Resumed: Steered.")
	w.shut()
	w.await(badge, "Open")
	w.act(sale, "close")
	w.do(chromedp.Click("#act-next"))
	w.await(`document.querySelector('#act-grave').hidden`, "false")
	for _, disabled := range []string{"false", "true", "false"} {
		w.do(chromedp.Click("#act-certain"))
		w.await(`document.querySelector('#act-do').disabled`, disabled)
	}
	w.picture("console-act")
	w.do(chromedp.Click("#act-do"))
	w.await(actTold, "Closed: Steered.")
	w.shut()
	if got := s.logged(t, sale, "sale.closed"); !strings.Contains(got, "helm") {
		t.Errorf("the log does not say who closed: %s", got)
	}
}

func asksForStacks(t *testing.T, s *shop) {
	w := s.console(t, "boss", tabOptions{})
	w.do(chromedp.Click("#stacks"))
	w.await(`String(/^Node \S+ has \d+ goroutines; \d+ hold somebody up:$/.test(document.querySelector('#stacks-note').textContent))`, "true")
}

func compares(t *testing.T, s *shop) {
	sale := s.sale(t, time.Now().Add(ago), map[string]any{"title": "Compared", "auto_open": true}, item("a", 5))
	w := s.console(t, "auditor", tabOptions{})
	w.act(sale, "verify")
	w.do(chromedp.Click("#act-next"))
	w.await(`String(/^Everything is as the log says \(\d+ values\)\.$/.test(`+actFound+`))`, "true")
	w.shut()
	w.await(`String([...document.querySelector('#act-name').options].some((o) => o.value === 'confirm'))`, "false") // it opened by itself
	w.act(sale, "preheat")
	w.sure("Preheat Compared (" + sale + ").")
	w.await(actTold, "Preheated: Compared.")
	w.shut()
	w.act(sale, "reconcile")
	w.do(chromedp.Click("#act-next"))
	w.await(`String(`+actFound+`.includes('Released 5, available 5, reserved 0') && `+actFound+`.includes('Findings: none.'))`, "true")
	w.shut()
	w.act(sale, "repair")
	w.do(chromedp.Click("#act-next"))
	w.await(`document.querySelector('#act-grave').hidden`, "false")
	w.shut()
}

func tellsStories(t *testing.T, s *shop) {
	sale := s.sale(t, time.Now().Add(ago), map[string]any{"title": "Told"}, item("a", 1))
	bought := s.must(t, http.StatusAccepted, http.MethodPost, "/api/v1/sales/"+sale+"/purchases", "teller", "", `{"sku":"a","quantity":1}`)
	order := bought.Text("order_id")
	refused := s.must(t, http.StatusConflict, http.MethodPost, "/api/v1/sales/"+sale+"/purchases", "late", "", `{"sku":"a","quantity":1}`)
	w := s.console(t, "helpdesk", tabOptions{})
	find := func(id string) {
		w.do(chromedp.SetValue("#search-id", id), chromedp.Click("#search-form button"))
	}
	story := `document.querySelector('#search-found .story[data-key="` + order + `"]')`
	for _, id := range []string{order, "teller", bought.Text("trace_id")} {
		w.text(`document.querySelector('#search-found').replaceChildren()`)
		find(id)
		w.await(`String(`+story+`?.querySelectorAll('ol li').length > 1)`, "true")
	}
	w.await(`String(`+story+`.innerText.includes('buyer teller'))`, "true")
	w.picture("console-story")
	find("nobody-bought-this")
	w.await(`document.querySelector('#search-found').innerText`, "nobody-bought-this has bought nothing. If it is meant as an order or a trace id, it is not whole. Of a refusal nothing is stored: ask for its receipt.")
	find("no body")
	w.await(`String(document.querySelector('#search-error').textContent.includes('want an order id, a trace id, or a buyer'))`, "true")
	find(refused.Text("receipt"))
	w.await(`document.querySelector('#search-found .badge')?.textContent`, "The refusal was right")
	w.do(chromedp.Click("#language"))
	w.await(`document.querySelector('#search-found .badge')?.textContent`, "拒绝正确")
}

// signsInBeside is what another window of the browser does: there is one cookie for all.
func (w *tab) signsInBeside(who string) {
	w.t.Helper()
	w.text(`(window.beside = 0, fetch('/ops/session', {method: 'POST', headers: {'Content-Type': 'application/json', 'X-Seckill-Console': '1'},
		body: JSON.stringify({token: '` + tokenOf(w.t, who, "admin") + `'})}).then((a) => { window.beside = a.status; }))`)
	w.await("beside", "200")
}

func actsAsShown(t *testing.T, s *shop) {
	sale := s.sale(t, time.Now().Add(ago), map[string]any{"title": "Shared"}, item("a", 5))
	w := s.console(t, "first", tabOptions{})
	w.act(sale, "pause")
	w.do(chromedp.Click("#act-next"))
	w.await(`document.querySelector('#act-who').textContent`, "Recorded as done by first.")
	w.signsInBeside("second")
	w.await(`document.querySelector('#act-do').disabled`, "false")
	w.do(chromedp.Click("#act-do"))
	w.await(`String(`+actError+`.startsWith('Nothing was sent: second signed in'))`, "true")
	w.await(`document.querySelector('#act-who').textContent`, "Recorded as done by second.")
	if got := s.logged(t, sale, "sale.paused"); got != "" {
		t.Errorf("it was paused under a name that the sentence did not have: %s", got)
	}
	w.do(chromedp.Click("#act-do"))
	w.await(actTold, "Paused: Shared.")
	w.shut()
	if got := s.logged(t, sale, "sale.paused"); !strings.Contains(got, "second") || strings.Contains(got, "first") {
		t.Errorf("got %s, want it by second", got)
	}
	w.signsInBeside("third")
	w.await("document.querySelector('#who').textContent", "Signed in as third") // without acting
}

func keepsTheFocus(t *testing.T, s *shop) {
	sale := s.sale(t, time.Now().Add(ago), map[string]any{"title": "Turned"}, item("a", 5))
	w := s.console(t, "keys", tabOptions{})
	w.act(sale, "withdraw")
	w.do(chromedp.Click("#act-quantity"), chromedp.KeyEvent("13"))
	w.sure("Take 13 units of a off sale in Turned (" + sale + ").")
	w.await(`String(`+actError+`.includes('below_reserved'))`, "true")
	w.await(focused, "act-back")
	w.do(chromedp.KeyEvent(kb.Enter))
	w.await(focused, "act-name")
	w.shut()
	w.act(sale, "close")
	note := func(text string) { w.text(`(document.querySelector('#act-note').value = "` + text + `")`) }
	note(`it \u202eis over`)
	w.do(chromedp.Click("#act-next"))
	w.await(`document.querySelector('#act-note-said').textContent`, "Reason: it \ufffdis over")
	w.do(chromedp.Click("#act-back"))
	note("")
	w.do(chromedp.Click("#act-next"), chromedp.Click("#act-certain"))
	w.await(`document.querySelector('#act-do').disabled`, "false")
	w.do(chromedp.Click("#act-do"))
	w.await(`String(`+actTold+`.startsWith('Closed: '))`, "true")
	w.await(`String(document.querySelector('#sale-list article[data-key="`+sale+`"]'))`, "null")
	w.shut()
	w.await(focused, "sales-title") // the button is gone with its sale
	w.do(chromedp.Click("#search-form button"))
	w.await(`document.querySelector('#search-error').textContent`, "Write an id first.")
}
