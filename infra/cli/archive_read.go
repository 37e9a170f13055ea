package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"seckill/eventstore"
	"seckill/eventstore/archive"
	"seckill/eventstore/pgstore"
)

// archivedLog is the log with what was detached read from archives.
type archivedLog struct {
	*pgstore.Evidence
	files []*archive.Indexed
	last  int64 // of the archives
}

// openArchives opens the archives of a store in a folder, checking each whole and
// that together they are what the database has not any more.
func openArchives(dir, store string, live *pgstore.Evidence) (_ *archivedLog, err error) {
	l := &archivedLog{Evidence: live}
	defer func() {
		if err != nil {
			l.close()
		}
	}()
	names, err := filepath.Glob(filepath.Join(dir, "events-"+store+"-*.jsonl*"))
	if err != nil {
		return nil, fmt.Errorf("list archives: %w", err)
	}
	for _, name := range names { // by their names, in order of position
		x, err := archive.OpenIndexed(name)
		if errors.Is(err, archive.ErrBroken) {
			return nil, &told{err.Error(), err}
		}
		if err != nil {
			return nil, err
		}
		if x.First <= l.last { // the same part packed and unpacked
			_ = x.Close() // read only
			continue
		}
		l.files = append(l.files, x)
		if x.First != l.last+1 {
			return nil, &told{fmt.Sprintf("The folder %s has no archive of positions %d to %d.", dir, l.last+1, x.First-1), nil}
		}
		l.last = x.Last
	}
	return l, nil
}

func (l *archivedLog) close() {
	for _, f := range l.files {
		_ = f.Close() // read only
	}
}

// Scan reads what is archived from the files and the rest from the database.
func (l *archivedLog) Scan(ctx context.Context, after, upTo int64, do func(*eventstore.Record) error) error {
	for _, f := range l.files {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := f.Scan(after, upTo, do); err != nil {
			return err
		}
	}
	if upTo <= l.last {
		return nil
	}
	return l.Evidence.Scan(ctx, max(after, l.last), upTo, do)
}

// HashAt gives the hash at a position from where it is.
func (l *archivedLog) HashAt(ctx context.Context, position int64) (h eventstore.Hash, ok bool, err error) {
	if position > l.last {
		return l.Evidence.HashAt(ctx, position)
	}
	err = l.Scan(ctx, position-1, position, func(r *eventstore.Record) error {
		h, ok = r.Hash, true
		return nil
	})
	return h, ok, err
}

// ReadStream looks through the files: it is for the rare question of an audit.
func (l *archivedLog) ReadStream(ctx context.Context, stream string, after int64, max int) (found []eventstore.Record, err error) {
	if l.last == 0 {
		return l.Evidence.ReadStream(ctx, stream, after, max)
	}
	err = l.Scan(ctx, 0, l.last, func(r *eventstore.Record) error {
		if r.Stream == stream && r.Version > after && len(found) < max {
			found = append(found, *r)
		}
		return nil
	})
	if err != nil || len(found) == max {
		return found, err
	}
	live, err := l.Evidence.Find(ctx, eventstore.Filter{Stream: stream, From: l.last + 1}, 0, streamLook)
	for _, r := range live {
		if r.Version > after && len(found) < max {
			found = append(found, r)
		}
	}
	return found, err
}

// streamLook bounds how much of a stream such a question reads of the database.
const streamLook = 5000
