package browser

import (
	"fmt"
	"testing"
	"time"
)

// slowly lets sales answer late, and counts what was asked for.
const slowly = `{const real = window.fetch;
window.asked = {};
window.fetch = async (path, o) => {
  asked[path] = (asked[path] || 0) + 1;
  if (String(path).startsWith('/api/v1/admin/sales/')) await new Promise((go) => setTimeout(go, 500));
  return real(path, o);
};}`

// TestManySalesThatAnswerLateKeepNothingElseWaiting: switches are asked for every second and
// a half, a sale every two, and a dozen of them take six.
func TestManySalesThatAnswerLateKeepNothingElseWaiting(t *testing.T) {
	s := newShop(t)
	var last string
	for i := range 12 {
		last = s.sale(t, time.Now().Add(time.Hour), map[string]any{"title": fmt.Sprintf("Late %d", i)}, item("a", 5))
	}
	w := s.console(t, "boss", tabOptions{script: slowly})
	w.await(`String(asked['/api/v1/admin/sales/`+last+`'] >= 4)`, "true")
	got := w.text(`JSON.stringify(asked)`)
	if w.text(`String(asked['/api/v1/admin/switches'] >= 2 * asked['/api/v1/admin/sales/`+last+`'])`) != "true" {
		t.Errorf("switches wait for every sale: %s", got)
	}
}

// TestWhatSellsNowIsListedAmongManySales: the list is that of what was scheduled last, and
// what sells now may have been scheduled long before.
func TestWhatSellsNowIsListedAmongManySales(t *testing.T) {
	s := newShop(t)
	first := s.sale(t, time.Now().Add(ago), map[string]any{"title": "Scheduled first"}, item("a", 5))
	for i := range 101 {
		s.sale(t, time.Now().Add(time.Hour), map[string]any{"title": fmt.Sprintf("Later %d", i)}, item("b", 1))
	}
	w := s.console(t, "boss", tabOptions{})
	in := func(what string) string {
		return `document.querySelector('#sale-list article[data-key="` + first + `"] ` + what + `')?.textContent`
	}
	w.await(in("h3"), "Scheduled first")
	w.await(in(`td[data-cell="available"]`), "5")
	w.await(`document.querySelector('#sale-list article').dataset.key`, first)
	w.await(`String(document.querySelector('#sales-rest').textContent.startsWith('There are more sales. Looked at here are the 100 that'))`, "true")
	w.act(first, "pause")
	w.sure("Pause Scheduled first (" + first + ").")
	w.await(actTold, "Paused: Scheduled first.")
	w.shut()
	w.await(in(".badge"), "Paused")
}
