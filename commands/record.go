package commands

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"seckill/domain"
	"seckill/eventstore"
)

var errTryAgain = errors.New("a purchase is tried again")

// commit records a page and moves the lane's cursor to next in one transaction.
func (r *Recorder) commit(ctx context.Context, lane int, page []accepted, next eventstore.Cursor) error {
	from := r.lanes[lane].cursor
	if next.Epoch == from.Epoch && next.N == from.N {
		return nil
	}
	for i := range page {
		if page[i].bad != nil {
			return r.alone(ctx, lane, page, next)
		}
	}
	r.env.step("recorder.before-commit")
	err := r.submit(ctx, page, from, &next)
	if errors.Is(err, eventstore.ErrData) {
		return r.alone(ctx, lane, page, next)
	}
	if err != nil {
		return err
	}
	r.lanes[lane].cursor = next
	r.opts.Recorded(lane, len(page))
	return nil
}

// alone tries each purchase of a page by itself, the cursor staying: neighbours
// of a bad one are recorded first. Once every bad one has had its tries, the
// page is recorded with those rejected as poison.
func (r *Recorder) alone(ctx context.Context, lane int, page []accepted, next eventstore.Cursor) error {
	from, tries := r.lanes[lane].cursor, r.lanes[lane].tries
	again := false
	for i := range page {
		a := &page[i]
		if a.bad == nil {
			err := r.submit(ctx, page[i:i+1], from, nil)
			if err != nil && !errors.Is(err, eventstore.ErrData) {
				return err
			}
			if err != nil {
				a.spoil(err)
			}
		}
		if a.bad == nil {
			continue
		}
		tries[a.entry.String()]++
		if tries[a.entry.String()] < r.opts.PoisonTries {
			again = true
		}
	}
	if again {
		return errTryAgain
	}
	if err := r.submit(ctx, page, from, &next); err != nil {
		return err
	}
	for i := range page {
		if a := &page[i]; a.bad != nil {
			delete(tries, a.entry.String())
			r.env.Log.Error("purchase rejected as poison", "alarm", AlarmPoison, "lane", lane, "entry", a.entry.String(), "order_id", a.Order, "error", a.bad)
			r.opts.Alarm(Alarm{Kind: AlarmPoison, Lane: lane, Detail: a.entry.String() + ": " + a.bad.Error(), Logged: true})
		}
	}
	r.lanes[lane].cursor = next
	r.opts.Recorded(lane, len(page))
	return nil
}

// submit decides and stores a page under the log lock, if the lane's cursor is
// still at from, and hands what was stored to the gate's follower. A nil next
// leaves the cursor where it is.
func (r *Recorder) submit(ctx context.Context, page []accepted, from eventstore.Cursor, next *eventstore.Cursor) error {
	records, err := submitPage(ctx, r.env, r.log, page, pageWork{lane: from.Lane, check: stillAt(from), next: next})
	return r.stored(records, err)
}

// stillAt checks that a lane's cursor has not moved.
func stillAt(from eventstore.Cursor) func(eventstore.Look) error {
	return func(look eventstore.Look) error {
		if c := look.Cursor(from.Lane); c.Epoch != from.Epoch || c.N != from.N {
			return errCursorMoved
		}
		return nil
	}
}

// withdraw records a withdrawal or a move, and moves the lane's cursor to next in the
// same transaction: a log that goes back keeps both or neither. Where the log knows it,
// the cursor alone is moved.
func (r *Recorder) withdraw(ctx context.Context, t taken, next eventstore.Cursor) error {
	lane := next.Lane
	r.env.step("recorder.before-withdrawal")
	records, err := submitTaken(ctx, r.env, r.log, t, pageWork{lane: lane, check: stillAt(r.lanes[lane].cursor), next: &next})
	if err := r.stored(records, err); err != nil {
		return err
	}
	r.env.step("recorder.after-withdrawal")
	r.lanes[lane].cursor = next
	r.opts.Recorded(lane, 0)
	return nil
}

// stored hands what was stored to the gate's follower.
func (r *Recorder) stored(records []eventstore.Record, err error) error {
	if err != nil {
		return err
	}
	r.env.step("recorder.after-commit")
	if len(records) > 0 {
		r.applies <- records
	}
	return nil
}

// pageWork says under which condition a page is recorded, and where the cursor
// goes.
type pageWork struct {
	lane  int
	check func(eventstore.Look) error
	next  *eventstore.Cursor
	// note goes along with what is recorded, if anything is. Nil: none does.
	note *eventstore.Append
}

// passing adds to a group, nil for nothing, the cursor behind it, if that is to move: what
// is recorded and where the journal is read on from are one transaction.
func (w *pageWork) passing(group *eventstore.Group) *eventstore.Group {
	if w.next == nil {
		return group
	}
	if group == nil {
		group = &eventstore.Group{}
	}
	group.Cursors = []eventstore.Cursor{*w.next}
	return group
}

// submitPage records a page. Orders that turn out to be rejected already are
// looked up first, outside the lock, and the page is submitted again.
func submitPage(ctx context.Context, env *Env, log Log, page []accepted, w pageWork) ([]eventstore.Record, error) {
	work := eventstore.Work{Needs: pageNeeds(page, w.lane)}
	if w.note != nil {
		work.Needs.Streams = append(work.Needs.Streams, w.note.Stream)
	}
	work.Decide = func(look eventstore.Look) (*eventstore.Group, error) {
		if err := w.check(look); err != nil {
			return nil, err
		}
		d := newDraft(env, look)
		for i := range page {
			if err := d.add(&page[i]); err != nil {
				return nil, err
			}
		}
		group := w.passing(d.done())
		if len(group.Appends) == 0 && w.next == nil {
			return nil, nil
		}
		if w.note != nil {
			group.Appends = append(group.Appends, *w.note)
		}
		return group, nil
	}
	for {
		receipt, err := log.Submit(ctx, work)
		if errors.Is(err, errReadRefusals) {
			if err := readRefusals(ctx, log, page); err != nil {
				return nil, err
			}
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("record %d purchases of lane %d: %w", len(page), w.lane, err)
		}
		if receipt.Outcome == eventstore.Conflict {
			return nil, fmt.Errorf("record %d purchases of lane %d: %w", len(page), w.lane, errCursorMoved)
		}
		return receipt.Records, nil
	}
}

// readRefusals reads, for every order of the page that is rejected already,
// which of its stock streams know.
func readRefusals(ctx context.Context, log Log, page []accepted) error {
	streams := make([]string, len(page))
	for i := range page {
		streams[i] = page[i].orderStream()
	}
	states, err := log.States(ctx, streams)
	if err != nil {
		return fmt.Errorf("read what became of %d orders: %w", len(page), err)
	}
	for i := range page {
		a := &page[i]
		if states[i].Version == 0 || a.refused != nil {
			continue
		}
		records, err := log.Find(ctx, eventstore.Filter{OrderID: a.Order, Type: (&domain.StockRefused{}).EventType()}, 0, streamPage)
		if err != nil {
			return fmt.Errorf("read refusals of order %s: %w", a.Order, err)
		}
		a.refused = map[string]bool{}
		for j := range records {
			a.refused[records[j].Stream] = true
		}
	}
	return nil
}

// applyAll brings what was recorded into the gate, in order.
func (r *Recorder) applyAll(ctx context.Context) {
	for records := range r.applies {
		records = slices.Concat(records, r.waitingToApply()) // whose array others have a part of
		if err := r.follow.Push(ctx, records); err != nil {
			r.env.Log.Warn("gate follows the log later", "error", err)
		}
		r.env.step("recorder.after-apply")
	}
}

// waitingToApply gives what else was recorded meanwhile, of whatever lane: it goes into
// the gate together.
func (r *Recorder) waitingToApply() []eventstore.Record {
	var all []eventstore.Record
	for {
		select {
		case records := <-r.applies: // nil once it is closed, too
			if records == nil {
				return all
			}
			all = append(all, records...)
		default:
			return all
		}
	}
}
