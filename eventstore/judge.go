package eventstore

import (
	"cmp"
	"slices"

	"github.com/google/uuid"
)

// Held is what a store tells of its log while the log lock is held, with what earlier
// works of the same batch have decided.
type Held interface {
	// Version gives the newest version of a stream; 0 is one without events.
	Version(stream string) int64
	// Place gives the stream and the version at which an event stands; version 0 is one
	// that stands nowhere.
	Place(event uuid.UUID) (stream string, version int64)
	// Span gives count records of a stream from a version on; fewer, or none, where the
	// stream has no such versions.
	Span(stream string, from int64, count int) []Record
}

// Judge tells what becomes of a group in a store, before anything of it is taken over;
// the records are those of an AlreadyThere, in the order of the group's appends.
func Judge(h Held, g *Group) (Outcome, []Record) {
	versions := map[string]int64{} // of the streams that the group moves
	var found []Record
	there := false
	for _, a := range g.Appends {
		now, moved := versions[a.Stream]
		if !moved {
			now = h.Version(a.Stream)
		}
		from, repeated, elsewhere := repeats(h, a, now)
		switch {
		case repeated:
			records, same := stored(h, a, from)
			if !same {
				return Conflict, nil
			}
			there, found = true, append(found, records...)
			continue
		case elsewhere, a.Expected != AnyVersion && a.Expected != now:
			return Conflict, nil
		}
		if len(a.Events) > 0 {
			versions[a.Stream] = now + int64(len(a.Events))
		}
	}
	switch {
	case there && len(versions) > 0:
		return Conflict, nil
	case there:
		return AlreadyThere, found
	case len(versions)+len(g.Guards)+len(g.Claims)+len(g.Cursors) > 0:
		return Stored, nil
	}
	return Nothing, nil
}

// repeats tells whether an append to a stream that is at a version looks like one that
// was stored before, and the version that its first event would have; or whether that
// event, of an append at any version, stands in another stream.
func repeats(h Held, a Append, now int64) (from int64, repeated, elsewhere bool) {
	switch {
	case len(a.Events) == 0:
		return 0, false, false
	case a.Expected == AnyVersion:
		stream, version := h.Place(a.Events[0].ID)
		known := version > 0
		return version, known && stream == a.Stream, known && stream != a.Stream
	}
	return a.Expected + 1, a.Expected >= 0 && a.Expected < now, false
}

// stored gives the records that stand where an append would have put its events, and
// whether they are these very events.
func stored(h Held, a Append, from int64) ([]Record, bool) {
	found := h.Span(a.Stream, from, len(a.Events))
	same := slices.EqualFunc(found, a.Events, func(r Record, e NewEvent) bool { return r.ID == e.ID })
	return found, same
}

// WithClaim gives a buyer's claims in a sale, by ordinal, with c in place of the claim
// of its ordinal, or without that claim where c has no order. The list that was given
// stays as it is.
func WithClaim(claims []Claim, c Claim) []Claim {
	list := append(make([]Claim, 0, len(claims)+1), claims...)
	at, found := slices.BinarySearchFunc(list, c.Ordinal, func(have Claim, ordinal int) int {
		return cmp.Compare(have.Ordinal, ordinal)
	})
	switch {
	case c.OrderID == "" && found:
		return slices.Delete(list, at, at+1)
	case c.OrderID == "":
		return list
	case found:
		list[at] = c
		return list
	}
	return slices.Insert(list, at, c)
}
