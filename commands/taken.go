package commands

import (
	"context"
	"encoding/json"
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
	// entry's contents, so that reading the entry again stores none of them again.
	decide(env *Env, look eventstore.Look) (*eventstore.Group, error)
	// again is decide where what decide gave stands in the log in part: it was decided
	// otherwise before, and that is found.
	again(env *Env, look eventstore.Look) (*eventstore.Group, error)
}

// carried is what an entry carries of units that it took, read from its JSON.
type carried interface {
	taken
	// check refuses what no gate of this program would have taken.
	check() error
}

// openTaken reads what an entry carries of one kind. It was written by a gate of this
// program: what cannot be read stops the lane.
func openTaken(kind string, raws []json.RawMessage, id domain.EntryID, open func(domain.EntryID) carried) ([]taken, error) {
	all := make([]taken, len(raws))
	for i, raw := range raws {
		id.I = i + 1
		one := open(id)
		err := json.Unmarshal(raw, one)
		if err == nil {
			err = one.check()
		}
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w: %w", kind, id, errFrame, err)
		}
		all[i] = one
	}
	return all, nil
}

// submitTaken records what left the gate, if check still holds under the lock, or, in
// the stream of the units, stock.refused where the log has fewer left than the gate
// had. A sale that was cleaned up, or that the log has lost, takes none. The cursor goes
// to next in the same transaction, whatever the log made of it or had made before.
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
				return p.passing(nil), nil
			}
			group, err := decide(env, look)
			if err != nil {
				return nil, err
			}
			return p.passing(group), nil
		},
	}
}
