package cli

import (
	"context"
	"fmt"

	"seckill/eventstore"
	"seckill/eventstore/pgstore"
	"seckill/projections"
)

// archivedSource gives the log to rebuild from: what was taken out of the database
// is read from its archives in dir. Close it.
func (s readSide) archivedSource(ctx context.Context, dir string) (source projections.Source, done func(), err error) {
	evidence := pgstore.NewEvidence(s.pool)
	gone, err := evidence.Archived(ctx)
	if err != nil || gone == 0 {
		return s.source, func() {}, err
	}
	if dir == "" {
		return source, nil, &told{fmt.Sprintf(
			"positions 1 to %d are archived, and a view is folded from the first event on: give --archive with the folder of the archives", gone), nil}
	}
	archived, err := openArchives(dir, s.uuid, evidence)
	if err != nil {
		return source, nil, err
	}
	if archived.last < gone {
		archived.close()
		return source, nil, &told{fmt.Sprintf("The folder %s has no archive of positions %d to %d.", dir, archived.last+1, gone), nil}
	}
	source = s.source
	source.Log = archivedReads{Log: s.source.Log, archived: archived}
	return source, archived.close, nil
}

// archivedReads reads the beginning of the log from archives.
type archivedReads struct {
	projections.Log
	archived *archivedLog
}

// ReadAll gives what follows a position, from wherever it is.
func (a archivedReads) ReadAll(ctx context.Context, after int64, max int) ([]eventstore.Record, error) {
	last := a.archived.last
	if after >= last {
		return a.Log.ReadAll(ctx, after, max)
	}
	page := make([]eventstore.Record, 0, max)
	err := a.archived.Scan(ctx, after, min(after+int64(max), last), func(r *eventstore.Record) error {
		page = append(page, *r)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the archives after %d: %w", after, err)
	}
	if room := max - len(page); room > 0 && len(page) > 0 {
		more, err := a.Log.ReadAll(ctx, last, room)
		return append(page, more...), err
	}
	return page, nil
}
