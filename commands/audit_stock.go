package commands

import (
	"errors"
	"unicode/utf8"

	"seckill/domain"
	"seckill/eventstore"
)

// stockForm is a form of stored event.
type stockForm struct {
	name   string
	schema int
}

// stockEffect is where a form's quantity goes, learned from one event of it that
// was read in full: 1 where the account's counter grows by the quantity.
type stockEffect struct{ released, reserved, returned int64 }

func errorsIsUnknown(err error) bool {
	return errors.Is(err, domain.ErrUnknownEvent) || errors.Is(err, domain.ErrFutureEvent)
}

// stockChange gives what an event does to the account of its stock. The first of
// each form is read in full, which teaches where its quantity goes; of the others
// only the quantity is read, as long as it stands there plainly.
func (c *chunkReader) stockChange(r *eventstore.Record, said payloadScan, plain bool) (domain.Account, error) {
	form := stockForm{r.Type, r.Schema}
	plain = plain && said.hasQuantity
	if e, ok := c.learned[form]; ok && plain {
		return domain.Account{Released: e.released * said.quantity, Reserved: e.reserved * said.quantity, Returned: e.returned * said.quantity}, nil
	}
	ev, err := domain.Decode(r.Type, r.Schema, r.Payload)
	if err != nil {
		return domain.Account{}, err
	}
	change := domain.Account{}.Fold(ev)
	change.Version = 0
	if q := said.quantity; plain && q != 0 && change.Released%q == 0 && change.Reserved%q == 0 && change.Returned%q == 0 {
		c.learned[form] = stockEffect{change.Released / q, change.Reserved / q, change.Returned / q}
	}
	return change, nil
}

// payloadScan is what an audit reads of a payload without decoding it.
type payloadScan struct {
	sale, order []byte // nil where it says none
	quantity    int64
	hasQuantity bool
}

// scanPayload reads the fields sale_id, order_id and quantity of a JSON object. It
// is sure or it is not: plain is false for anything that a JSON library might
// read otherwise (escapes in these fields or in names, a name twice, a number
// that is no plain integer, another shape).
func scanPayload(b []byte) (p payloadScan, plain bool) {
	s := jsonScan{b: b}
	if !s.take('{') {
		return p, false
	}
	if s.take('}') {
		return p, s.end()
	}
	for {
		name, ok := s.text()
		if !ok || !s.take(':') {
			return p, false
		}
		if !s.field(name, &p) {
			return p, false
		}
		if s.take(',') {
			continue
		}
		return p, s.take('}') && s.end()
	}
}

// jsonScan walks over JSON text.
type jsonScan struct {
	b []byte
	i int
}

func (s *jsonScan) space() {
	for s.i < len(s.b) && (s.b[s.i] == ' ' || s.b[s.i] == '\n' || s.b[s.i] == '\t' || s.b[s.i] == '\r') {
		s.i++
	}
}

func (s *jsonScan) take(c byte) bool {
	s.space()
	if s.i < len(s.b) && s.b[s.i] == c {
		s.i++
		return true
	}
	return false
}

func (s *jsonScan) end() bool {
	s.space()
	return s.i == len(s.b)
}

// text reads a string without escapes. One that is no UTF-8 is not plain: a JSON
// library mends it in its own way.
func (s *jsonScan) text() ([]byte, bool) {
	if !s.take('"') {
		return nil, false
	}
	start := s.i
	for ; s.i < len(s.b); s.i++ {
		switch c := s.b[s.i]; {
		case c == '"':
			s.i++
			return s.b[start : s.i-1], utf8.Valid(s.b[start : s.i-1])
		case c == '\\' || c < ' ':
			return nil, false
		}
	}
	return nil, false
}

// field reads the value of a field.
func (s *jsonScan) field(name []byte, p *payloadScan) (ok bool) {
	switch string(name) {
	case "sale_id":
		if p.sale != nil {
			return false
		}
		p.sale, ok = s.text()
		return ok
	case "order_id":
		if p.order != nil {
			return false
		}
		p.order, ok = s.text()
		return ok
	case "quantity":
		if p.hasQuantity {
			return false
		}
		p.quantity, p.hasQuantity = s.integer()
		return p.hasQuantity
	}
	// encoding/json takes Quantity for quantity, and some letters that are not
	// ASCII for ones that are: such names are not plain.
	for _, c := range name {
		if c >= 0x80 {
			return false
		}
	}
	for _, known := range [...]string{"sale_id", "order_id", "quantity"} {
		if len(name) == len(known) && equalFold(name, known) {
			return false
		}
	}
	return s.skip()
}

func equalFold(name []byte, known string) bool {
	for i := range len(known) {
		if name[i]|0x20 != known[i]|0x20 {
			return false
		}
	}
	return true
}

// integer reads up to 15 digits, so that nothing overflows.
func (s *jsonScan) integer() (n int64, ok bool) {
	s.space()
	sign := int64(1)
	if s.i < len(s.b) && s.b[s.i] == '-' {
		sign = -1
		s.i++
	}
	start := s.i
	for s.i < len(s.b) && s.b[s.i] >= '0' && s.b[s.i] <= '9' {
		n = n*10 + int64(s.b[s.i]-'0')
		s.i++
		if s.i-start > 15 {
			return 0, false
		}
	}
	if s.i == start || s.i == len(s.b) || (s.b[start] == '0' && s.i-start > 1) {
		return 0, false
	}
	switch s.b[s.i] {
	case ',', '}', ' ', '\n', '\t', '\r':
		return sign * n, true
	}
	return 0, false
}

// skip passes over one value of any shape. It does not judge what is inside: what
// is no JSON there is not JSON for the full reading either, and changes nothing
// about the three fields.
func (s *jsonScan) skip() bool {
	s.space()
	depth := 0
	for s.i < len(s.b) {
		switch s.b[s.i] {
		case '"':
			if !s.skipText() {
				return false
			}
			if depth == 0 {
				return true
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return true
			}
			depth--
			if depth == 0 {
				s.i++
				return true
			}
		case ',':
			if depth == 0 {
				return true
			}
		}
		s.i++
	}
	return false
}

func (s *jsonScan) skipText() bool {
	for s.i++; s.i < len(s.b); s.i++ {
		switch s.b[s.i] {
		case '\\':
			s.i++
		case '"':
			s.i++
			return true
		}
	}
	return false
}
