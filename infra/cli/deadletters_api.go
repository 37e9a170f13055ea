package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"seckill/api"
	"seckill/commands"
	"seckill/domain"
	"seckill/eventstore"
	"seckill/projections"
)

// deadLettersOf is what the views of one database, or of several, have set aside, as
// the API asks for it.
type deadLettersOf struct{ apps func() []named }

// letterBox is what the views of one database have set aside, and the log that is told
// what people do about it.
type letterBox struct {
	projections.DeadLetters
	notes commands.LetterNotes
}

func (a *app) deadLetters() letterBox {
	return letterBox{
		projections.DeadLetters{DB: a.pool, Source: a.progress.Source, Projections: projections.All()},
		commands.LetterNotes{Env: a.env, Log: a.operator.Log},
	}
}

// retry tries a sequence again; that it still does not fit is an outcome.
func (b letterBox) retry(ctx context.Context, s projections.DeadSequence, actor commands.Actor) (api.DeadOutcome, error) {
	outcome := api.DeadOutcome{Projection: s.Projection, Sequence: s.Sequence}
	asked := domain.LettersRetried{Projection: s.Projection, Version: s.Version, Shard: s.Shard, Sequence: s.Sequence, Events: s.Events}
	if err := b.notes.Retry(ctx, asked, actor); err != nil {
		return outcome, err
	}
	applied, err := b.Retry(ctx, s)
	outcome.Applied, outcome.OK = applied, err == nil
	if err != nil && !errors.Is(err, projections.ErrUnfit) {
		return outcome, err
	}
	if err != nil {
		outcome.Detail = oneLine(err)
	}
	return outcome, nil
}

// drop gives a sequence up.
func (b letterBox) drop(ctx context.Context, s projections.DeadSequence, actor commands.Actor) (api.DeadSequence, error) {
	actor.Note = strings.TrimSpace(actor.Note)
	asked := domain.LettersDropped{Projection: s.Projection, Version: s.Version, Shard: s.Shard, Sequence: s.Sequence, Events: s.Events}
	if err := b.notes.Drop(ctx, asked, actor); err != nil {
		return api.DeadSequence{}, err
	}
	s.Note = actor.By + ": " + actor.Note
	if err := b.Drop(ctx, s, s.Note); err != nil {
		return api.DeadSequence{}, err
	}
	s.State = projections.StateDropped
	return deadSequence(s), nil
}

// each does f with the dead letters of every database. One that has not answered yet is
// an error: what it has set aside is not known to be nothing.
func (d deadLettersOf) each(f func(database string, of letterBox) error) error {
	for _, n := range d.apps() {
		if n.app == nil {
			return fmt.Errorf("look at the dead letters of database %s, which has not answered since this process started: %w", n.name, eventstore.ErrUnavailable)
		}
		if err := f(n.name, n.deadLetters()); err != nil {
			return err
		}
	}
	return nil
}

// eachFound does f with every sequence that is named.
func (d deadLettersOf) eachFound(ctx context.Context, projection, sequence string, f func(letterBox, projections.DeadSequence) error) error {
	return d.each(func(_ string, of letterBox) error {
		found, err := of.List(ctx, projection, sequence)
		for _, s := range found {
			if err == nil {
				err = f(of, s)
			}
		}
		return err
	})
}

// Sequences sums up what is set aside.
func (d deadLettersOf) Sequences(ctx context.Context, projection, sequence string, most int) ([]api.DeadSequence, error) {
	var all []api.DeadSequence
	err := d.each(func(database string, of letterBox) error {
		found, err := of.First(ctx, projection, sequence, most-len(all))
		for _, s := range found {
			shown := deadSequence(s)
			shown.Database = database
			all = append(all, shown)
		}
		return err
	})
	return all, err
}

// Letters gives the events of a sequence.
func (d deadLettersOf) Letters(ctx context.Context, projection, sequence string) ([]api.DeadLetter, error) {
	var all []api.DeadLetter
	err := d.each(func(_ string, of letterBox) error {
		found, err := of.Show(ctx, projection, sequence)
		for _, l := range found {
			all = append(all, deadLetter(l))
		}
		return err
	})
	return all, err
}

// Retry applies what is set aside of a sequence.
func (d deadLettersOf) Retry(ctx context.Context, projection, sequence string, actor commands.Actor) ([]api.DeadOutcome, error) {
	var all []api.DeadOutcome
	err := d.eachFound(ctx, projection, sequence, func(of letterBox, s projections.DeadSequence) error {
		outcome, err := of.retry(ctx, s, actor)
		all = append(all, outcome)
		return err
	})
	return all, err
}

// Drop gives a sequence up.
func (d deadLettersOf) Drop(ctx context.Context, projection, sequence string, actor commands.Actor) ([]api.DeadSequence, error) {
	var all []api.DeadSequence
	err := d.eachFound(ctx, projection, sequence, func(of letterBox, s projections.DeadSequence) error {
		dropped, err := of.drop(ctx, s, actor)
		if err == nil {
			all = append(all, dropped)
		}
		return err
	})
	return all, err
}

func deadSequence(s projections.DeadSequence) api.DeadSequence {
	return api.DeadSequence{
		Projection: s.Projection, Version: s.Version, Shard: s.Shard, Sequence: s.Sequence, State: s.State, First: s.First, Last: s.Last,
		Events: s.Events, Reason: s.Reason, Since: s.Since, Note: s.Note,
	}
}

func deadLetter(l projections.DeadLetter) api.DeadLetter {
	shown := api.DeadLetter{
		Projection: l.Projection, Version: l.Version, Sequence: l.Sequence, Position: l.Position, Hash: l.Hash.String(), Type: l.Type,
		State: l.State, Reason: l.Reason, Tries: l.Tries, ParkedAt: l.ParkedAt, Note: l.Note,
	}
	if !l.DroppedAt.IsZero() {
		shown.DroppedAt = &l.DroppedAt
	}
	return shown
}
