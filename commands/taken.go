package commands

import (
	"context"
	"fmt"

	"seckill/domain"
	"seckill/eventstore"
)

// taken is units that left the gate by an entry which is no purchase's, on their way
// from the journal into the log: a withdrawal or a move.
type taken interface {
	// streams are the stock streams that it concerns, that of the taken units first.
	streams() []string
	about() (sale string, entry domain.EntryID)
	// decide gives what the log makes of it. Its events have ids that follow from the
	// entry's contents, so that reading the entry again stores nothing again.
	decide(env *Env, look eventstore.Look) (*eventstore.Group, error)
	// again is decide where what decide gave stands in the log in part: it was decided
	// otherwise before, and that is found.
	again(env *Env, look eventstore.Look) (*eventstore.Group, error)
}

// submitTaken records what left the gate, if check still holds under the lock, or, in
// the stream of the units, stock.refused where the log has fewer left than the gate
// had. A sale that was cleaned up, or that the log has lost, takes none.
func submitTaken(ctx context.Context, env *Env, log Log, t taken, p pageWork) ([]eventstore.Record, error) {
	_, entry := t.about()
	receipt, err := log.Submit(ctx, takenWork(env, t, p, t.decide))
	if err == nil && receipt.Outcome == eventstore.Conflict {
		receipt, err = log.Submit(ctx, takenWork(env, t, p, t.again))
	}
	if err != nil {
		return nil, fmt.Errorf("record entry %s of lane %d: %w", entry, p.lane, err)
	}
	if receipt.Outcome == eventstore.Conflict {
		return nil, fmt.Errorf("record entry %s of lane %d: %w", entry, p.lane, errCursorMoved)
	}
	return receipt.Records, nil
}

func takenWork(env *Env, t taken, p pageWork, decide func(*Env, eventstore.Look) (*eventstore.Group, error)) eventstore.Work {
	sale, _ := t.about()
	streams, own := t.streams(), domain.SaleStream(sale)
	return eventstore.Work{
		Needs: eventstore.Needs{Streams: append([]string{own}, streams...), Guards: streams, Lanes: []int{p.lane}},
		Decide: func(look eventstore.Look) (*eventstore.Group, error) {
			if err := p.check(look); err != nil {
				return nil, err
			}
			if look.Stream(streams[0]).Version == 0 || look.Stream(own).Type == cleanedType() {
				return nil, nil
			}
			return decide(env, look)
		},
	}
}
