package browser

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"seckill/api"
)

func TestTheConsoleWatches(t *testing.T) {
	s := newShop(t)
	for name, sees := range map[string]func(*testing.T, *shop){
		"plots what is bought, left and waiting, and they move":              plotsMove,
		"says what is worth a look and what is wrong":                        judges,
		"asks again where the stream ends, and one look where there is none": comesAgain,
	} {
		t.Run(name, func(t *testing.T) { sees(t, s) })
	}
}

// line is a part of one row of a tile.
func tileLine(tile, row, part string) string {
	return `document.querySelector('.tile[data-key="` + tile + `"] .line[data-key="` + row + `"] ` + part + `')`
}

func plotsMove(t *testing.T, s *shop) {
	sale := s.sale(t, time.Now().Add(ago), map[string]any{"title": "Plotted"}, item("a", 50))
	w := s.console(t, "boss", tabOptions{})
	w.await(fresh("five"), "live")
	left := sale + "/a"
	w.await(tileLine("stock", left, ".value")+`?.textContent`, "50")
	for i := range 5 {
		s.must(t, http.StatusAccepted, http.MethodPost, "/api/v1/sales/"+sale+"/purchases", fmt.Sprintf("plot-%d", i), "", `{"sku":"a","quantity":1}`)
	}
	w.await(tileLine("stock", left, ".value")+`?.textContent`, "45")
	w.await(`String(Number(`+tileLine("stock", left, "svg")+`.dataset.points) > 3)`, "true")
	before := w.text(tileLine("stock", left, ".spark .line") + `.getAttribute('d')`)
	w.await(`String(`+tileLine("stock", left, ".spark .line")+`.getAttribute('d') !== `+quoted(before)+`)`, "true")
	w.await(`String(/[1-9]/.test(`+tileLine("gate", "reserved", ".value")+`.textContent))`, "true")
	for _, row := range []string{"journal", "relay", "order_view", "stock_log", "sale_summary"} {
		w.await(`String(`+tileLine("backlog", row, ".value")+` !== null)`, "true")
	}
	for _, tile := range []string{"purchases", "gate", "stock", "backlog", "redis", "postgres", "runtime", "drift"} {
		w.await(`String(document.querySelectorAll('.tile[data-key="`+tile+`"] .line').length > 0)`, "true")
	}
	if got := w.text(`document.querySelectorAll('.tile [data-state="unknown"]').length`); got != "0" {
		t.Errorf("%s rows are not known: %s", got, w.text(`document.querySelector('#tiles').innerText`))
	}
	w.picture("console-watch")
}

// quoted writes a text as JavaScript does.
func quoted(text string) string {
	b, err := json.Marshal(text)
	if err != nil {
		return `""`
	}
	return string(b)
}

// judges asks the module itself, as the page has it.
func judges(t *testing.T, s *shop) {
	w := s.console(t, "boss", tabOptions{})
	good := api.Overview{
		Purchases: api.OverviewPurchases{Answered: 40, SuccessRate: number(1.0)},
		Redis:     api.OverviewRedis{Servers: []api.OverviewServer{{Server: "r", ConnectedClients: number[int64](5), MaxClients: 100}}, Slow: []api.OverviewSlow{}, Pools: []api.OverviewPool{}},
		Backlog:   []api.OverviewStage{{Stage: "journal", Unit: "entries", Waiting: number[int64](7)}},
		Postgres:  []api.OverviewPostgres{{Connections: &api.OverviewSessions{Active: 1, Max: 100}, Statements: []api.OverviewStatement{}, Pools: []api.OverviewPool{}}},
		Sales:     api.OverviewSales{Sales: []api.OverviewSale{}}, Drift: api.OverviewDrift{PausedSales: []string{}},
	}
	for name, c := range map[string]struct {
		tile, want string
		change     func(*api.Overview)
	}{
		"all is well":                       {"purchases", "", func(*api.Overview) {}},
		"few succeed":                       {"purchases", "bad", func(o *api.Overview) { o.Purchases.Alarm = true }},
		"some fail":                         {"gate", "warn", func(o *api.Overview) { o.Purchases.PerSecond.Errors = .1 }},
		"connections run out":               {"redis", "bad", func(o *api.Overview) { o.Redis.Servers[0].ConnectedClients = number[int64](96) }},
		"a slow command":                    {"redis", "warn", func(o *api.Overview) { o.Redis.SlowPerMinute = number(1.0) }},
		"a view is behind":                  {"backlog", "warn", func(o *api.Overview) { o.Backlog[0].LagSeconds = number(6.0) }},
		"something is parked":               {"backlog", "bad", func(o *api.Overview) { o.Backlog[0].Parked = number(1) }},
		"nobody knows":                      {"backlog", "unknown", func(o *api.Overview) { o.Backlog[0].Waiting = nil }},
		"PostgreSQL is away":                {"postgres", "unknown", func(o *api.Overview) { o.Postgres[0].UnknownSince, o.Postgres[0].Connections = &time.Time{}, nil }},
		"a statement takes long":            {"postgres", "bad", func(o *api.Overview) { o.Postgres[0].SlowStatements = number(1) }},
		"somebody holds a transaction open": {"postgres", "bad", func(o *api.Overview) { o.Postgres[0].OldestTransactionSeconds = number(31.0) }},
		"collections stop the world":        {"runtime", "bad", func(o *api.Overview) { o.Process.GCPauseP99Seconds = .011 }},
		"collections are felt":              {"runtime", "warn", func(o *api.Overview) { o.Process.GCPauseP99Seconds = .006 }},
		"the books disagree":                {"drift", "bad", func(o *api.Overview) { o.Drift.CheckedAt, o.Drift.Findings = &time.Time{}, map[string]int{"lost": 1} }},
		"a sale stands still for its books": {"drift", "bad", func(o *api.Overview) { o.Drift.PausedSales = []string{"s"} }},
	} {
		o := clone(t, good)
		c.change(&o)
		body, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		w.text(`window.judged = '?', import(document.querySelector('script[type="module"]').src.replace('app.js', 'five.js')).then((m) => { window.judged = 'is ' + m.tiles(` + string(body) + `).find((t) => t.key === '` + c.tile + `').state; })`)
		w.await(`String(window.judged !== '?')`, "true")
		if got := w.text("window.judged"); got != "is "+c.want {
			t.Errorf("%s: the tile %s %s, want %q", name, c.tile, got, c.want)
		}
	}
}

func number[N any](n N) *N { return &n }

func clone(t *testing.T, o api.Overview) api.Overview {
	t.Helper()
	b, err := json.Marshal(o)
	if err == nil {
		var c api.Overview
		if err = json.Unmarshal(b, &c); err == nil {
			return c
		}
	}
	t.Fatal(err)
	return o
}

func comesAgain(t *testing.T, s *shop) {
	w := s.console(t, "boss", tabOptions{script: streams})
	w.await(fresh("five"), "live")
	w.await("String(streams)", "1")
	w.text(`ends.at(-1)()`) // the line breaks
	w.await("String(streams >= 2)", "true")
	w.await(fresh("five"), "live")
	t.Cleanup(func() { s.off(t, "pause_noncore", "") })
	s.flip(t, "on", "pause_noncore", "--reason", "calm")
	seen := w.text("looks")
	w.await("String(looks > "+seen+" + 1)", "true") // one look at a time, in the place of the stream
	w.await(`String(document.querySelector('#fresh-five').dataset.state !== 'away')`, "true")
	s.off(t, "pause_noncore", "")
	now := w.text("streams")
	w.await("String(streams > "+now+")", "true")
	w.await(fresh("five"), "live")
	w.do(chromedp.Click("#leave"))
	w.await("String(last.aborted)", "true")
}

// streams notes the streams that began and the single looks; ends break them, and last
// tells whether the page ended the newest.
const streams = `{const real = window.fetch; window.streams = 0; window.looks = 0; window.ends = [];
window.fetch = async (path, o) => {
  if (path.endsWith('/overview')) window.looks++;
  if (!path.endsWith('/overview/stream')) return real(path, o);
  const cut = new AbortController();
  o.signal.addEventListener('abort', () => cut.abort());
  const answer = await real(path, {...o, signal: cut.signal});
  if (!answer.ok) return answer;
  window.streams++; window.last = o.signal; ends.push(() => cut.abort());
  return answer;
};}`
