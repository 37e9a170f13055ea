package cli

import (
	"bufio"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"seckill/commands"
	"seckill/domain"
	"seckill/eventstore"
)

// replayCmd looks at the log. It opens a read-only pool and nothing else: no
// gate, no bus, no broker. Whatever it prints, nothing happens again.
type replayCmd struct {
	Stream string `placeholder:"NAME" help:"Only this stream."`
	Sale   string `placeholder:"ID" help:"Only this sale."`
	Order  string `placeholder:"ID" help:"Only this order."`
	Type   string `placeholder:"NAME" help:"Only this type of event, such as order.placed."`
	From   int64  `placeholder:"POSITION" help:"From this position on."`
	To     int64  `placeholder:"POSITION" help:"Up to this position, included."`
	Since  string `placeholder:"TIME" help:"Recorded at or after this time (RFC 3339), or so long ago (such as 10m)."`
	AsOf   string `placeholder:"POSITION|TIME" help:"Not the events, but the state of sales, stock and orders at this position or time (RFC 3339, or so long ago)."`
	Follow bool   `help:"Go on with what is stored from now on."`
	JSON   bool   `name:"json" xor:"form" help:"Print one JSON object a line."`
	CSV    bool   `name:"csv" xor:"form" help:"Print CSV (RFC 4180)."`
}

// replayPage is how many records are read in one statement.
const replayPage = 1000

// followEvery is how often --follow looks for news.
const followEvery = 200 * time.Millisecond

// Run prints events until the end, or with --follow until a signal; with --as-of
// it prints the state of that time.
func (r *replayCmd) Run(c console) error {
	now := time.Now()
	filter, err := r.filter()
	if err != nil {
		return err
	}
	if r.Type != "" && !slices.Contains(domain.EventTypes(), r.Type) {
		c.say("This version knows no type of event %q; it prints what the log has of it. Known: %s.", r.Type, strings.Join(domain.EventTypes(), ", "))
	}
	asOf, err := r.asOf(now)
	if err != nil {
		return err
	}
	since, err := moment("--since", r.Since, now)
	if err != nil {
		return err
	}
	return c.withLog(func(ctx context.Context, log eventstore.Reader) error {
		out := bufio.NewWriterSize(c.out, 64<<10)
		var err error
		if asOf != nil {
			err = r.printPast(ctx, c, log, *asOf, out)
		} else if filter.From, err = begin(ctx, log, filter.From, since); err == nil {
			err = r.print(ctx, log, filter, out)
		}
		if ctx.Err() != nil {
			err = nil // a reader who stops listening has seen what there was
		}
		if flushed := out.Flush(); err == nil {
			err = flushed
		}
		return err
	})
}

func (r *replayCmd) filter() (eventstore.Filter, error) {
	f := eventstore.Filter{Stream: r.Stream, SaleID: r.Sale, OrderID: r.Order, Type: r.Type, From: r.From, To: r.To}
	if r.From < 0 || r.To < 0 || (r.To > 0 && r.From > r.To) {
		return f, usage("--from and --to are positions from 1 on, --from not after --to")
	}
	if r.Follow && r.To > 0 {
		return f, usage("--follow has no end, so it does not go with --to")
	}
	return f, nil
}

// place is a point of the log as a person names it: a position, or a time.
type place struct {
	position int64
	at       time.Time
}

// asOf reads --as-of, nil when it was not asked for.
func (r *replayCmd) asOf(now time.Time) (*place, error) {
	if r.AsOf == "" {
		return nil, nil
	}
	if r.Follow || r.From > 0 || r.To > 0 || r.Since != "" || r.Type != "" {
		return nil, usage("--as-of shows the state of one moment: it goes with --sale, --order and --stream, and not with --from, --to, --since, --type or --follow")
	}
	if n, err := strconv.ParseInt(r.AsOf, 10, 64); err == nil {
		if n < 1 {
			return nil, usage("--as-of: positions begin at 1")
		}
		return &place{position: n}, nil
	}
	at, err := moment("--as-of", r.AsOf, now)
	return &place{at: at}, err
}

// moment reads a time with a zone, or a duration before now; the zero time for "".
func moment(flag, text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if ago, err := time.ParseDuration(text); err == nil && ago >= 0 {
		return now.Add(-ago), nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return at, usage("%s must be a time with a zone, such as 2026-11-11T00:00:00+08:00, or a duration, such as 10m", flag)
	}
	return at, nil
}

// begin gives the position to begin at: not before from, nor before since.
func begin(ctx context.Context, log eventstore.Reader, from int64, since time.Time) (int64, error) {
	if since.IsZero() {
		return from, nil
	}
	before, err := commands.PositionAt(ctx, timedLog{log}, since.Add(-time.Microsecond))
	return max(from, before+1), err
}

func (r *replayCmd) print(ctx context.Context, log eventstore.Reader, f eventstore.Filter, out *bufio.Writer) error {
	write := r.writer(out)
	read := findPages(log, f)
	if f.Stream != "" {
		read = streamPages(log, f)
	}
	for {
		page, more, err := read(ctx)
		if err != nil {
			return err
		}
		for i := range page {
			if err := write(&page[i]); err != nil {
				return fmt.Errorf("print position %d: %w", page[i].Position, err)
			}
		}
		if more {
			continue
		}
		if !r.Follow {
			return nil
		}
		if err := out.Flush(); err != nil {
			return fmt.Errorf("print: %w", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(followEvery):
		}
	}
}

// pages gives the next page of what was asked for; more tells whether another one
// is there already.
type pages func(ctx context.Context) (page []eventstore.Record, more bool, err error)

func findPages(log eventstore.Reader, f eventstore.Filter) pages {
	var after int64
	return func(ctx context.Context) ([]eventstore.Record, bool, error) {
		page, err := log.Find(ctx, f, after, replayPage)
		if len(page) > 0 {
			after = page[len(page)-1].Position
		}
		return page, len(page) == replayPage, err
	}
}

// streamPages reads a stream by its versions: to find its records by position
// would sort all that is left of it for every page.
func streamPages(log eventstore.Reader, f eventstore.Filter) pages {
	var after int64
	return func(ctx context.Context) ([]eventstore.Record, bool, error) {
		page, err := log.ReadStream(ctx, f.Stream, after, replayPage)
		more := len(page) == replayPage
		if len(page) > 0 {
			last := &page[len(page)-1]
			after, more = last.Version, more && (f.To == 0 || last.Position < f.To)
		}
		return slices.DeleteFunc(page, func(r eventstore.Record) bool { return !chosen(f, &r) }), more, err
	}
}

// chosen tells whether a filter chooses a record of its stream.
func chosen(f eventstore.Filter, r *eventstore.Record) bool {
	return r.Position >= f.From && (f.To == 0 || r.Position <= f.To) && (f.Type == "" || r.Type == f.Type) &&
		(f.SaleID == "" || r.SaleID == f.SaleID) && (f.OrderID == "" || r.OrderID == f.OrderID)
}
