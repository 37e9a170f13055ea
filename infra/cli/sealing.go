package cli

import (
	"context"
	"errors"
	"time"

	"seckill/commands"
	"seckill/eventstore/seal"
	"seckill/infra/pg"
)

// sealing is what seals the log in a process.
type sealing struct {
	sealer *commands.Sealer
}

// newSealing makes the sealer of this process, and its key if there is none.
func (a *app) newSealing(ctx context.Context) (*sealing, error) {
	key, err := seal.LoadOrMakeKey(sealFile(a.settings))
	if err != nil {
		return nil, err
	}
	folder, err := a.sealFolder(ctx)
	if err != nil {
		return nil, err
	}
	return &sealing{commands.NewSealer(a.env, a.sink, folder.store, key, folder, commands.SealerOptions{
		Every: int64(a.settings.SealEvery), After: a.settings.SealAfter, Alarm: a.alarm, Sealed: a.metrics.SealedAt,
	})}, nil
}

// storeFolder is the folder of exported seals of a store.
type storeFolder struct {
	*seal.Folder
	store string // uuid
}

func (a *app) sealFolder(ctx context.Context) (storeFolder, error) {
	id, err := pg.LoadIdentity(ctx, a.pool)
	if err != nil {
		return storeFolder{}, err
	}
	uuid := id.UUID.String()
	return storeFolder{seal.NewFolder(a.settings.SealDir, uuid), uuid}, nil
}

// sealLead is the leader lock of sealing.
const sealLead = "sealer"

// sealBackoff is the pause after the sealer's lead was lost.
const sealBackoff = 500 * time.Millisecond

// seal seals whenever this process leads the sealing, until ctx ends.
func (s *sealing) seal(a *app) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		for ctx.Err() == nil {
			err := a.locks().lead(ctx, sealLead, s.sealer.Run)
			if err != nil && ctx.Err() == nil {
				a.log.Warn("not sealing; tried again", "error", err)
			}
			select {
			case <-ctx.Done():
			case <-time.After(sealBackoff):
			}
		}
		return nil
	}
}

// checkNotBehind refuses a log that is older than what was sealed of it.
func (a *app) checkNotBehind(ctx context.Context) error {
	folder, err := a.sealFolder(ctx)
	if err != nil {
		return err
	}
	err = commands.CheckNotBehind(ctx, a.sink, folder, folder.File())
	var behind *commands.BehindError
	if errors.As(err, &behind) {
		return &told{behind.Sentence, err}
	}
	return err
}

// guardedTables is whether every partition and every trigger of the log is there.
func (a *app) guardedTables(ctx context.Context) error {
	lines, err := a.sink.Guarded(ctx)
	if err == nil && len(lines) > 0 {
		err = errors.New(lines[0])
	}
	return err
}

// checkLog refuses to start over a log that is older than what was kept of it.
func (a *app) checkLog(ctx context.Context) error {
	if err := a.checkNotBehind(ctx); err != nil {
		return err
	}
	return a.checkPlaces(ctx)
}
