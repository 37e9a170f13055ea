package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"seckill/commands"
	"seckill/domain"
	"seckill/infra/load"
)

// settleWithin bounds the wait for recording and projecting.
const settleWithin = 2 * time.Minute

// settle waits until every acceptance is recorded and projected, asks for every
// order as its buyer would, and compares gate, log and views.
func (s *stage) settle(ctx context.Context, crowd *sent) (*result, error) {
	defer crowd.watch.stop()
	waiting, cancel := context.WithTimeoutCause(ctx, settleWithin, fmt.Errorf("not everything was recorded and projected within %s", settleWithin))
	defer cancel()
	if err := s.drain(waiting, crowd); err != nil {
		if cause := context.Cause(waiting); cause != nil && ctx.Err() == nil {
			err = errors.Join(cause, err)
		}
		return nil, err
	}
	crowd.watch.stop()
	followed, err := s.follow(ctx, crowd)
	if err != nil {
		return nil, err
	}
	report, err := s.app.reconciler.Reconcile(ctx, s.sale)
	if err != nil {
		return nil, err
	}
	snapshot, err := s.app.views.Snapshot(ctx, s.sale)
	if err != nil {
		return nil, err
	}
	return s.judge(crowd, followed, report.Sales[0], snapshot), nil
}

// drain waits until the cursor of every lane of the sale has reached its gate's
// journal, and every projection the head of the log.
func (s *stage) drain(ctx context.Context, crowd *sent) error {
	sale, err := s.app.sales.Fold(ctx, s.sale)
	if err != nil {
		return err
	}
	for _, place := range commands.Places(s.app.env.Store, sale.Sale) {
		for {
			done, err := s.app.caughtUp(ctx, place)
			if err != nil {
				return err
			}
			if done {
				break
			}
			pause(ctx, watchEvery)
		}
	}
	head, err := s.app.sink.Head(ctx)
	if err != nil {
		return err
	}
	if err := s.app.progress.WaitFor(ctx, head.Number); err != nil {
		return fmt.Errorf("wait for the projections: %w", err)
	}
	for crowd.watch.decided() < int64(crowd.OK) && ctx.Err() == nil {
		pause(ctx, watchEvery)
	}
	return ctx.Err()
}

// caughtUp tells whether the log has everything that a lane's journal holds.
func (a *app) caughtUp(ctx context.Context, place domain.Place) (bool, error) {
	state, err := a.gate.Lane(ctx, place.Lane())
	if err != nil {
		return false, fmt.Errorf("look at lane %d: %w", place.Lane(), err)
	}
	cursors, err := a.sink.Cursors(ctx, []int{place.Lane()})
	if err != nil {
		return false, fmt.Errorf("read the cursor of lane %d: %w", place.Lane(), err)
	}
	return state.Selling() && cursors[0].Epoch == state.Epoch && cursors[0].N >= state.N, nil
}

// follow asks for every accepted order over HTTP, each with its buyer's token.
func (s *stage) follow(ctx context.Context, crowd *sent) (*load.Measurement, error) {
	f := &load.Followers{Host: s.address, Pause: 200 * time.Millisecond, Until: time.Now().Add(20 * time.Second)}
	for buyer, order := range crowd.crowd.Orders() {
		f.Orders, f.Tokens = append(f.Orders, order), append(f.Tokens, crowd.tokens[buyer])
	}
	run, err := load.Start(ctx, load.Attack{
		Addr: s.address, Arrivals: make([]time.Duration, len(f.Orders)), Build: f.Build, Judge: f.Judge, Conns: 64,
	}, time.Now())
	if err != nil {
		return nil, err
	}
	m := run.Wait()
	return m, ctx.Err()
}

// pause waits for d or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}
