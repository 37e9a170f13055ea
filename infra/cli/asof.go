package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"

	"seckill/commands"
	"seckill/domain"
	"seckill/eventstore"
)

// printPast prints what sales, stock and orders were at a point of the log.
func (r *replayCmd) printPast(ctx context.Context, log eventstore.Reader, at place, out *bufio.Writer) error {
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
	switch view := (pastView{past, at.at}); {
	case r.JSON:
		return view.lines(out)
	case r.CSV:
		return view.sheet(out)
	default:
		return view.tables(out)
	}
}

// explainPast says what keeps a past from being known, and what to do.
func explainPast(err error) error {
	var unread *commands.UnreadableError
	var beyond *commands.NoPositionError
	switch {
	case errors.As(err, &beyond):
		return &told{beyond.Error(), err}
	case errors.As(err, &unread) && (errors.Is(err, domain.ErrUnknownEvent) || errors.Is(err, domain.ErrFutureEvent)):
		return &told{fmt.Sprintf("the event at %s: use the version of seckill that wrote it, ask for --as-of %d, or print the events themselves without --as-of",
			oneLine(unread), unread.Position-1), err}
	}
	return err
}
