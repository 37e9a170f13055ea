package commands

import (
	"context"
	"fmt"

	"seckill/domain"
	"seckill/eventstore"
)

// LetterNotes tell the log what people do about the events that a view set aside,
// before it is done: where the log cannot be written, nothing is done either.
type LetterNotes struct {
	Env *Env
	Log eventstore.Appender
}

// Retry notes that what e names is taken again; by whom says actor.
func (l LetterNotes) Retry(ctx context.Context, e domain.LettersRetried, actor Actor) error {
	e.By = actor.By
	return l.note(ctx, &e, actor)
}

// Drop notes that what e names is given up; by whom and why says actor, whose note
// must say something.
func (l LetterNotes) Drop(ctx context.Context, e domain.LettersDropped, actor Actor) error {
	e.By, e.Reason = actor.By, actor.Note
	if e.Reason == "" {
		return domain.Invalid(domain.FieldError{Field: "reason", Reason: "must say why"})
	}
	return l.note(ctx, &e, actor)
}

func (l LetterNotes) note(ctx context.Context, ev domain.Event, actor Actor) error {
	stored, err := l.Env.newEvent(ev, "", "", Meta{TraceID: actor.TraceID, By: actor.By})
	if err != nil {
		return err
	}
	_, err = l.Log.Submit(ctx, eventstore.Work{
		Needs: eventstore.Needs{Streams: []string{domain.LetterStream}},
		Decide: func(look eventstore.Look) (*eventstore.Group, error) {
			return &eventstore.Group{Appends: []eventstore.Append{{
				Stream: domain.LetterStream, Expected: look.Stream(domain.LetterStream).Version, Events: []eventstore.NewEvent{stored},
			}}}, nil
		},
	})
	if err != nil {
		return fmt.Errorf("append %s: %w", ev.EventType(), err)
	}
	return nil
}
