package browser

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"seckill/eventstore"
	"seckill/infra/cli/e2e"
	"seckill/infra/testenv"
	"seckill/projections"
)

func TestTheConsoleShowsWhatIsSetAsideAndGivesItUpWithAReason(t *testing.T) {
	var rig *e2e.Rig
	s := newShopOn(t, func(t testing.TB) *e2e.Rig {
		rig = e2e.NewRig(t)
		return rig
	})
	sale := s.sale(t, time.Now().Add(ago), nil, item("a", 5))
	order := s.must(t, http.StatusAccepted, http.MethodPost, "/api/v1/sales/"+sale+"/purchases", "set-aside", "", `{"sku":"a","quantity":1}`).Text("order_id")
	setAside(t, rig, order)

	w := s.console(t, "janitor", tabOptions{})
	row := `#letter-rows tr[data-key*="` + order + `"]`
	cell := func(name string) string {
		return `document.querySelector('` + row + ` [data-cell="` + name + `"]')?.textContent`
	}
	w.await(cell("state"), "SET ASIDE")
	w.await(cell("why"), "planted")
	w.await(cell("projection"), "order_view")
	choose := func(action string) {
		w.do(chromedp.Click(row + " button"))
		w.await(actOpen, "true")
		w.text(`(document.querySelector('#act-name').value = '` + action + `', document.querySelector('#act-name').dispatchEvent(new Event('change')))`)
	}
	choose("show")
	w.do(chromedp.Click("#act-next"))
	w.await(`String(`+actFound+`.includes('order.placed'))`, "true")
	w.shut()
	choose("drop")
	w.do(chromedp.Click("#act-next"))
	w.await(actError, "Say why: it is kept with what is given up.")
	w.do(chromedp.Click("#act-note"), chromedp.KeyEvent("of a test"), chromedp.Click("#act-next"))
	w.await(`document.querySelector('#act-what').textContent`, "GIVE UP "+order+" in order_view.")
	w.do(chromedp.Click("#act-certain"))
	w.await(`document.querySelector('#act-do').disabled`, "false")
	w.do(chromedp.Click("#act-do"))
	w.await(actTold, "Given up: "+order+" in order_view.")
	w.shut()
	w.await(cell("state"), "given up")
	w.await(cell("why"), "janitor: of a test")
	if done := e2e.Run(t, s.env, "dead-letters", "list", "--json"); done.Code != 0 || !strings.Contains(done.Stdout, "janitor: of a test") {
		t.Errorf("the command line says %d %s%s, want it dropped by janitor", done.Code, done.Stdout, done.Stderr)
	}
}

// setAside sets an order aside in order_view, as a projector that could not apply it, once
// the log has it.
func setAside(t *testing.T, rig *e2e.Rig, order string) {
	t.Helper()
	for _, p := range projections.All() {
		if p.Name != "order_view" {
			continue
		}
		testenv.Eventually(t, patience, func() error {
			done, err := rig.Pool.Exec(t.Context(), `insert into dead_letters (projection, version, store, shard, sequence, position, hash, type, state, reason, tries, parked_at)
				select 'order_view', $1, 1, $2, order_id, position, hash, type, 'parked', 'planted', 1, now() from events where stream = $3`,
				p.Version, eventstore.ShardOf(order, eventstore.DefaultShards), "order-"+order)
			if err == nil && done.RowsAffected() != 1 {
				err = errNotYet
			}
			return err
		})
	}
}

var errNotYet = errors.New("the log does not have the order yet")
