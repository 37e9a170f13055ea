package commands

import (
	"context"
	"errors"
	"fmt"

	"seckill/domain"
	"seckill/eventstore"
)

// ErrUnresolved: the gate cannot say now what became of an order (it is
// recovering or away). The order stays queued.
var ErrUnresolved = errors.New("the gate cannot say now what became of this order")

// errEpochMoved: the lane was recovered between the gate's answer and the log's.
var errEpochMoved = errors.New("the lane has a new epoch")

// Lost declares orders lost: by knowledge, never by time. First the gate must
// not know the order and keep a tombstone, so that a late script is refused;
// then the log records order.rejected, reason lost, if the order is undecided
// and the lane's epoch is still that of the tombstone.
type Lost struct {
	Env  *Env
	Gate Gate
	Log  eventstore.Appender
}

// declareTries bounds how often a moving epoch is followed.
const declareTries = 5

// Declare finds out what became of an order of buyer. A nil error means that the
// order is accepted in the gate, or decided in the log. ErrUnresolved means that
// the gate cannot say now.
func (l *Lost) Declare(ctx context.Context, ref domain.OrderRef, buyer string) error {
	for range declareTries {
		res, err := l.Gate.Resolve(ctx, ref, buyer)
		if err != nil {
			return fmt.Errorf("resolve order %s: %w", ref.ID, err)
		}
		switch res.State {
		case OrderUnresolved:
			return ErrUnresolved
		case OrderTombstone:
		default:
			return nil
		}
		l.Env.step("lost.after-tombstone")
		err = l.record(ctx, ref, buyer, res.Epoch)
		if !errors.Is(err, errEpochMoved) {
			return err
		}
	}
	return ErrUnresolved
}

// saleOver tells from where a sale's stream stands that nothing more of it can be
// recorded: it was cleaned up, or the log does not have it.
func saleOver(s eventstore.StreamState) bool { return s.Version == 0 || s.Type == cleanedType() }

// DeclareSaleLost declares an order of a sale that was cleaned up, or that the log
// does not have (it was put back to an older state): nothing of it can ever be
// recorded, whatever the gate holds. False where the sale lives.
func (l *Lost) DeclareSaleLost(ctx context.Context, ref domain.OrderRef, buyer string) (gone bool, err error) {
	stream, sale := domain.OrderStream(ref.ID), domain.SaleStream(ref.Place.Sale)
	ev, err := l.lost(ref, buyer)
	if err != nil {
		return false, err
	}
	_, err = l.Log.Submit(ctx, eventstore.Work{
		Needs: eventstore.Needs{Streams: []string{stream, sale}},
		Decide: func(look eventstore.Look) (*eventstore.Group, error) {
			gone = saleOver(look.Stream(sale))
			if !gone || look.Stream(stream).Version > 0 {
				return nil, nil
			}
			return &eventstore.Group{Appends: []eventstore.Append{{Stream: stream, Events: []eventstore.NewEvent{ev}}}}, nil
		},
	})
	if err != nil {
		return false, fmt.Errorf("record order %s as lost with its sale: %w", ref.ID, err)
	}
	return gone, nil
}

func (l *Lost) lost(ref domain.OrderRef, buyer string) (eventstore.NewEvent, error) {
	rejected := &domain.OrderRejected{
		OrderID: ref.ID, SaleID: ref.Place.Sale, BuyerID: buyer, Bucket: ref.Place.Bucket, Reason: domain.RejectedLost,
	}
	return l.Env.newEvent(rejected, ref.Place.Sale, ref.ID, Meta{By: "resolve"})
}

func (l *Lost) record(ctx context.Context, ref domain.OrderRef, buyer string, epoch int64) error {
	stream := domain.OrderStream(ref.ID)
	ev, err := l.lost(ref, buyer)
	if err != nil {
		return err
	}
	work := eventstore.Work{
		Needs: eventstore.Needs{Streams: []string{stream}, Lanes: []int{ref.Lane}},
		Decide: func(look eventstore.Look) (*eventstore.Group, error) {
			if look.Stream(stream).Version > 0 {
				return nil, nil
			}
			if look.Cursor(ref.Lane).Epoch != epoch {
				return nil, errEpochMoved
			}
			return &eventstore.Group{Appends: []eventstore.Append{{Stream: stream, Events: []eventstore.NewEvent{ev}}}}, nil
		},
	}
	if _, err := l.Log.Submit(ctx, work); err != nil {
		return fmt.Errorf("record order %s as lost: %w", ref.ID, err)
	}
	l.Env.Log.Info("order lost", "order_id", ref.ID, "buyer_id", buyer, "sale_id", ref.Place.Sale)
	return nil
}
