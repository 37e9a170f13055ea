package eventstore

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
)

// Hash is a link of the chain: SHA-256 over the previous hash and every stored
// field of a record. The zero Hash stands before position 1.
type Hash [sha256.Size]byte

// String gives the hash as 64 lower-case hexadecimal digits.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// IsZero tells whether nothing stands before.
func (h Hash) IsZero() bool { return h == Hash{} }

// ParseHash reads what String writes.
func ParseHash(s string) (Hash, error) {
	var h Hash
	b, err := hex.DecodeString(s)
	if err != nil || len(b) != len(h) {
		return h, fmt.Errorf("parse hash %q: want 64 hexadecimal digits", s)
	}
	copy(h[:], b)
	return h, nil
}

// NewEvent is an event on its way into the log. Payload and Metadata are kept
// as the exact bytes given here; they are JSON by agreement of the callers.
// SaleID and OrderID may be empty; they only serve to find records again.
type NewEvent struct {
	ID       uuid.UUID
	Type     string
	Schema   int
	SaleID   string
	OrderID  string
	Payload  []byte
	Metadata []byte
}

// Record is an event as it stands in the log. RecordedAt has microseconds and
// never goes back along positions. Version counts from 1 within Stream,
// Position counts from 1 within the store.
type Record struct {
	Position   int64
	ID         uuid.UUID
	Stream     string
	Version    int64
	Type       string
	Schema     int
	SaleID     string
	OrderID    string
	RecordedAt time.Time
	Payload    []byte
	Metadata   []byte
	Hash       Hash
}

// ComputeHash gives the hash that r must carry when previous stands before it:
// SHA-256 over the parts, each preceded by its length in bytes as an unsigned
// 64-bit big-endian number, in this order: previous hash (32 bytes), position
// (8 bytes big-endian), event id (16 bytes), stream, version (8 bytes
// big-endian), type, schema (8 bytes big-endian), recorded_at (microseconds
// since 1970 UTC, 8 bytes big-endian), payload, metadata.
func ComputeHash(previous Hash, r *Record) Hash {
	h, _ := ComputeHashIn(make([]byte, 0, 256+len(r.Payload)+len(r.Metadata)), previous, r)
	return h
}

// ComputeHashIn is ComputeHash with memory to work in, which it gives back grown
// to need: for whoever hashes many records.
func ComputeHashIn(scratch []byte, previous Hash, r *Record) (Hash, []byte) {
	b := scratch[:0]
	part := func(p []byte) {
		b = binary.BigEndian.AppendUint64(b, uint64(len(p)))
		b = append(b, p...)
	}
	text := func(p string) {
		b = binary.BigEndian.AppendUint64(b, uint64(len(p)))
		b = append(b, p...)
	}
	number := func(n int64) {
		b = binary.BigEndian.AppendUint64(b, 8)
		b = binary.BigEndian.AppendUint64(b, uint64(n))
	}
	part(previous[:])
	number(r.Position)
	part(r.ID[:])
	text(r.Stream)
	number(r.Version)
	text(r.Type)
	number(int64(r.Schema))
	number(r.RecordedAt.UnixMicro())
	part(r.Payload)
	part(r.Metadata)
	return sha256.Sum256(b), b
}

// Mark is a place in a log or a stream: a number together with the hash found
// there, so that a log that went back and grew again is noticed. The zero Mark
// stands before the first record.
type Mark struct {
	Number int64
	Hash   Hash
}

// String gives "number:hash", for example "0:" before the first record.
func (m Mark) String() string {
	if m.Number == 0 {
		return "0:"
	}
	return strconv.FormatInt(m.Number, 10) + ":" + m.Hash.String()
}

// ParseMark reads what String writes.
func ParseMark(s string) (Mark, error) {
	number, hash, ok := strings.Cut(s, ":")
	n, err := strconv.ParseInt(number, 10, 64)
	if !ok || err != nil || n < 0 || (n == 0) != (hash == "") {
		return Mark{}, fmt.Errorf("parse mark %q: want number:hash", s)
	}
	if n == 0 {
		return Mark{}, nil
	}
	h, err := ParseHash(hash)
	if err != nil {
		return Mark{}, err
	}
	return Mark{Number: n, Hash: h}, nil
}

// At gives the place of r in its stream.
func (r *Record) At() Mark { return Mark{Number: r.Version, Hash: r.Hash} }

// Head gives the place of r in the log.
func (r *Record) Head() Mark { return Mark{Number: r.Position, Hash: r.Hash} }
