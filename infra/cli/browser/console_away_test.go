package browser

import (
	"net/http"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"seckill/infra/cli/e2e"
	"seckill/infra/pg"
	"seckill/infra/testenv"
)

// TestTheConsoleWhilePostgresIsAway: what cannot be asked for stays, says how old it
// is, and is fresh again afterwards; what others know goes on.
func TestTheConsoleWhilePostgresIsAway(t *testing.T) {
	var server *testenv.PostgresServer
	s := newShopOn(t, func(t testing.TB) *e2e.Rig {
		server = testenv.PrivatePostgres(t)
		const namespace = "seckill"
		if err := pg.Migrate(t.Context(), server.URL, namespace); err != nil {
			t.Fatalf("migrate: %v", err)
		}
		return &e2e.Rig{URL: server.URL, Namespace: namespace, Redis: testenv.PrivateRedis(t, testenv.RedisOptions{})}
	})
	sale := s.sale(t, time.Now().Add(ago), nil, item("a", 5))
	s.flip(t, "on", "skip_eligibility", "--reason", "before it went")
	w := s.console(t, "boss", tabOptions{})
	w.await(lamp("skip_eligibility", ""), "yes")
	available := `document.querySelector('article[data-key="` + sale + `"] td[data-cell="available"]')?.textContent`
	w.await(available, "5")
	w.await(fresh("node"), "live")

	server.Kill()
	w.await(fresh("switches"), "away")
	w.await(boardState, "away")
	w.await(`String(/^Store away\. Last seen \d+ s ago, and it may have changed since\./.test(document.querySelector('#fresh-switches').textContent))`, "true")
	w.await(lamp("skip_eligibility", ""), "yes")
	w.await(sumState, "on")
	w.await(`document.querySelector('#sum').dataset.stale`, "yes")
	w.await(`document.querySelector('#node-rows tr[data-key="event_store"]').dataset.ready`, "no")
	w.await(`String(document.querySelector('#node-state').textContent.startsWith('NOT READY'))`, "true")
	s.must(t, http.StatusAccepted, http.MethodPost, "/api/v1/sales/"+sale+"/purchases", "buyer", "", `{"sku":"a","quantity":1}`)
	w.await(available, "4") // by the gate
	w.picture("console-away")

	w.do(chromedp.Click(`tr[data-key="pause_purchases/"] button`))
	w.do(chromedp.Click("#flip-reason"), chromedp.KeyEvent("stop"), chromedp.Click("#flip-next"))
	w.await(`document.querySelector('#flip-do').disabled`, "false")
	w.do(chromedp.Click("#flip-do"))
	w.await(`String(`+flipError+`.startsWith('Not confirmed: ') && `+flipError+`.includes('The gate stops already'))`, "true")
	w.await(flipOpen, "true")
	w.do(chromedp.Click("#flip-cancel"))

	server.Start()
	w.await(fresh("switches"), "live")
	w.await(boardState, "live")
	w.await(`String(document.querySelector('#sum').dataset.stale)`, "undefined")
	w.await(`document.querySelector('#node-rows tr[data-key="event_store"]').dataset.ready`, "yes")
}
