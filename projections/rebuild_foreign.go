package projections

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/jackc/pgx/v5"

	"seckill/domain"
	"seckill/eventstore"
)

const firstLetters = `select sequence, min(position) from dead_letters where store = $1 group by sequence`

// foreign tells the events that this program does not know, whatever their type.
type foreign struct {
	aside map[string]int64 // from where on a sequence is set aside, in any projection
	known sync.Map         // error or nil by form
}

// form is a type of event in one of its shapes.
type form struct {
	name   string
	schema int
}

// load reads which sequences somebody has set aside.
func (f *foreign) load(ctx context.Context, db DB, store int16) error {
	rows, err := db.Query(ctx, firstLetters, store)
	if err != nil {
		return fmt.Errorf("read the dead letters: %w", err)
	}
	f.aside = map[string]int64{}
	var sequence string
	var first int64
	_, err = pgx.ForEachRow(rows, []any{&sequence, &first}, func() error {
		f.aside[sequence] = first
		return nil
	})
	if err != nil {
		return fmt.Errorf("read the dead letters: %w", err)
	}
	return nil
}

// unknown gives why this program cannot know an event by its type and schema.
func (f *foreign) unknown(r *eventstore.Record) error {
	key := form{r.Type, r.Schema}
	if why, ok := f.known.Load(key); ok {
		err, _ := why.(error)
		return err
	}
	_, err := domain.Decode(r.Type, r.Schema, nil) // of no payload: only the form counts
	if !errors.Is(err, domain.ErrUnknownEvent) && !errors.Is(err, domain.ErrFutureEvent) {
		f.known.Store(key, true)
		return nil
	}
	f.known.Store(key, err)
	return err
}

// checkKnown gives a fault for an event that no projection here reads and that this
// program does not know, unless its sequence is set aside. What a projection reads
// is judged when it reads it.
func (r *rebuild) checkKnown(rec *eventstore.Record) error {
	if slices.ContainsFunc(r.list, func(p Projection) bool { return p.reads(rec) }) {
		return nil
	}
	err := r.foreign.unknown(rec)
	if err == nil {
		return nil
	}
	if first, ok := r.foreign.aside[rec.SequenceKey()]; ok && rec.Position >= first {
		return nil
	}
	return r.list[0].faultAt(rec, &unfit{fmt.Errorf("%w: %w", err, ErrForeign)})
}
