package cli

import (
	"context"
	"fmt"
	"os/user"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"

	"seckill/api"
	"seckill/commands"
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

func (s readSide) deadLetters() letterBox {
	return letterBox{projections.DeadLetters{DB: s.pool, Source: s.source, Projections: projections.All()}, s.notes}
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
		rows := make([]api.DeadSequence, len(found))
		for i, s := range found {
			rows[i] = deadSequence(s)
		}
		if k.JSON {
			return c.json(struct {
				Sequences []api.DeadSequence `json:"sequences"`
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
			t.AppendRow(table.Row{r.Projection, r.Sequence, r.State, r.First, r.Events, r.Since.Format(time.RFC3339), why})
		}
		return c.print(t)
	})
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
		rows := make([]api.DeadLetter, len(letters))
		for i, l := range letters {
			rows[i] = deadLetter(l)
		}
		if k.JSON {
			return c.json(struct {
				Letters []api.DeadLetter `json:"letters"`
			}{rows})
		}
		t := newTable("projection", "position", "type", "state", "tries", "parked", "reason", "note")
		numbers(t, 2, 5)
		for _, r := range rows {
			t.AppendRow(table.Row{r.Projection, r.Position, r.Type, r.State, r.Tries, r.ParkedAt.Format(time.RFC3339), r.Reason, r.Note})
		}
		return c.print(t)
	})
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
		outcomes := []api.DeadOutcome{}
		for _, s := range found {
			if k.All && s.State == projections.StateDropped {
				continue
			}
			o, err := side.deadLetters().retry(ctx, s, commands.Actor{By: whoami()})
			if err != nil {
				return err
			}
			outcomes = append(outcomes, o)
		}
		return c.tellOutcomes(outcomes, k.JSON)
	})
}

func (c console) tellOutcomes(outcomes []api.DeadOutcome, asJSON bool) error {
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
			Sequences []api.DeadOutcome `json:"sequences"`
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
		rows := make([]api.DeadSequence, len(found))
		for i, s := range found {
			if rows[i], err = side.deadLetters().drop(ctx, s, commands.Actor{By: whoami(), Note: k.Reason}); err != nil {
				return err
			}
		}
		if k.JSON {
			return c.json(struct {
				Sequences []api.DeadSequence `json:"sequences"`
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
