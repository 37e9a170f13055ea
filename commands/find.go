package commands

import (
	"context"
	"errors"
	"fmt"
	"time"

	"seckill/domain"
	"seckill/eventstore"
)

// OrderAnswer is an order as its buyer is told. PlacedAt is when the log
// decided it; zero while queued. Version is 0 while queued.
type OrderAnswer struct {
	domain.Order
	PlacedAt time.Time
	TraceID  string
	// WaitingFor says what a queued order waits for; "" for any other.
	WaitingFor domain.Waiting
}

// OrderPage is a page of a buyer's orders, newest first. Next is "" at the end.
type OrderPage struct {
	Orders []OrderAnswer
	Next   string
}

// OrderView answers from the read model. It may be behind the log.
type OrderView interface {
	Order(ctx context.Context, id string) (OrderAnswer, bool, error)
	// OrdersOfBuyer pages newest first; cursor is "" or a Next.
	OrdersOfBuyer(ctx context.Context, sale, buyer string, limit int, cursor string) (OrderPage, error)
}

// settleTime is for how long a lane must have been open before a poll declares
// an order lost: nodes that acknowledged it offer it again in the meantime. It
// only delays; what is lost is decided by the gate's tombstone and the log.
const settleTime = 5 * time.Second

// Finder finds an order of a buyer wherever it is: in the read model, in the
// log, or as yet only in the gate.
type Finder struct {
	Env     *Env
	View    OrderView
	Changes OrderChanges
	Log     SaleStore
	Gate    Gate
	Journal Journal
	Lost    *Lost
	// ViewGoesBack: of the same order View may know less than it did before, as one that
	// is answered from replicas. What it told is remembered then.
	ViewGoesBack bool
	// Holds tells whether this node acknowledged an order that the log, for all it
	// knows, has not decided. It may be nil.
	Holds func(order string) bool

	told toldOrders
}

// findBudget bounds looking an order up in the read model and the log.
const findBudget = 2 * time.Second

// Find gives an order of buyer, never an older state of it than this node told
// before: where the read model is behind, the log answers. An id that we did not issue to this buyer is a
// *domain.Problem with code order_not_found. An order that only the gate knows is
// queued. While the log cannot be read, an order is queued if this node
// acknowledged it and saw no decision; what became of others cannot be said, and
// is an error.
func (f *Finder) Find(ctx context.Context, buyer, id string) (OrderAnswer, error) {
	ref, err := domain.ParseOrderID(id)
	if err != nil || !ref.Owned(f.Env.Keys, buyer) {
		return OrderAnswer{}, &domain.Problem{Code: domain.CodeOrderNotFound}
	}
	queued := OrderAnswer{WaitingFor: domain.WaitingForRecorder, Order: domain.Order{
		ID: ref.ID, SaleID: ref.Place.Sale, BuyerID: buyer, Bucket: ref.Place.Bucket, Status: domain.OrderStatusQueued,
	}}
	look, cancel := f.lookBudget(ctx, ref.ID)
	defer cancel()
	answer, ok, err := f.decided(look, ref.ID)
	switch {
	case err == nil && ok:
		return answer, nil
	case err == nil:
		return f.fromGate(ctx, ref, queued)
	case f.Holds != nil && f.Holds(ref.ID):
		f.Env.Log.Warn("order told as queued without the log", "order_id", ref.ID, "buyer_id", buyer, "error", err)
		return f.asAccepted(ctx, ref, queued.waitingFor(domain.WaitingForLog)), nil
	}
	return OrderAnswer{}, fmt.Errorf("find order %s: %w", ref.ID, err)
}

func (a OrderAnswer) waitingFor(w domain.Waiting) OrderAnswer {
	a.WaitingFor = w
	return a
}

// decided gives an order that the log has decided: as the read model knows it, or
// where that is behind, as the log does.
func (f *Finder) decided(ctx context.Context, id string) (OrderAnswer, bool, error) {
	if answer, ok, err := f.View.Order(ctx, id); err == nil && ok && !f.told.beyond(answer) {
		if f.ViewGoesBack {
			f.told.tell(answer)
		}
		return answer, true, nil
	}
	return f.fromLog(ctx, id)
}

// fromLog folds the order's own stream.
func (f *Finder) fromLog(ctx context.Context, id string) (OrderAnswer, bool, error) {
	var answer OrderAnswer
	err := eachRecord(ctx, f.Log, domain.OrderStream(id), 0, func(r *eventstore.Record) error {
		ev, err := decode(r)
		if err != nil {
			return err
		}
		answer.Order = answer.FoldOrder(ev)
		if r.Version == 1 {
			answer.PlacedAt = r.RecordedAt
			answer.TraceID = traceOf(r)
		}
		return nil
	})
	if err == nil && answer.Version > 0 {
		f.told.tell(answer)
	}
	return answer, answer.Version > 0, err
}

// fromGate answers for an order the log has not decided. Where the gate is well
// and has never seen it, it is declared lost, and the log answers.
func (f *Finder) fromGate(ctx context.Context, ref domain.OrderRef, queued OrderAnswer) (OrderAnswer, error) {
	known, err := f.Gate.Order(ctx, ref)
	if err != nil {
		return queued.waitingFor(domain.WaitingForGate), nil
	}
	away := domain.WaitingForGate
	if known.Direct {
		away = domain.WaitingForLog
	}
	switch known.State {
	case OrderAccepted:
		if known.Direct { // a moment ago
			return queued, nil
		}
		if known.OpenFor == 0 { // its lane is closed: a recovery records it
			queued.WaitingFor = domain.WaitingForGate
		}
		return f.withLines(ctx, ref, known, queued), nil
	case OrderUnresolved:
		return f.withoutSale(ctx, ref, queued.waitingFor(away)), nil
	case OrderUnknown:
		if known.OpenFor < settleTime {
			return queued.waitingFor(away), nil
		}
		switch waits, err := f.heldUp(ctx, ref.Place.Sale); {
		case err != nil:
			f.Env.Log.Warn("order not resolved", "order_id", ref.ID, "error", err)
			return queued.waitingFor(domain.WaitingForLog), nil
		case waits:
			return queued.waitingFor(domain.WaitingForSale), nil
		case f.Holds != nil && f.Holds(ref.ID): // who holds it offers it again
			return queued.waitingFor(away), nil
		}
	}
	err = f.Lost.Declare(ctx, ref, queued.BuyerID)
	if answer, ok, err := f.fromLog(ctx, ref.ID); err == nil && ok {
		return answer, nil
	}
	return queued.waitingFor(f.whatIsAway(ref, err)), nil
}

// acceptedBudget bounds asking gate and journal what a queued order is of, while the
// log is away.
const acceptedBudget = 500 * time.Millisecond

// lookBudget bounds looking an order up in read model and log. Of one that this node
// acknowledged there is something to tell without them, and that needs its time too: of
// what the caller has no more than half, else a short budget would leave none to look.
func (f *Finder) lookBudget(ctx context.Context, order string) (context.Context, context.CancelFunc) {
	now := time.Now()
	end := now.Add(findBudget)
	if at, ok := ctx.Deadline(); ok && f.Holds != nil && f.Holds(order) {
		if at = at.Add(-min(acceptedBudget, at.Sub(now)/2)); at.Before(end) {
			end = at
		}
	}
	return context.WithDeadline(ctx, end)
}

// asAccepted gives a queued order with what was bought, where gate and journal tell
// it in time; else as it is.
func (f *Finder) asAccepted(ctx context.Context, ref domain.OrderRef, queued OrderAnswer) OrderAnswer {
	look, cancel := context.WithTimeout(ctx, acceptedBudget)
	defer cancel()
	known, err := f.Gate.Order(look, ref)
	if err != nil || known.State != OrderAccepted {
		return queued
	}
	return f.withLines(look, ref, known, queued)
}

// whatIsAway tells from the error of Lost.Declare what an order waits for.
func (f *Finder) whatIsAway(ref domain.OrderRef, err error) domain.Waiting {
	switch {
	case err == nil:
		return domain.WaitingForRecorder // the gate accepted it after all
	case errors.Is(err, ErrUnresolved):
		return domain.WaitingForGate
	}
	f.Env.Log.Warn("order not resolved", "order_id", ref.ID, "error", err)
	var gate *GateError
	if errors.As(err, &gate) {
		return domain.WaitingForGate
	}
	return domain.WaitingForLog
}

// withoutSale answers for an order that the gate cannot say anything of: it stays
// queued, unless its very sale was cleaned up, or lost by the log. Nobody opens a
// lane for that.
func (f *Finder) withoutSale(ctx context.Context, ref domain.OrderRef, queued OrderAnswer) OrderAnswer {
	states, err := f.Log.States(ctx, []string{domain.SaleStream(ref.Place.Sale)})
	if err != nil || !saleOver(states[0]) {
		return queued
	}
	if gone, err := f.Lost.DeclareSaleLost(ctx, ref, queued.BuyerID); err != nil || !gone {
		return queued
	}
	if answer, ok, err := f.fromLog(ctx, ref.ID); err == nil && ok {
		return answer
	}
	return queued
}

// withLines reads what was bought from the journal, where it still stands.
func (f *Finder) withLines(ctx context.Context, ref domain.OrderRef, known GateOrder, queued OrderAnswer) OrderAnswer {
	entry, ok, err := f.Journal.Entry(ctx, ref.Lane, domain.EntryID{Epoch: known.Entry.Epoch, N: known.Entry.N})
	if err != nil || !ok {
		return queued
	}
	body, err := DecodeEntry(entry.Body)
	if err != nil || known.Entry.I < 1 || known.Entry.I > len(body.Purchases) {
		return queued
	}
	p, err := decodePurchase(body.Purchases[known.Entry.I-1])
	if err != nil || p.Order != ref.ID {
		return queued
	}
	terms := body.Terms[p.Sale]
	lines, amount, err := priced(p.Lines, terms)
	if err != nil {
		return queued
	}
	queued.Lines, queued.Amount, queued.TraceID = lines, amount, p.TraceID
	queued.AcceptedAt, queued.Entry = body.Time(), known.Entry.String()
	return queued
}

// List pages through a buyer's orders in a sale, newest first. Of an order that was told
// here as it became later, the log says how it is.
func (f *Finder) List(ctx context.Context, sale, buyer string, limit int, cursor string) (OrderPage, error) {
	page, err := f.View.OrdersOfBuyer(ctx, sale, buyer, limit, cursor)
	if err != nil {
		return OrderPage{}, fmt.Errorf("list orders of a buyer in sale %s: %w", sale, err)
	}
	for i, answer := range page.Orders {
		if !f.told.beyond(answer) {
			if f.ViewGoesBack {
				f.told.tell(answer)
			}
			continue
		}
		if newer, ok, err := f.fromLog(ctx, answer.ID); err == nil && ok {
			page.Orders[i] = newer
		}
	}
	return page, nil
}
