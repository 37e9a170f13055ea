package commands

import (
	"context"

	"seckill/domain"
)

// noteUnchecked follows the sentence that the books do not agree.
const noteUnchecked = "Preheat the sale first: no preheat of these terms has found everything as the log says."

// Confirm lets a sale open at its time that does not open by itself: first in the
// log, then in the gate. It follows a clean preheat of the very terms that stand;
// otherwise it is a *domain.Problem with code not_reconciled. A sale that is over is
// sale_ended; one that may open already stays as it is.
func (o *Operator) Confirm(ctx context.Context, id string, actor Actor) (FoldedSale, error) {
	var refused error
	sale, err := o.change(ctx, id, func(s domain.Sale) domain.Event {
		refused = nil
		switch {
		case s.Over(o.Env.Now()):
			refused = &domain.Problem{Code: domain.CodeSaleEnded}
		case !s.MayOpen() && !s.Checked:
			refused = &domain.Problem{Code: domain.CodeNotReconciled, Note: noteUnchecked}
		default:
			return s.Confirm(actor.Note, actor.By)
		}
		return nil
	}, actor)
	if err == nil {
		err = refused
	}
	if err != nil {
		return FoldedSale{}, err
	}
	o.apply(ctx, sale)
	return sale, nil
}
