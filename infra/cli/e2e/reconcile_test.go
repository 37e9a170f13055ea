package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"seckill/commands"
	"seckill/domain"
	"seckill/infra/testenv"
)

// served is a plant whose sale is served by the program itself.
func served(t *testing.T, env ...string) (*plant, *Client) {
	t.Helper()
	rig := NewRig(t)
	child := ServeRig(t, rig, env...)
	client := NewClient(child.URL)
	p := &plant{t: t, rig: rig, node: rig.Node(t, NodeOptions{APIOnly: true}), orders: map[string]string{}}
	p.sale = client.CreateSale(t, 50)
	p.place = domain.Place{Store: p.node.Env.Store, Sale: p.sale}
	p.connect()
	p.node.AwaitOpen(t, p.sale)
	for i := range 5 {
		buyer := fmt.Sprintf("b-%d", i)
		answer, err := client.Buy(p.sale, buyer, "key-"+buyer)
		if err != nil || answer.Status != http.StatusAccepted {
			t.Fatalf("%s buys: %d %s %v", buyer, answer.Status, answer.Raw, err)
		}
		p.orders[buyer] = answer.Text("order_id")
		if answer, err = client.Order(buyer, p.orders[buyer], "?wait=10s"); err != nil || answer.Text("status") != "placed" {
			t.Fatalf("%s: %s %v", buyer, answer.Raw, err)
		}
	}
	return p, client
}

func shows(t *testing.T, c *Client, line string) error {
	t.Helper()
	res, err := http.Get(c.URL + "/metrics")
	if err != nil {
		return err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err == nil && !strings.Contains(string(body), line+"\n") {
		err = errors.New("the metrics have no line " + line)
	}
	return err
}

func TestDriftPausesASaleIsShownAndAfterARepairItSellsAgain(t *testing.T) {
	p, client := served(t, "SECKILL_RECONCILE_EVERY=1s")
	within := 60 * time.Second
	testenv.Eventually(t, within, func() error { return shows(t, client, `seckill_reconcile_findings{kind="gate_above_log"} 0`) })
	p.do("HINCRBY", p.stockKey(), "available", 7)
	testenv.Eventually(t, within, func() error { return shows(t, client, `seckill_reconcile_findings{kind="gate_above_log"} 1`) })
	testenv.Eventually(t, within, func() error {
		answer, err := client.Buy(p.sale, "late", "key-late")
		if err == nil && (answer.Status != http.StatusServiceUnavailable || answer.Text("code") != "paused") {
			err = errStatus(answer)
		}
		return err
	})
	path := "/api/v1/admin/sales/" + p.sale + "/reconciliation"
	answer, err := client.Call(http.MethodPost, path, "boss", "admin", nil)
	if err != nil || answer.Status != http.StatusOK || !strings.Contains(answer.Raw, `"kind":"gate_above_log"`) {
		t.Errorf("the report: got %d %s, %v", answer.Status, answer.Raw, err)
	}
	answer, err = client.Call(http.MethodPost, path, "boss", "admin", map[string]any{"repair": true})
	if err != nil || answer.Status != http.StatusOK || !strings.Contains(answer.Raw, `"drift":0`) || !strings.Contains(answer.Raw, `"done":true`) {
		t.Errorf("the repair: got %d %s, %v", answer.Status, answer.Raw, err)
	}
	testenv.Eventually(t, within, func() error {
		answer, err := client.Buy(p.sale, "later", "key-later")
		if err == nil && answer.Status != http.StatusAccepted {
			err = errStatus(answer)
		}
		return err
	})
	p.wantEvents("sale.paused", "drift", 1)
	p.wantEvents("sale.resumed", "drift", 1)
	p.wantEvents("stock.adjusted", `"by":"boss"`, 1)
}

// wantEvents fails the test unless so many events of a type hold a text.
func (p *plant) wantEvents(kind, text string, want int) {
	p.t.Helper()
	n := 0
	for _, r := range readAllRecords(p.t, p.node) {
		if r.Type == kind && strings.Contains(string(r.Payload), text) {
			n++
		}
	}
	if n != want {
		p.t.Errorf("%d events %s with %s, want %d", n, kind, text, want)
	}
}

func TestReconcileReportsAndWithRepairMends(t *testing.T) {
	p := newPlant(t, 4)
	env := p.rig.Settings(t)
	run := func(code int, args ...string) commands.ReconcileReport {
		t.Helper()
		got := Run(t, env, append([]string{"reconcile", "--json"}, args...)...)
		var report commands.ReconcileReport
		if err := json.Unmarshal([]byte(got.Stdout), &report); got.Code != code || err != nil {
			t.Fatalf("reconcile %v: got exit %d, %v, %s\n%s", args, got.Code, err, got.Stdout, got.Stderr)
		}
		return report
	}
	run(0)
	p.do("HINCRBY", p.stockKey(), "available", 2)
	p.sql(`delete from claims where order_id = $1`, p.orders["b-1"])
	before := p.head()
	if report := run(3, "--sale", p.sale); report.Drift() != 2 || p.head() != before {
		t.Errorf("without --repair: got %+v and %d events, want two findings and none", report, p.head()-before)
	}
	report := run(0, "--sale", p.sale, "--repair", "--note", "planted")
	if report.Drift() != 0 || len(report.Sales[0].Repairs) != 2 {
		t.Errorf("with --repair: got %+v, want two repairs and nothing left", report)
	}
	p.wantEvents("stock.adjusted", `"kind":"gate_above_log","before":98,"after":96,"note":"planted","by":"operator"`, 1)
	p.wantEvents("sale.repaired", `"kind":"claims_off_log"`, 1)
	after := p.head()
	if report := run(0, "--repair"); report.Drift() != 0 || len(report.Sales[0].Repairs) != 0 || p.head() != after {
		t.Errorf("again: got %+v and %d events, want nothing", report, p.head()-after)
	}
	p.oversell()
	if report := run(3, "--repair"); kindsOf(report.Sales[0])[commands.FindingOversold] != 1 {
		t.Errorf("what a person must decide: got %+v, want it left", report)
	}
	if got := Run(t, env, "reconcile"); got.Code != 3 || !strings.Contains(got.Stdout, "oversold") || !strings.Contains(got.Stdout, "docs/runbook.md") {
		t.Errorf("for people: got exit %d\n%s", got.Code, got.Stdout)
	}
}
