package cli

import (
	"bufio"
	"context"
	"errors"

	"seckill/commands"
	"seckill/eventstore"
)

// printPast prints what sales, stock and orders were at a point of the log, then
// on stderr which events cannot be read: errFound when there are some.
func (r *replayCmd) printPast(ctx context.Context, c console, log eventstore.Reader, at place, out *bufio.Writer) error {
	position := at.position
	if position == 0 {
		var err error
		if position, err = commands.PositionAt(ctx, timedLog{log}, at.at); err != nil {
			return err
		}
	}
	past, err := commands.AsOf(ctx, log, commands.AsOfScope{Stream: r.Stream, Sale: r.Sale, Order: r.Order}, position)
	if err != nil {
		return explainPast(err)
	}
	if at.at.IsZero() {
		at.at = past.RecordedAt
	}
	if err := r.show(pastView{past, at.at}, out); err != nil {
		return err
	}
	for _, unread := range past.Unread {
		c.say("%s is told as it was before the event at %s.", unread.Stream, oneLine(unread))
	}
	if len(past.Unread) > 0 {
		return errFound
	}
	return nil
}

func (r *replayCmd) show(view pastView, out *bufio.Writer) error {
	switch {
	case r.JSON:
		return view.lines(out)
	case r.CSV:
		return view.sheet(out)
	}
	return view.tables(out)
}

// explainPast says what keeps a past from being known, and what to do.
func explainPast(err error) error {
	var beyond *commands.NoPositionError
	if errors.As(err, &beyond) {
		return &told{beyond.Error(), err}
	}
	return err
}
