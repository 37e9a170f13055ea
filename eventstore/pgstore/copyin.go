package pgstore

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"seckill/eventstore"
)

const (
	copyEvents = `copy events (position, event_id, stream, version, type, schema, sale_id, order_id, recorded_at, payload, metadata, hash)
from stdin (format binary)`
	copyStreams = `copy streams (stream, version, type, hash) from stdin (format binary)`
	copyClaims  = `copy claims (sale_id, buyer_id, ordinal, order_id, quantity, live, key, body_hash) from stdin (format binary)`
)

// copied is rows in PostgreSQL's binary copy format.
type copied struct {
	sql  string
	rows int
	b    []byte
}

func newCopied(sql string, memory []byte) *copied {
	const signature = "PGCOPY\n\377\r\n\000" + "\000\000\000\000" + "\000\000\000\000"
	return &copied{sql: sql, b: append(memory[:0], signature...)}
}

// memory is what rows were built in, kept for the next ones.
type memory [][]byte

// Bounds of what is kept: two parts of three tables are on their way at most.
const (
	keptBuffers = 6
	keptSize    = 4 << 20
)

// take gives something to build rows in.
func (m *memory) take() []byte {
	n := len(*m)
	if n == 0 {
		return nil
	}
	b := (*m)[n-1]
	*m = (*m)[:n-1]
	return b
}

// keep keeps what the rows were built in, once they were sent.
func (m *memory) keep(rows []*copied) {
	for _, c := range rows {
		if len(*m) < keptBuffers && cap(c.b) <= keptSize {
			*m = append(*m, c.b)
		}
		c.b = nil
	}
}

// row begins a row.
func (c *copied) row(columns uint16) {
	c.rows++
	c.b = binary.BigEndian.AppendUint16(c.b, columns)
}

func (c *copied) bytes(v []byte) {
	c.b = binary.BigEndian.AppendUint32(c.b, uint32(len(v)))
	c.b = append(c.b, v...)
}

func (c *copied) text(v string) {
	c.b = binary.BigEndian.AppendUint32(c.b, uint32(len(v)))
	c.b = append(c.b, v...)
}

func (c *copied) int8(v int64) {
	c.b = binary.BigEndian.AppendUint32(c.b, 8)
	c.b = binary.BigEndian.AppendUint64(c.b, uint64(v))
}

func (c *copied) int4(v int) {
	c.b = binary.BigEndian.AppendUint32(c.b, 4)
	c.b = binary.BigEndian.AppendUint32(c.b, uint32(int32(v)))
}

func (c *copied) bool(v bool) {
	c.b = append(c.b, 0, 0, 0, 1, 0)
	if v {
		c.b[len(c.b)-1] = 1
	}
}

func (c *copied) time(v time.Time) { c.int8(v.UnixMicro() - postgresEpoch) }

// send copies the rows in.
func (c *copied) send(ctx context.Context, conn *pgxpool.Conn) error {
	c.b = binary.BigEndian.AppendUint16(c.b, 0xffff)
	tag, err := conn.Conn().PgConn().CopyFrom(ctx, bytes.NewReader(c.b), c.sql)
	if err != nil {
		return err
	}
	if tag.RowsAffected() != int64(c.rows) {
		return fmt.Errorf("the server took %d of %d rows", tag.RowsAffected(), c.rows)
	}
	return nil
}

func copiedEvents(records []eventstore.Record, memory []byte) *copied {
	c := newCopied(copyEvents, memory)
	for i := range records {
		r := &records[i]
		c.row(12)
		c.int8(r.Position)
		c.bytes(r.ID[:])
		c.text(r.Stream)
		c.int8(r.Version)
		c.text(r.Type)
		c.int4(r.Schema)
		c.text(r.SaleID)
		c.text(r.OrderID)
		c.time(r.RecordedAt)
		c.bytes(r.Payload)
		c.bytes(r.Metadata)
		c.bytes(r.Hash[:])
	}
	return c
}

func copiedStreams(names []string, streams map[string]eventstore.StreamState, memory []byte) *copied {
	c := newCopied(copyStreams, memory)
	for _, name := range names {
		s := streams[name]
		c.row(4)
		c.text(name)
		c.int8(s.Version)
		c.text(s.Type)
		c.bytes(s.Hash[:])
	}
	return c
}

func copiedClaims(claims []eventstore.Claim, memory []byte) *copied {
	c := newCopied(copyClaims, memory)
	for i := range claims {
		r := &claims[i]
		c.row(8)
		c.text(r.SaleID)
		c.text(r.BuyerID)
		c.int4(r.Ordinal)
		c.text(r.OrderID)
		c.int8(r.Quantity)
		c.bool(r.Live)
		c.text(r.Key)
		c.text(r.BodyHash)
	}
	return c
}
