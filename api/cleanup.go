package api

import (
	"context"

	"seckill/commands"
)

// Cleanup ends the life of sales that are over.
type Cleanup interface {
	Clean(ctx context.Context, sale string, actor commands.Actor) (commands.CleanReport, error)
}

const pathCleanup = "/api/v1/admin/sales/{sale}/cleanup"

const cleanupDescription = "Goes through the clean-up checklist of a sale that is over and answers with what each item found. " +
	"Nothing is cleaned up (409) while the sale has not ended or an order of it waits for its payment (`not_ended`), or while a reconciliation finds anything (`not_reconciled`). " +
	"Afterwards the sale is `cleaned`: the gate holds nothing of it, purchases are 410, orders are still answered. " +
	"An item with `done: false` could not be finished; calling it again does the rest and harms nothing."

type cleanupAnswer struct {
	Body CleanupView
}

// CleanupView is the checklist of a clean-up.
type CleanupView struct {
	Items []CleanupItemView `json:"items" nullable:"false"`
}

// CleanupItemView is one item of it: what was found, or what is left to do.
type CleanupItemView struct {
	Name   string `json:"name" example:"journal"`
	Done   bool   `json:"done"`
	Detail string `json:"detail"`
}

func (s *Server) cleanUp(ctx context.Context, in *steerRequest) (*cleanupAnswer, error) {
	note := ""
	if in.Body != nil {
		note = in.Body.Note
	}
	report, err := s.Cleanup.Clean(ctx, in.Sale, actorOf(ctx, note))
	if err != nil {
		return nil, err
	}
	s.logAction(ctx, "clean-up-sale", in.Sale)
	view := CleanupView{Items: make([]CleanupItemView, len(report.Items))}
	for i, item := range report.Items {
		view.Items[i] = CleanupItemView(item)
	}
	return &cleanupAnswer{Body: view}, nil
}
