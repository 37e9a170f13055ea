package browser

import (
	"fmt"
	"net/http"
	"regexp"
	"testing"
	"time"
)

func TestTicketsOnTheBuyerPage(t *testing.T) {
	s := newShop(t)
	for name, sees := range map[string]func(*testing.T, *shop){
		"a ticket is fetched before the opening, in two calls, and used":   fetchesEarly,
		"who comes after the opening gets a ticket by pressing":            fetchesByPressing,
		"a ticket that is over is replaced before it is sent":              replacesTheOld,
		"a ticket that is not accepted is replaced, and the purchase goes": replacesTheRefused,
		"everybody else is told that all tickets are taken":                saysTaken,
		"who may not buy is told so before the opening":                    saysNotEligible,
	} {
		t.Run(name, func(t *testing.T) { sees(t, s) })
	}
}

// ticketed makes a sale that sells by ticket.
func (s *shop) ticketed(t *testing.T, opens time.Time, stock int) string {
	t.Helper()
	return s.sale(t, opens, map[string]any{"require_ticket": true, "tokens": 1}, item("a", stock))
}

func fetchesEarly(t *testing.T, s *shop) {
	opens := time.Now().Add(6 * time.Second)
	sale := s.ticketed(t, opens, 5)
	wire := s.proxy.of(sale)
	w := s.open(t, sale, tabOptions{buyer: "early"})
	w.press("a")
	w.await(outcome, "placed")
	if n := wire.before(opens); n > 2 {
		t.Errorf("got %d calls before the opening, want 2 at most", n)
	}
	if tickets, purchases := wire.count("tickets"), len(wire.keys()); tickets != 1 || purchases != 1 {
		t.Errorf("got %d calls for tickets and %d purchases, want one of each", tickets, purchases)
	}
}

func fetchesByPressing(t *testing.T, s *shop) {
	sale := s.ticketed(t, time.Now().Add(ago), 5)
	wire := s.proxy.of(sale)
	w := s.open(t, sale, tabOptions{buyer: "late"})
	w.free("a")
	if n := wire.count("tickets"); n != 0 {
		t.Errorf("got %d calls for tickets before anything was pressed, want none", n)
	}
	w.press("a")
	w.await(outcome, "placed")
	if tickets, purchases := wire.count("tickets"), len(wire.keys()); tickets != 1 || purchases != 1 {
		t.Errorf("got %d calls for tickets and %d purchases, want one of each", tickets, purchases)
	}
}

// holding opens the page of a buyer who has a ticket, changed by a script over its
// record k.
func (s *shop) holding(t *testing.T, sale, buyer, change string) *tab {
	t.Helper()
	w := s.open(t, sale, tabOptions{buyer: buyer})
	w.await(`Object.keys(sessionStorage).some((k) => k.startsWith('seckill.ticket.'))`, "true")
	w.text(`Object.keys(sessionStorage).filter((n) => n.startsWith('seckill.ticket.')).map((n) => {
		const k = JSON.parse(sessionStorage[n]);
		` + change + `;
		sessionStorage[n] = JSON.stringify(k);
	})`)
	return w
}

func replacesTheOld(t *testing.T, s *shop) {
	s.replaces(t, `k.expires = new Date(Date.now() + 1000).toISOString(); k.ticket = 'x'.repeat(34)`, 1)
}

func replacesTheRefused(t *testing.T, s *shop) {
	s.replaces(t, `k.ticket = 'x'.repeat(34)`, 2)
}

// replaces lets a buyer press with a ticket that is no good any more.
func (s *shop) replaces(t *testing.T, change string, purchases int) {
	t.Helper()
	sale := s.ticketed(t, time.Now().Add(6*time.Second), 5)
	w := s.holding(t, sale, "odd", change)
	w.press("a")
	w.await(outcome, "placed")
	wire := s.proxy.of(sale)
	if tickets, sent := wire.count("tickets"), len(wire.keys()); tickets != 2 || sent != purchases {
		t.Errorf("got %d calls for tickets and %d purchases, want 2 and %d", tickets, sent, purchases)
	}
}

func saysTaken(t *testing.T, s *shop) {
	opens := time.Now().Add(6 * time.Second)
	sale := s.ticketed(t, opens, 1)
	s.must(t, http.StatusCreated, http.MethodPost, "/api/v1/sales/"+sale+"/tickets", "quick", "", nil)
	w := s.open(t, sale, tabOptions{buyer: "slow"})
	w.await(outcome, "tickets_gone")
	w.press("a") // units that are released later may have tickets: it may be tried
	w.await(outcome, "tickets_gone")
	if n := len(s.proxy.of(sale).keys()); n != 0 {
		t.Errorf("got %d purchases without a ticket, want none", n)
	}
}

func saysNotEligible(t *testing.T, s *shop) {
	sale := s.sale(t, time.Now().Add(time.Minute), map[string]any{"require_ticket": true, "eligible_tiers": []string{"gold"}}, item("a", 5))
	w := s.open(t, sale, tabOptions{buyer: "plain"})
	w.await(outcome, "not_eligible")
}

func TestProofOfWorkOnTheBuyerPage(t *testing.T) {
	s := newShop(t, "SECKILL_TICKET_POW=2000000")
	for name, sees := range map[string]func(*testing.T, *shop){
		"begins before the opening, in two calls, and is sent with the press": worksEarly,
		"leaves the page alive, in a worker or without one":                   staysAlive,
		"hashes as the browser does":                                          hashes,
	} {
		t.Run(name, func(t *testing.T) { sees(t, s) })
	}
}

// alive notes workers, and the longest time in which the page did nothing.
const alive = `{const Real = window.Worker;
window.workers = 0;
if (Real) window.Worker = class extends Real { constructor(...a) { super(...a); window.workers++; } };
let last = performance.now();
window.longest = 0;
setInterval(() => { const now = performance.now(); window.longest = Math.max(window.longest, now - last); last = now; }, 20);}`

func worksEarly(t *testing.T, s *shop) {
	opens := time.Now().Add(7 * time.Second)
	sale := s.ticketed(t, opens, 5)
	wire := s.proxy.of(sale)
	w := s.open(t, sale, tabOptions{buyer: "early", script: alive})
	w.press("a")
	w.await(outcome, "placed")
	if n := wire.before(opens); n > 2 {
		t.Errorf("got %d calls before the opening, want 2 at most", n)
	}
	if puzzles, tickets, purchases := wire.count("challenge"), wire.count("tickets"), len(wire.keys()); puzzles != 1 || tickets != 1 || purchases != 1 {
		t.Errorf("got %d puzzles, %d calls for tickets and %d purchases, want one of each", puzzles, tickets, purchases)
	}
	if got := w.text("workers"); got != "1" {
		t.Errorf("got %s workers, want the puzzle solved in one", got)
	}
}

func staysAlive(t *testing.T, s *shop) {
	for name, script := range map[string]string{"in a worker": alive, "without one": "delete window.Worker;" + alive} {
		sale := s.ticketed(t, time.Now().Add(ago), 5)
		w := s.open(t, sale, tabOptions{buyer: "late", script: script})
		w.free("a")
		w.text("window.longest = 0")
		w.press("a")
		w.await(outcome, "placed")
		var longest float64
		if _, err := fmt.Sscan(w.text("longest"), &longest); err != nil || longest > 1000 {
			t.Errorf("%s: the page stood still for %v ms (%v), want it to go on while the puzzle is solved", name, longest, err)
		}
	}
}

func hashes(t *testing.T, s *shop) {
	sale := s.sale(t, time.Now().Add(time.Hour), nil, item("a", 5))
	w := s.open(t, sale, tabOptions{buyer: "reader"})
	module := regexp.MustCompile(`/s/assets/[0-9a-f]+/`).FindString(w.text("document.documentElement.innerHTML")) + "sha256.js"
	w.text(`(window.wrong = undefined, import('` + module + `').then(async ({after}) => {
		const hex = (words) => Array.from(words, (x) => x.toString(16).padStart(8, '0')).join('');
		const wrong = [];
		for (let n = 0; n < 200; n++) {
			const head = 'salt&'.repeat(50).slice(0, n), tail = '1234567890'.repeat(6).slice(0, n % 61);
			const right = new DataView(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(head + tail)));
			const hash = after(head);
			hash('x'.repeat(60));
			if (hex(hash(tail)) !== hex(Array.from({length: 8}, (_, i) => right.getUint32(4 * i)))) wrong.push(n);
		}
		window.wrong = wrong.length + ' wrong: ' + wrong;
	}), '')`)
	w.await("wrong", "0 wrong: ")
}
