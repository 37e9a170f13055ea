package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"seckill/domain"
	"seckill/eventstore"
	"seckill/eventstore/pgstore"
)

type replayCmd struct {
	Stream string `placeholder:"NAME" help:"Only this stream."`
	Sale   string `placeholder:"ID" help:"Only this sale."`
	Order  string `placeholder:"ID" help:"Only this order."`
	Type   string `placeholder:"NAME" help:"Only this type of event, such as order.placed."`
	From   int64  `placeholder:"POSITION" help:"From this position on."`
	To     int64  `placeholder:"POSITION" help:"Up to this position, included."`
	Since  string `placeholder:"TIME" help:"Recorded at or after this time (RFC 3339), or so long ago (such as 10m)."`
	Follow bool   `help:"Go on with what is stored from now on."`
	JSON   bool   `name:"json" help:"Print one JSON object a line."`
}

// replayPage is how many records are read in one statement.
const replayPage = 1000

// followEvery is how often --follow looks for news.
const followEvery = 200 * time.Millisecond

// Run prints events until the end, or with --follow until a signal.
func (r *replayCmd) Run(c console) error {
	filter, err := r.filter()
	if err != nil {
		return err
	}
	return c.withLog(func(ctx context.Context, log eventstore.Reader) error {
		out := bufio.NewWriterSize(c.out, 64<<10)
		err := r.print(ctx, log, filter, out)
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
	if r.Type != "" && !slices.Contains(domain.EventTypes(), r.Type) {
		return f, usage("there is no type of event %q: want one of %s", r.Type, strings.Join(domain.EventTypes(), ", "))
	}
	if r.Follow && r.To > 0 {
		return f, usage("--follow has no end, so it does not go with --to")
	}
	if r.Since == "" {
		return f, nil
	}
	if ago, err := time.ParseDuration(r.Since); err == nil && ago >= 0 {
		f.Since = time.Now().Add(-ago)
		return f, nil
	}
	at, err := time.Parse(time.RFC3339, r.Since)
	if err != nil {
		return f, usage("--since must be a time with a zone, such as 2026-11-11T00:00:00+08:00, or a duration, such as 10m")
	}
	f.Since = at
	return f, nil
}

func (r *replayCmd) print(ctx context.Context, log eventstore.Reader, f eventstore.Filter, out *bufio.Writer) error {
	var after int64
	for {
		page, err := log.Find(ctx, f, after, replayPage)
		if err != nil {
			return err
		}
		for i := range page {
			if err := r.printOne(out, &page[i]); err != nil {
				return err
			}
			after = page[i].Position
		}
		if len(page) == replayPage {
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

// event is a record with the contract's names.
type event struct {
	Position   int64           `json:"position"`
	EventID    string          `json:"event_id"`
	Stream     string          `json:"stream"`
	Version    int64           `json:"version"`
	Type       string          `json:"type"`
	Schema     int             `json:"schema"`
	SaleID     string          `json:"sale_id"`
	OrderID    string          `json:"order_id"`
	RecordedAt string          `json:"recorded_at"`
	Payload    json.RawMessage `json:"payload"`
	Metadata   json.RawMessage `json:"metadata"`
	Hash       string          `json:"hash"`
}

// recordedForm writes times with all their microseconds.
const recordedForm = "2006-01-02T15:04:05.000000Z07:00"

func (r *replayCmd) printOne(out *bufio.Writer, rec *eventstore.Record) error {
	at := rec.RecordedAt.UTC().Format(recordedForm)
	if !r.JSON {
		_, err := fmt.Fprintf(out, "%8d  %s  %-15s %s@%d  %s\n", rec.Position, at, rec.Type, rec.Stream, rec.Version, rec.Payload)
		return err
	}
	line, err := json.Marshal(event{
		Position: rec.Position, EventID: rec.ID.String(), Stream: rec.Stream, Version: rec.Version, Type: rec.Type, Schema: rec.Schema,
		SaleID: rec.SaleID, OrderID: rec.OrderID, RecordedAt: at,
		Payload: asJSON(rec.Payload), Metadata: asJSON(rec.Metadata), Hash: rec.Hash.String(),
	})
	if err != nil {
		return fmt.Errorf("print position %d: %w", rec.Position, err)
	}
	out.Write(line) // errors come back with the next write
	return out.WriteByte('\n')
}

// asJSON gives stored bytes as JSON: what is none is shown as a string.
func asJSON(b []byte) json.RawMessage {
	if json.Valid(b) {
		return b
	}
	quoted, err := json.Marshal(string(b))
	if err != nil {
		return json.RawMessage(`""`) // strings always encode
	}
	return quoted
}

// withDatabase opens the database alone and does f.
func (c console) withDatabase(f func(ctx context.Context, pool *pgxpool.Pool) error) error {
	ctx, done := c.stoppable()
	defer done()
	a, err := c.addresses(ctx, needDatabase)
	if err != nil {
		return err
	}
	pool, err := openDatabase(ctx, a, c.settings, 4)
	if err != nil {
		return joinClose(err, a.stop(ctx))
	}
	err = f(ctx, pool)
	pool.Close()
	return joinClose(err, a.stop(ctx))
}

// withLog opens the event store alone and does f.
func (c console) withLog(f func(ctx context.Context, log eventstore.Reader) error) error {
	return c.withDatabase(func(ctx context.Context, pool *pgxpool.Pool) error {
		store, err := pgstore.New(pool, c.settings.Namespace, pgstore.Options{Logger: warnings(c)})
		if err != nil {
			return err
		}
		return joinClose(f(ctx, store), store.Close(context.WithoutCancel(ctx)))
	})
}
