package pgstore

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"seckill/eventstore"
)

const selectRange = `
select position, event_id, stream, version, type, schema, sale_id, order_id, recorded_at, payload, metadata, hash
from events where position > $1 and position <= $2 order by position`

// scanPage bounds one statement of a scan, so that no statement lives long.
const scanPage = 5000

// Scan gives every record after a position and up to another, in order, at the
// speed of an audit. The record and all it refers to but its texts are only good
// until do returns. An error of do ends the scan and is returned as it is.
func (s *Store) Scan(ctx context.Context, after, upTo int64, do func(*eventstore.Record) error) error {
	for after < upTo {
		end := min(after+scanPage, upTo)
		if err := s.gone(ctx, after+1); err != nil {
			return err
		}
		if err := s.scanPage(ctx, after, end, do); err != nil {
			return err
		}
		after = end
	}
	return nil
}

func (s *Store) scanPage(ctx context.Context, after, upTo int64, do func(*eventstore.Record) error) error {
	rows, err := s.pool.Query(ctx, selectRange, pgx.QueryResultFormats{pgx.BinaryFormatCode}, after, upTo)
	if err != nil {
		return unread("scan log", err)
	}
	defer rows.Close()
	var d rowDecoder
	for rows.Next() {
		if err := d.decode(rows.RawValues()); err != nil {
			return fmt.Errorf("scan log after %d: %w", after, err)
		}
		if err := do(&d.record); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return unread("scan log", err)
	}
	return nil
}

// rowDecoder turns the binary form of a row into a record without copying bytes.
// Texts that repeat from row to row are made once.
type rowDecoder struct {
	record eventstore.Record
}

// errRow would mean that the table is not what the migrations made.
var errRow = errors.New("a row of the log has another form than expected")

const postgresEpoch = 946_684_800_000_000 // microseconds from 1970 to 2000

func (d *rowDecoder) decode(v [][]byte) error {
	const columns = 12
	if len(v) != columns || len(v[0]) != 8 || len(v[1]) != 16 || len(v[3]) != 8 || len(v[5]) != 4 || len(v[8]) != 8 || len(v[11]) != 32 {
		return errRow
	}
	r := &d.record
	r.Position = int64(binary.BigEndian.Uint64(v[0]))
	copy(r.ID[:], v[1])
	keepText(&r.Stream, v[2])
	r.Version = int64(binary.BigEndian.Uint64(v[3]))
	keepText(&r.Type, v[4])
	r.Schema = int(int32(binary.BigEndian.Uint32(v[5])))
	keepText(&r.SaleID, v[6])
	keepText(&r.OrderID, v[7])
	r.RecordedAt = time.UnixMicro(int64(binary.BigEndian.Uint64(v[8])) + postgresEpoch).UTC()
	r.Payload, r.Metadata = v[9], v[10]
	copy(r.Hash[:], v[11])
	return nil
}

func keepText(to *string, b []byte) {
	if *to != string(b) { // does not allocate
		*to = string(b)
	}
}

const selectHashes = `select hash from events where position between $1 and $2 order by position`

// Hashes gives the hashes of the records from first to last, in order; fewer
// where some are missing.
func (s *Store) Hashes(ctx context.Context, first, last int64) ([]eventstore.Hash, error) {
	if err := s.gone(ctx, first); err != nil {
		return nil, err
	}
	rows, err := s.pool.Query(ctx, selectHashes, first, last)
	if err != nil {
		return nil, unread("read hashes", err)
	}
	hashes, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (h eventstore.Hash, err error) {
		var b []byte
		err = row.Scan(&b)
		copy(h[:], b)
		return h, err
	})
	if err != nil {
		return nil, unread("read hashes", err)
	}
	return hashes, nil
}

// The end of what was archived has its hash beside the export.
const selectHashAt = `
select hash from events where position = $1
union all
select a.head from archives a join event_partitions p using (first_position)
where p.next_position = $1 + 1 and p.detaching_at is not null limit 1`

// HashAt gives the hash of the record at a position, also of the last one that
// was archived; ok is false when there is none.
func (s *Store) HashAt(ctx context.Context, position int64) (h eventstore.Hash, ok bool, err error) {
	var b []byte
	err = s.pool.QueryRow(ctx, selectHashAt, position).Scan(&b)
	if errors.Is(err, pgx.ErrNoRows) {
		return h, false, s.gone(ctx, position)
	}
	if err != nil {
		return h, false, unread("read position", err)
	}
	copy(h[:], b)
	return h, true, nil
}
