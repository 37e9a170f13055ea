package pgstore

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"seckill/eventstore"
	"seckill/infra/pg"
)

const (
	recordColumns = `position, event_id, stream, version, type, schema, sale_id, order_id, recorded_at, payload, metadata, hash`

	selectStreamPage = `
select position, event_id, stream, version, type, schema, sale_id, order_id, recorded_at, payload, metadata, hash
from events where stream = $1 and version > $2 order by version limit $3`

	selectPage = `
select position, event_id, stream, version, type, schema, sale_id, order_id, recorded_at, payload, metadata, hash
from events where position > $1 order by position limit $2`

	selectAt = `
select position, event_id, stream, version, type, schema, sale_id, order_id, recorded_at, payload, metadata, hash
from events where position = $1`

	selectMark = `select position, hash from events order by position desc limit 1`
)

// unread sorts the error of a read: the store refuses the data of the question,
// or it is not available.
func unread(what string, err error) error {
	kind := eventstore.ErrUnavailable
	if strings.HasPrefix(pg.SQLState(err), "22") {
		kind = eventstore.ErrData
	}
	return fmt.Errorf("%s: %w: %w", what, kind, err)
}

func (s *Store) records(ctx context.Context, what, sql string, args ...any) ([]eventstore.Record, error) {
	rows, err := s.pool.Query(ctx, sql, args...)
	if err != nil {
		return nil, unread(what, err)
	}
	records, err := collectRecords(rows)
	if err != nil {
		return nil, unread(what, err)
	}
	return records, nil
}

// ReadStream is eventstore.Reader's.
func (s *Store) ReadStream(ctx context.Context, stream string, after int64, max int) ([]eventstore.Record, error) {
	records, err := s.records(ctx, "read stream "+stream, selectStreamPage, stream, after, max)
	if err == nil && max > 0 {
		err = s.goneOf(ctx, stream, after, records)
	}
	if err != nil {
		return nil, err
	}
	return records, nil
}

// ReadAll is eventstore.Reader's.
func (s *Store) ReadAll(ctx context.Context, after int64, max int) ([]eventstore.Record, error) {
	if err := s.gone(ctx, after+1); err != nil {
		return nil, err
	}
	return s.records(ctx, "read log", selectPage, after, max)
}

// At is eventstore.Reader's.
func (s *Store) At(ctx context.Context, position int64) (eventstore.Record, bool, error) {
	records, err := s.records(ctx, "read position", selectAt, position)
	if err == nil && len(records) == 0 && position > 0 {
		err = s.gone(ctx, position)
	}
	if err != nil || len(records) == 0 {
		return eventstore.Record{}, false, err
	}
	return records[0], true, nil
}

// Head is eventstore.Reader's.
func (s *Store) Head(ctx context.Context) (eventstore.Mark, error) {
	var mark eventstore.Mark
	rows, err := s.pool.Query(ctx, selectMark)
	if err != nil {
		return mark, unread("read head", err)
	}
	defer rows.Close()
	for rows.Next() {
		var hash []byte
		if err := rows.Scan(&mark.Number, &hash); err != nil {
			return eventstore.Mark{}, unread("read head", err)
		}
		copy(mark.Hash[:], hash)
	}
	if err := rows.Err(); err != nil {
		return eventstore.Mark{}, unread("read head", err)
	}
	return mark, nil
}

// Find is eventstore.Reader's. Where what it looks for may have been archived it
// gives an ArchivedError instead of a part.
func (s *Store) Find(ctx context.Context, f eventstore.Filter, after int64, max int) ([]eventstore.Record, error) {
	sql, args := findQuery(f, after, max)
	records, err := s.records(ctx, "find records", sql, args...)
	if err == nil {
		err = s.goneOfSearch(ctx, f, after, len(records))
	}
	if err != nil {
		return nil, err
	}
	return records, nil
}

// findQuery builds the statement from constant pieces, so that only the asked
// conditions stand in it and their indexes can be used.
func findQuery(f eventstore.Filter, after int64, max int) (string, []any) {
	var sql strings.Builder
	var args []any
	sql.WriteString("select " + recordColumns + " from events where position > ")
	put := func(piece string, arg any) {
		args = append(args, arg)
		sql.WriteString(piece + "$" + strconv.Itoa(len(args)))
	}
	if f.From > after+1 {
		after = f.From - 1
	}
	put("", after)
	if f.To > 0 {
		put(" and position <= ", f.To)
	}
	if f.Stream != "" {
		put(" and stream = ", f.Stream)
	}
	if f.Prefix != "" {
		put(" and stream >= ", f.Prefix)
		put(" and stream < ", f.Prefix+lastRune)
	}
	if f.SaleID != "" {
		put(" and sale_id <> '' and sale_id = ", f.SaleID)
	}
	if f.OrderID != "" {
		put(" and order_id <> '' and order_id = ", f.OrderID)
	}
	if f.Type != "" {
		put(" and type = ", f.Type)
	}
	if !f.Since.IsZero() {
		put(" and recorded_at >= ", f.Since)
	}
	put(" order by position limit ", max)
	return sql.String(), args
}
