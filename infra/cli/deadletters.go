package cli

import (
	"context"
	"errors"
	"fmt"
	"os/user"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"

	"seckill/projections"
)

type deadLettersCmd struct {
	List  deadListCmd  `cmd:"" help:"List the sequences whose events are set aside."`
	Show  deadShowCmd  `cmd:"" help:"Show the events of a sequence that are set aside."`
	Retry deadRetryCmd `cmd:"" help:"Apply a sequence's events in order, and let it go on."`
	Drop  deadDropCmd  `cmd:"" help:"Give a sequence up: its events are not applied, until somebody retries it."`
}

// deadFilter names sequences.
type deadFilter struct {
	Projection string `placeholder:"NAME" help:"Only of this projection."`
	Sequence   string `placeholder:"KEY" help:"Only this sequence: an order, or the stream of an event without one."`
	JSON       bool   `name:"json" help:"Print JSON."`
}

type deadListCmd struct{ deadFilter }

type deadShowCmd struct{ deadFilter }

type deadRetryCmd struct {
	deadFilter
	All bool `help:"Every sequence that is parked; those that were dropped are left."`
}

type deadDropCmd struct {
	deadFilter
	Reason string `required:"" placeholder:"TEXT" help:"Why; it is kept with the events, and with who dropped them."`
}

// deadSequenceRow is a sequence whose events are set aside.
type deadSequenceRow struct {
	Projection string `json:"projection"`
	Version    int    `json:"version"`
	Shard      int    `json:"shard"`
	Sequence   string `json:"sequence"`
	State      string `json:"state"`
	First      int64  `json:"first"`
	Last       int64  `json:"last"`
	Events     int64  `json:"events"`
	Reason     string `json:"reason"`
	Since      string `json:"since"`
	Note       string `json:"note"`
}

// deadLetterRow is an event that is set aside.
type deadLetterRow struct {
	Projection string `json:"projection"`
	Version    int    `json:"version"`
	Sequence   string `json:"sequence"`
	Position   int64  `json:"position"`
	Hash       string `json:"hash"`
	Type       string `json:"type"`
	State      string `json:"state"`
	Reason     string `json:"reason"`
	Tries      int    `json:"tries"`
	ParkedAt   string `json:"parked_at"`
	Note       string `json:"note"`
	DroppedAt  string `json:"dropped_at,omitempty"`
}

// deadOutcome is what became of a sequence.
type deadOutcome struct {
	Projection string `json:"projection"`
	Sequence   string `json:"sequence"`
	Applied    int    `json:"applied"`
	OK         bool   `json:"ok"`
	Detail     string `json:"detail"`
}

func (s readSide) deadLetters() projections.DeadLetters {
	return projections.DeadLetters{DB: s.pool, Source: s.source, Projections: projections.All()}
}

// find gives what the filter names, or says that there is nothing of it.
func (f deadFilter) find(ctx context.Context, side readSide) ([]projections.DeadSequence, error) {
	found, err := side.deadLetters().List(ctx, f.Projection, f.Sequence)
	if err == nil && len(found) == 0 {
		return nil, &told{"nothing of this is set aside; `seckill dead-letters list` shows what is", projections.ErrNoLetters}
	}
	return found, err
}

// Run lists.
func (k *deadListCmd) Run(c console) error {
	return c.withReadSide(func(ctx context.Context, side readSide) error {
		found, err := side.deadLetters().List(ctx, k.Projection, k.Sequence)
		if err != nil {
			return err
		}
		rows := make([]deadSequenceRow, len(found))
		for i, s := range found {
			rows[i] = newDeadSequence(s)
		}
		if k.JSON {
			return c.json(struct {
				Sequences []deadSequenceRow `json:"sequences"`
			}{rows})
		}
		if len(rows) == 0 {
			_, err := fmt.Fprintln(c.out, "Nothing is set aside: every view has applied what it has read.")
			return err
		}
		t := newTable("projection", "sequence", "state", "from", "events", "since", "why")
		numbers(t, 4, 5)
		for _, r := range rows {
			why := r.Reason
			if r.State == projections.StateDropped {
				why = r.Note
			}
			t.AppendRow(table.Row{r.Projection, r.Sequence, r.State, r.First, r.Events, r.Since, why})
		}
		return c.print(t)
	})
}

func newDeadSequence(s projections.DeadSequence) deadSequenceRow {
	return deadSequenceRow{
		Projection: s.Projection, Version: s.Version, Shard: s.Shard, Sequence: s.Sequence, State: s.State, First: s.First, Last: s.Last,
		Events: s.Events, Reason: s.Reason, Since: s.Since.Format(time.RFC3339), Note: s.Note,
	}
}

// Run shows.
func (k *deadShowCmd) Run(c console) error {
	if k.Sequence == "" {
		return usage("name a sequence with --sequence")
	}
	return c.withReadSide(func(ctx context.Context, side readSide) error {
		if _, err := k.find(ctx, side); err != nil {
			return err
		}
		letters, err := side.deadLetters().Show(ctx, k.Projection, k.Sequence)
		if err != nil {
			return err
		}
		rows := make([]deadLetterRow, len(letters))
		for i, l := range letters {
			rows[i] = newDeadLetter(l)
		}
		if k.JSON {
			return c.json(struct {
				Letters []deadLetterRow `json:"letters"`
			}{rows})
		}
		t := newTable("projection", "position", "type", "state", "tries", "parked", "reason", "note")
		numbers(t, 2, 5)
		for _, r := range rows {
			t.AppendRow(table.Row{r.Projection, r.Position, r.Type, r.State, r.Tries, r.ParkedAt, r.Reason, r.Note})
		}
		return c.print(t)
	})
}

func newDeadLetter(l projections.DeadLetter) deadLetterRow {
	r := deadLetterRow{
		Projection: l.Projection, Version: l.Version, Sequence: l.Sequence, Position: l.Position, Hash: l.Hash.String(), Type: l.Type,
		State: l.State, Reason: l.Reason, Tries: l.Tries, ParkedAt: l.ParkedAt.Format(time.RFC3339), Note: l.Note,
	}
	if !l.DroppedAt.IsZero() {
		r.DroppedAt = l.DroppedAt.Format(time.RFC3339)
	}
	return r
}

// Run retries. What still cannot be applied is exit code 3.
func (k *deadRetryCmd) Run(c console) error {
	if (k.Sequence == "") != k.All {
		return usage("name a sequence with --sequence, or --all")
	}
	return c.withReadSide(func(ctx context.Context, side readSide) error {
		found, err := k.find(ctx, side)
		if err != nil {
			return err
		}
		outcomes := []deadOutcome{}
		for _, s := range found {
			if k.All && s.State == projections.StateDropped {
				continue
			}
			applied, err := side.deadLetters().Retry(ctx, s)
			if err != nil && !errors.Is(err, projections.ErrUnfit) {
				return err
			}
			o := deadOutcome{Projection: s.Projection, Sequence: s.Sequence, Applied: applied, OK: err == nil}
			if err != nil {
				o.Detail = oneLine(err)
			}
			outcomes = append(outcomes, o)
		}
		return c.tellOutcomes(outcomes, k.JSON)
	})
}

func (c console) tellOutcomes(outcomes []deadOutcome, asJSON bool) error {
	failed := false
	for _, o := range outcomes {
		failed = failed || !o.OK
		if asJSON {
			continue
		}
		line := fmt.Sprintf("%s: %d events of %s are applied, and it goes on.", o.Projection, o.Applied, o.Sequence)
		if !o.OK {
			line = fmt.Sprintf("%s: %d events of %s are applied, the rest stays set aside: %s.", o.Projection, o.Applied, o.Sequence, strings.TrimSuffix(o.Detail, "."))
		}
		if _, err := fmt.Fprintln(c.out, line); err != nil {
			return err
		}
	}
	if asJSON {
		if err := c.json(struct {
			Sequences []deadOutcome `json:"sequences"`
		}{outcomes}); err != nil {
			return err
		}
	}
	if failed {
		return errFound
	}
	return nil
}

// Run drops.
func (k *deadDropCmd) Run(c console) error {
	if k.Sequence == "" {
		return usage("name a sequence with --sequence")
	}
	if strings.TrimSpace(k.Reason) == "" {
		return usage("say why with --reason")
	}
	return c.withReadSide(func(ctx context.Context, side readSide) error {
		found, err := k.find(ctx, side)
		if err != nil {
			return err
		}
		rows := make([]deadSequenceRow, len(found))
		for i, s := range found {
			note := whoami() + ": " + strings.TrimSpace(k.Reason)
			if err := side.deadLetters().Drop(ctx, s, note); err != nil {
				return err
			}
			rows[i] = newDeadSequence(s)
			rows[i].State, rows[i].Note = projections.StateDropped, note
		}
		if k.JSON {
			return c.json(struct {
				Sequences []deadSequenceRow `json:"sequences"`
			}{rows})
		}
		for _, r := range rows {
			if _, err := fmt.Fprintf(c.out, "%s: %d events of %s are dropped, and later ones will be, until it is retried.\n", r.Projection, r.Events, r.Sequence); err != nil {
				return err
			}
		}
		return nil
	})
}

// whoami names who runs the program, as far as the machine knows.
func whoami() string {
	u, err := user.Current()
	if err != nil {
		return "somebody"
	}
	return u.Username
}
