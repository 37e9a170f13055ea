package commands

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"seckill/domain"
	"seckill/eventstore"
)

// OrdersLog is what Orders reads and writes.
type OrdersLog interface {
	eventstore.Appender
	eventstore.Reader
	eventstore.Directory
}

// Orders decides everything that happens to an order after it was placed: its
// cancellation, its payment, its end for want of one. Whichever of them the log
// holds first is the one that happened, and units come back once. A caller that
// hangs up changes nothing once a change has begun.
type Orders struct {
	Env    *Env
	Log    OrdersLog
	Follow *Follower
	// Finder says what became of an order that the log has not decided.
	Finder *Finder
}

// Payment is what a payment provider, or an operator, says about an order.
type Payment struct {
	// Provider names who says it.
	Provider string
	// EventID is the provider's id of this very message, "" without one. An id is
	// kept with what it changed, so that the message changes nothing again.
	EventID string
	// PaymentID is the provider's id of the payment; an order knows each once.
	PaymentID string
	Order     string
	Amount    domain.Money
	// Failed: the payment did not come about. Otherwise it was made.
	Failed bool
	Note   string
}

// WrongStateError says that an order's state does not allow what was asked for.
type WrongStateError struct {
	Order OrderAnswer
}

// Error says in which state the order is.
func (e *WrongStateError) Error() string {
	return fmt.Sprintf("order %s is %s: its state does not allow this", e.Order.ID, e.Order.Status)
}

// Unwrap gives the problem that a person may see.
func (e *WrongStateError) Unwrap() error { return &domain.Problem{Code: domain.CodeWrongState} }

// Cancel ends an order of buyer that waits for its payment; its units are on sale
// again. Of an order that is cancelled already it gives that order. Errors:
// *domain.Problem order_not_found, also for others' orders; in_progress for one
// that is accepted and not yet in the log; *WrongStateError.
func (o *Orders) Cancel(ctx context.Context, buyer, order, trace string) (OrderAnswer, error) {
	ref, err := domain.ParseOrderID(order)
	if err != nil || !ref.Owned(o.Env.Keys, buyer) {
		return OrderAnswer{}, &domain.Problem{Code: domain.CodeOrderNotFound}
	}
	c := domain.Cancellation{By: domain.EndedByBuyer, Restock: true}
	done, err := o.settle(ctx, change{ref: ref, buyer: buyer, actor: Actor{By: buyer, TraceID: trace}, decide: cancelling(c)})
	return done.answer, err
}

// CancelFor ends an order on behalf of an operator, whoever's it is; see Cancel.
func (o *Orders) CancelFor(ctx context.Context, order string, c domain.Cancellation, actor Actor) (OrderAnswer, error) {
	ref, err := domain.ParseOrderID(order)
	if err != nil {
		return OrderAnswer{}, &domain.Problem{Code: domain.CodeOrderNotFound}
	}
	done, err := o.settle(ctx, change{ref: ref, actor: actor, decide: cancelling(c)})
	return done.answer, err
}

func cancelling(c domain.Cancellation) decision {
	return func(l life, _ time.Time) (domain.OrderChange, error) {
		change, ok := l.Cancel(c)
		if !ok {
			return domain.OrderChange{}, &WrongStateError{Order: l.OrderAnswer}
		}
		return change, nil
	}
}

// Settle records what became of a payment, and gives the order as it is then. A
// payment that the order knows, and a message that was heard before, change
// nothing; money that the order cannot take is noted as due back. Errors:
// *domain.Problem order_not_found; in_progress for an order that is accepted and
// not yet in the log; invalid_request for a message whose id was used for another
// order, and for one without a payment's id or a usable amount.
func (o *Orders) Settle(ctx context.Context, p Payment, actor Actor) (OrderAnswer, error) {
	ref, err := domain.ParseOrderID(p.Order)
	if err != nil {
		return OrderAnswer{}, &domain.Problem{Code: domain.CodeOrderNotFound}
	}
	if bad := p.check(); len(bad) > 0 {
		return OrderAnswer{}, domain.Invalid(bad...)
	}
	done, err := o.settle(ctx, change{ref: ref, actor: actor, id: p.eventID(), decide: p.decide})
	if errors.Is(err, errUsedElsewhere) {
		return OrderAnswer{}, domain.Invalid(domain.FieldError{Field: "event_id", Reason: "was used for another order"})
	}
	return done.answer, err
}

func (p Payment) check() []domain.FieldError {
	var bad []domain.FieldError
	if p.PaymentID == "" && !p.Failed {
		bad = append(bad, domain.FieldError{Field: "payment_id", Reason: "is required"})
	}
	if !p.Failed && (p.Amount.Minor < 0 || p.Amount.Currency == "") {
		bad = append(bad, domain.FieldError{Field: "amount", Reason: "want an amount of money"})
	}
	return bad
}

func (p Payment) decide(l life, _ time.Time) (domain.OrderChange, error) {
	switch {
	case p.Failed:
		return l.FailPayment(p.Note), nil
	case l.payments[p.PaymentID]:
		return domain.OrderChange{}, nil
	}
	return l.Pay(p.PaymentID, p.Amount), nil
}

// messages is the name space of the event ids that messages of providers get.
var messages = uuid.MustParse("6f1d6d0e-3c0b-5d1f-9a55-0c7a6f2b1e42")

// eventID is the id that the event of a message gets, the same for each delivery;
// uuid.Nil without a message id.
func (p Payment) eventID() uuid.UUID {
	if p.EventID == "" {
		return uuid.Nil
	}
	return uuid.NewSHA1(messages, fmt.Appendf(nil, "%d:%s%s", len(p.Provider), p.Provider, p.EventID))
}
