package bus

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"time"

	"github.com/google/uuid"

	"seckill/eventstore"
)

// decodeQuick reads exactly what Encode writes, at a fraction of the time that
// encoding/json takes. ok is false for everything else, whether it is right or
// wrong: then encoding/json decides. What it gives is not validated yet.
func decodeQuick(data []byte) (b eventstore.Batch, first int64, ok bool) {
	s := &scanner{rest: data, ok: true}
	s.skip(`{"form":1,"store":`)
	b.Store = int16(s.number(1<<15 - 1))
	s.skip(`,"shard":`)
	b.Shard = int(s.number(eventstore.MaxShards))
	s.skip(`,"shards":`)
	b.Shards = int(s.number(eventstore.MaxShards))
	s.skip(`,"prev":`)
	b.Prev = s.mark()
	s.skip(`,"first":`)
	first = s.number(maxNumber)
	s.skip(`,"last":`)
	b.Last = s.mark()
	s.skip(`,"events":[`)
	b.Records = make([]eventstore.Record, 0, bytes.Count(data, []byte(`{"position":`)))
	for s.ok {
		b.Records = append(b.Records, eventstore.Record{})
		s.event(&b.Records[len(b.Records)-1])
		if !s.next(',') {
			break
		}
	}
	s.skip(`]}`)
	return b, first, s.ok && len(s.rest) == 0
}

// maxNumber bounds numbers: eighteen digits always fit into 64 bits.
const maxNumber = 999_999_999_999_999_999

// scanner goes through an envelope as it is written. Once something is not as
// expected, ok is false for good.
type scanner struct {
	rest []byte
	ok   bool
	// The last type and sale: most events have those of the one before.
	kind, sale string
}

func (s *scanner) event(r *eventstore.Record) {
	s.skip(`{"position":`)
	r.Position = s.number(maxNumber)
	s.skip(`,"id":`)
	id, err := uuid.ParseBytes(s.text())
	s.ok, r.ID = s.ok && err == nil, id
	s.skip(`,"stream":`)
	r.Stream = string(s.text())
	s.skip(`,"version":`)
	r.Version = s.number(maxNumber)
	s.skip(`,"type":`)
	r.Type = again(&s.kind, s.text())
	s.skip(`,"schema":`)
	r.Schema = int(s.number(1<<31 - 1))
	if s.has(`,"sale_id":`) {
		r.SaleID = again(&s.sale, s.text())
	}
	if s.has(`,"order_id":`) {
		r.OrderID = string(s.text())
	}
	s.skip(`,"recorded_at":`)
	r.RecordedAt = s.time()
	s.skip(`,"payload":`)
	r.Payload = s.bytes()
	s.skip(`,"metadata":`)
	r.Metadata = s.bytes()
	s.skip(`,"hash":`)
	s.hash(&r.Hash)
	s.skip(`}`)
}

// has goes over what where it comes next.
func (s *scanner) has(what string) bool {
	if len(s.rest) < len(what) || string(s.rest[:len(what)]) != what {
		return false
	}
	s.rest = s.rest[len(what):]
	return true
}

func (s *scanner) skip(what string) { s.ok = s.ok && s.has(what) }

func (s *scanner) next(c byte) bool {
	if len(s.rest) == 0 || s.rest[0] != c {
		return false
	}
	s.rest = s.rest[1:]
	return true
}

// number reads a number without sign, fraction or leading zeros.
func (s *scanner) number(most int64) int64 {
	var n int64
	i := 0
	for ; i < len(s.rest) && i < 18 && s.rest[i] >= '0' && s.rest[i] <= '9'; i++ {
		n = n*10 + int64(s.rest[i]-'0')
	}
	if i == 0 || i > 1 && s.rest[0] == '0' || n > most {
		s.ok = false
		return 0
	}
	s.rest = s.rest[i:]
	return n
}

// text reads a string of printable ASCII without escapes.
func (s *scanner) text() []byte {
	if !s.next('"') {
		s.ok = false
		return nil
	}
	for i, c := range s.rest {
		switch {
		case c == '"':
			text := s.rest[:i]
			s.rest = s.rest[i+1:]
			return text
		case c < ' ' || c > '~' || c == '\\':
			s.ok = false
			return nil
		}
	}
	s.ok = false
	return nil
}

func (s *scanner) mark() eventstore.Mark {
	m, err := eventstore.ParseMark(string(s.text()))
	s.ok = s.ok && err == nil
	return m
}

func (s *scanner) hash(to *eventstore.Hash) {
	text := s.text()
	if len(text) != hex.EncodedLen(len(to)) {
		s.ok = false
		return
	}
	_, err := hex.Decode(to[:], text)
	s.ok = s.ok && err == nil
}

// time reads a time that is written as Encode writes it: in UTC, without zeros
// at the end of its fraction.
func (s *scanner) time() time.Time {
	text := s.text()
	t, err := time.Parse(time.RFC3339Nano, string(text))
	var again [len(time.RFC3339Nano)]byte
	if err != nil || string(t.UTC().AppendFormat(again[:0], time.RFC3339Nano)) != string(text) {
		s.ok = false
	}
	return t.UTC()
}

func (s *scanner) bytes() []byte {
	if s.has("null") {
		return nil
	}
	text := s.text()
	data := make([]byte, base64.StdEncoding.DecodedLen(len(text)))
	n, err := base64.StdEncoding.Decode(data, text)
	s.ok = s.ok && err == nil
	return data[:n]
}

// again gives text as a string, the one before where it is the same.
func again(before *string, text []byte) string {
	if *before != string(text) {
		*before = string(text)
	}
	return *before
}
