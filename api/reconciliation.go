package api

import (
	"context"
	"errors"

	"seckill/commands"
	"seckill/domain"
)

// Reconciler compares the books of sales, and mends what it finds.
type Reconciler interface {
	Reconcile(ctx context.Context, sale string) (commands.ReconcileReport, error)
	Repair(ctx context.Context, sale string, actor commands.Actor) (commands.ReconcileReport, error)
}

const pathReconcile = "/api/v1/admin/sales/{sale}/reconciliation"

const reconcileDescription = "Compares gate, journal, guards, claims and views of a sale with the log, exactly, whatever is in flight. " +
	"With `repair` it mends what it finds by the rule: keep what the buyer was told, and rather leave a unit unsold than sell one twice; " +
	"`findings` are then those that are left and `repairs` what was done. 503 `not_ready` while the gate recovers: nothing is wrong for all that is known."

// ReconcileBody asks for a reconciliation.
type ReconcileBody struct {
	Repair bool   `json:"repair,omitempty" doc:"Mend what is found"`
	Note   string `json:"note,omitempty" maxLength:"500" doc:"Why, for the log"`
}

type reconcileRequest struct {
	Sale string         `path:"sale"`
	Body *ReconcileBody `required:"false"`
}

type reconcileAnswer struct {
	Body commands.ReconcileReport
}

func (s *Server) reconcile(ctx context.Context, in *reconcileRequest) (*reconcileAnswer, error) {
	var (
		report commands.ReconcileReport
		err    error
	)
	if in.Body != nil && in.Body.Repair {
		report, err = s.Reconciler.Repair(ctx, in.Sale, actorOf(ctx, in.Body.Note))
		s.logAction(ctx, "repair-sale", in.Sale)
	} else {
		report, err = s.Reconciler.Reconcile(ctx, in.Sale)
	}
	if errors.Is(err, commands.ErrNoCut) {
		return nil, &domain.Problem{Code: domain.CodeNotReady}
	}
	if err != nil {
		return nil, err
	}
	return &reconcileAnswer{Body: report}, nil
}
