package api

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"seckill/commands"
	"seckill/domain"
)

type fakeCleanup func(sale string, actor commands.Actor) (commands.CleanReport, error)

func (f fakeCleanup) Clean(_ context.Context, sale string, actor commands.Actor) (commands.CleanReport, error) {
	if f == nil {
		return commands.CleanReport{Items: []domain.CleanItem{}}, nil
	}
	return f(sale, actor)
}

func TestACleanUpAnswersWithItsChecklist(t *testing.T) {
	var by commands.Actor
	h := newHouse(t, func(d *Deps, _ *Options) {
		d.Cleanup = fakeCleanup(func(sale string, actor commands.Actor) (commands.CleanReport, error) {
			by = actor
			return commands.CleanReport{Items: []domain.CleanItem{{Name: "gate", Done: true, Detail: "keys taken away: 2"}, {Name: "journal", Detail: "not finished"}}}, nil
		})
	})
	got := h.admin(http.MethodPost, "/api/v1/admin/sales/"+testSale+"/cleanup", `{"note":"season over"}`)
	want := `{"items":[{"name":"gate","done":true,"detail":"keys taken away: 2"},{"name":"journal","done":false,"detail":"not finished"}]}`
	if got.Status != http.StatusOK || strings.TrimSpace(got.Body) != want {
		t.Errorf("got %d %s, want %s", got.Status, got.Body, want)
	}
	if by.By != "boss" || by.Note != "season over" {
		t.Errorf("got actor %+v, want boss and the note", by)
	}
	h.ask(http.MethodPost, "/api/v1/admin/sales/"+testSale+"/cleanup", "").problem(http.StatusForbidden, domain.CodeForbidden)
}

func TestACleanUpThatWouldLoseSomethingIsAConflictThatSaysWhat(t *testing.T) {
	for _, code := range []domain.Code{domain.CodeNotEnded, domain.CodeNotReconciled} {
		h := newHouse(t, func(d *Deps, _ *Options) {
			d.Cleanup = fakeCleanup(func(string, commands.Actor) (commands.CleanReport, error) {
				return commands.CleanReport{}, &domain.Problem{Code: code, Note: "Findings: 3."}
			})
		})
		doc := h.admin(http.MethodPost, "/api/v1/admin/sales/"+testSale+"/cleanup", "").problem(http.StatusConflict, code)
		if detail, _ := doc["detail"].(string); !strings.Contains(detail, "Findings: 3.") {
			t.Errorf("%s: got detail %q, want what was found", code, detail)
		}
	}
}
