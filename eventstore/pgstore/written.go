package pgstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"seckill/eventstore"
)

// commitStatement names a statement that every session of the appender has
// prepared, so that who watches the wire sees each commit go by.
const commitStatement = "COMMIT"

func prepareCommit(ctx context.Context, conn *pgx.Conn) error {
	_, err := conn.Prepare(ctx, commitStatement, "commit")
	return err
}

// written is what a plan writes, each table once: many rows by COPY, few by statements
// that share a round trip.
type written struct {
	events   int
	copyFrom int
	memory   *memory
	copies   []*copied
	batch    *pgx.Batch
}

// writtenBy gives the rows of a plan, before its facts take it over.
func writtenBy(p *plan, copyFrom int, m *memory) *written {
	w := &written{events: len(p.records), copyFrom: copyFrom, memory: m, batch: &pgx.Batch{}}
	switch n := len(p.records); {
	case n == 0:
	case n == 1 && copyFrom > 1:
		queueEvent(w.batch, &p.records[0])
		return w.beside(p)
	case n < copyFrom:
		queueEvents(w.batch, p)
	default:
		w.copies = append(w.copies, copiedEvents(p.records, m.take()))
	}
	names := slices.Sorted(maps.Keys(p.streams))
	switch n := len(names); {
	case n == 0:
	case n < copyFrom:
		queueNewStreams(w.batch, names, p.streams)
	default:
		w.copies = append(w.copies, copiedStreams(names, p.streams, m.take()))
	}
	return w.beside(p)
}

// beside adds what is not the log.
func (w *written) beside(p *plan) *written {
	queueNewGuards(w.batch, p)
	w.claims(p)
	queueNewCursors(w.batch, p.cursors)
	return w
}

// claims adds the claims: those that are gone, those that are new, and those that
// replace one or may.
func (w *written) claims(p *plan) {
	var fresh, changed, gone []eventstore.Claim
	for id, c := range p.claims {
		switch {
		case c.OrderID == "":
			gone = append(gone, c)
		case p.facts.lacks(id):
			fresh = append(fresh, c)
		default:
			changed = append(changed, c)
		}
	}
	queueGoneClaims(w.batch, gone)
	queueClaimRows(w.batch, upsertClaims, changed)
	if len(fresh) < w.copyFrom {
		queueClaimRows(w.batch, insertClaims, fresh)
	} else if len(fresh) > 0 {
		slices.SortFunc(fresh, func(a, b eventstore.Claim) int {
			return cmp.Or(cmp.Compare(a.SaleID, b.SaleID), cmp.Compare(a.BuyerID, b.BuyerID), cmp.Compare(a.Ordinal, b.Ordinal))
		})
		w.copies = append(w.copies, copiedClaims(fresh, w.memory.take()))
	}
}

// send lets the server write the rows.
func (w *written) send(ctx context.Context, conn *pgxpool.Conn) error {
	if err := w.copyIn(ctx, conn); err != nil {
		return err
	}
	if w.batch.Len() == 0 {
		return nil
	}
	if err := conn.SendBatch(ctx, w.batch).Close(); err != nil {
		return fmt.Errorf("write %d events: %w", w.events, err)
	}
	return nil
}

func (w *written) copyIn(ctx context.Context, conn *pgxpool.Conn) error {
	for _, c := range w.copies {
		if err := c.send(ctx, conn); err != nil {
			return fmt.Errorf("write %d events: %w", w.events, err)
		}
	}
	return nil
}

// commit sends what was not copied in, and the commit, in one round trip.
// errCommitUnknown is in the error when it cannot tell what became of it; any other
// error means that it was rolled back.
func (w *written) commit(ctx context.Context, conn *pgxpool.Conn) error {
	var end string
	w.batch.Queue(commitStatement).Exec(func(tag pgconn.CommandTag) error { end = tag.String(); return nil })
	err := conn.SendBatch(ctx, w.batch).Close()
	var pgErr *pgconn.PgError
	switch {
	case err == nil && end == "COMMIT":
		return nil
	case err == nil:
		return fmt.Errorf("commit batch of %d events: the server answered %s", w.events, end)
	case errors.As(err, &pgErr) && pgErr.SeverityUnlocalized == "ERROR":
		return fmt.Errorf("write batch of %d events: %w", w.events, err)
	}
	// Also a server that ended the session may have committed first.
	return fmt.Errorf("write batch of %d events: %w: %w", w.events, errCommitUnknown, err)
}
