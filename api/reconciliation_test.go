package api

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"seckill/commands"
	"seckill/domain"
)

type fakeReconciler func(sale string, repair bool, actor commands.Actor) (commands.ReconcileReport, error)

func (f fakeReconciler) Reconcile(_ context.Context, sale string) (commands.ReconcileReport, error) {
	return f(sale, false, commands.Actor{})
}

func (f fakeReconciler) Repair(_ context.Context, sale string, actor commands.Actor) (commands.ReconcileReport, error) {
	return f(sale, true, actor)
}

func TestAReconciliationAnswersAsTheCommandDoes(t *testing.T) {
	var asked []string
	h := newHouse(t, func(d *Deps, _ *Options) {
		d.Reconciler = fakeReconciler(func(sale string, repair bool, actor commands.Actor) (commands.ReconcileReport, error) {
			report := commands.SaleReport{Sale: sale, Items: []commands.ItemReport{}, Findings: []commands.Finding{{Kind: "oversold", Detail: "d", Cause: "c", Repair: "r"}}, Drift: 1}
			asked = append(asked, "report")
			if repair {
				asked[len(asked)-1] = "repair by " + actor.By + ": " + actor.Note
				report.Repairs = []commands.Repair{{Kind: "gate_above_log", SKU: "tea", Done: true, Detail: "built again"}}
			}
			return commands.ReconcileReport{Sales: []commands.SaleReport{report}}, nil
		})
	})
	path := "/api/v1/admin/sales/" + testSale + "/reconciliation"
	const account = `"released":0,"available":0,"reserved":0,"returned":0,"in_flight":0,"drift":1,"findings":[{"kind":"oversold","detail":"d","cause":"c","repair":"r"}]`
	for _, body := range []string{"", `{}`, `{"repair":false}`} {
		got := h.admin(http.MethodPost, path, body)
		if want := `{"sales":[{"sale":"` + testSale + `","items":[],` + account + `}]}`; got.Status != http.StatusOK || strings.TrimSpace(got.Body) != want {
			t.Errorf("body %q: got %d %s, want %s", body, got.Status, got.Body, want)
		}
	}
	got := h.admin(http.MethodPost, path, `{"repair":true,"note":"after the crash"}`)
	if want := `"repairs":[{"kind":"gate_above_log","sku":"tea","done":true,"detail":"built again"}]`; got.Status != http.StatusOK || !strings.Contains(got.Body, want) {
		t.Errorf("a repair: got %d %s, want %s", got.Status, got.Body, want)
	}
	if got := strings.Join(asked, ", "); got != "report, report, report, repair by boss: after the crash" {
		t.Errorf("asked: %s", got)
	}
	h.ask(http.MethodPost, path, `{"repair":true}`).problem(http.StatusForbidden, domain.CodeForbidden)
	h.admin(http.MethodPost, path, `{"repair":1}`).problem(http.StatusUnprocessableEntity, domain.CodeInvalidRequest)
}

func TestAReconciliationOfAGateThatIsNotOpenIsToBeAskedAgain(t *testing.T) {
	h := newHouse(t, func(d *Deps, _ *Options) {
		d.Reconciler = fakeReconciler(func(string, bool, commands.Actor) (commands.ReconcileReport, error) {
			return commands.ReconcileReport{}, commands.ErrNoCut
		})
	})
	h.admin(http.MethodPost, "/api/v1/admin/sales/"+testSale+"/reconciliation", "").problem(http.StatusServiceUnavailable, domain.CodeNotReady)
}
