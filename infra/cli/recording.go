package cli

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"seckill/domain"
	"seckill/infra/pg"
)

// laneGroups is into how many groups the lanes are divided, which is also how many
// recorders have something to do. Lane n is of group n modulo laneGroups. It is the
// same in every process of an installation.
const laneGroups = 8

const (
	// recorderBackoff is the pause after a share of the recording was lost.
	recorderBackoff = 200 * time.Millisecond
	// balanceEvery is how often a recorder looks who else records.
	balanceEvery = 250 * time.Millisecond
)

// recording records the lanes of the groups that this process holds: a fair share
// of them among the recorders that live. Two recorders of one lane, which happens
// for moments, would change nothing: each page compares the lane's cursor.
type recording struct {
	app *app
	// joined is whether this process is known to the other recorders.
	joined atomic.Bool
}

// run records until ctx ends.
func (r *recording) run(ctx context.Context) error {
	shares := pg.NewShares(r.app.pool, r.app.settings.Namespace, roleRecorder, laneGroups)
	for ctx.Err() == nil {
		if err := r.share(ctx, shares); err != nil && ctx.Err() == nil {
			r.app.log.Warn("not recording; tried again", "error", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(recorderBackoff):
		}
	}
	return nil
}

// share joins the recorders and records a share of the lanes until ctx ends or the
// share is lost. What it gives up, and all of it at the end, it first stops recording.
func (r *recording) share(ctx context.Context, shares *pg.Shares) error {
	share, err := shares.Join(ctx)
	if err != nil {
		return err
	}
	defer share.Leave(ctx)
	r.joined.Store(true)
	defer r.joined.Store(false)
	now := r.start(ctx, nil)
	defer func() {
		now.stop()
		r.app.metrics.RecordedLanes(0)
	}()
	for ctx.Err() == nil {
		before := len(share.Held())
		surplus, err := share.Balance(ctx)
		if err != nil {
			return err
		}
		if len(surplus) > 0 || len(share.Held()) != before {
			now.stop()
			if err := share.Give(ctx, surplus); err != nil {
				return err
			}
			now = r.start(ctx, share.Held())
		}
		select {
		case <-ctx.Done():
		case <-time.After(balanceEvery):
		}
	}
	return nil
}

// recordingNow is a recorder that runs.
type recordingNow struct {
	cancel context.CancelFunc
	done   chan struct{}
}

// start runs a recorder of the lanes of some groups.
func (r *recording) start(ctx context.Context, groups []int) *recordingNow {
	ctx, cancel := context.WithCancel(ctx)
	now := &recordingNow{cancel: cancel, done: make(chan struct{})}
	lanes := lanesOfGroups(groups)
	r.app.metrics.RecordedLanes(len(lanes))
	go func() {
		defer close(now.done)
		if len(lanes) == 0 {
			return
		}
		if err := r.app.newRecorder(lanes).Run(ctx); err != nil {
			r.app.log.Error("a recorder ended", "error", err)
		}
	}()
	return now
}

// stop waits until the page at hand is recorded. It may be called again.
func (n *recordingNow) stop() {
	n.cancel()
	<-n.done
}

func lanesOfGroups(groups []int) []int {
	var lanes []int
	for _, group := range groups {
		for lane := group; lane < domain.Lanes; lane += laneGroups {
			lanes = append(lanes, lane)
		}
	}
	return lanes
}

// ready tells why this process would not record what others let go of. Where it has not
// joined because a process of an older version records everything alone, it stands by:
// a rollout that waits for it goes on to stop that one.
func (r *recording) ready(ctx context.Context) error {
	if r.joined.Load() {
		return nil
	}
	alone, err := pg.NewLeader(r.app.pool, r.app.settings.Namespace, roleRecorder).Held(ctx)
	if err == nil && !alone {
		err = errors.New("this process has not joined the recorders")
	}
	return err
}
