package eventstore_test

import (
	"slices"
	"testing"

	"github.com/google/uuid"

	"seckill/eventstore"
)

// log is what a store holds: the ids of each stream, version 1 first.
type log map[string][]byte

func id(b byte) uuid.UUID { return uuid.UUID{15: b} }

func (l log) Version(stream string) int64 { return int64(len(l[stream])) }

func (l log) Place(event uuid.UUID) (string, int64) {
	for stream, ids := range l {
		if i := slices.IndexFunc(ids, func(b byte) bool { return id(b) == event }); i >= 0 {
			return stream, int64(i + 1)
		}
	}
	return "", 0
}

func (l log) Span(stream string, from int64, count int) []eventstore.Record {
	var found []eventstore.Record
	for v := from; v < from+int64(count) && v <= l.Version(stream); v++ {
		found = append(found, eventstore.Record{ID: id(l[stream][v-1]), Stream: stream, Version: v})
	}
	return found
}

func to(stream string, expected int64, ids ...byte) eventstore.Append {
	a := eventstore.Append{Stream: stream, Expected: expected}
	for _, b := range ids {
		a.Events = append(a.Events, eventstore.NewEvent{ID: id(b)})
	}
	return a
}

func TestWhatBecomesOfAGroup(t *testing.T) {
	const at = eventstore.AnyVersion
	held := log{"a": {1, 2, 3}, "b": {4}}
	for name, c := range map[string]struct {
		group []eventstore.Append
		want  eventstore.Outcome
		found int
	}{
		"new events at the end":                       {[]eventstore.Append{to("a", 3, 9), to("c", 0, 8)}, eventstore.Stored, 0},
		"a stream that is moved twice":                {[]eventstore.Append{to("a", 3, 8), to("a", 4, 9)}, eventstore.Stored, 0},
		"at any version, new":                         {[]eventstore.Append{to("a", at, 9)}, eventstore.Stored, 0},
		"the very same again":                         {[]eventstore.Append{to("a", 1, 2, 3), to("b", 0, 4)}, eventstore.AlreadyThere, 3},
		"the very same again, at any version":         {[]eventstore.Append{to("a", at, 2, 3)}, eventstore.AlreadyThere, 2},
		"others stand there":                          {[]eventstore.Append{to("a", 1, 2, 9)}, eventstore.Conflict, 0},
		"more than stands there":                      {[]eventstore.Append{to("a", 2, 3, 9)}, eventstore.Conflict, 0},
		"ahead of the stream":                         {[]eventstore.Append{to("a", 4, 9)}, eventstore.Conflict, 0},
		"at any version, and stands elsewhere":        {[]eventstore.Append{to("b", at, 2)}, eventstore.Conflict, 0},
		"half of it is there":                         {[]eventstore.Append{to("a", 2, 3), to("b", 1, 9)}, eventstore.Conflict, 0},
		"no events, at the version that is there":     {[]eventstore.Append{to("a", 3)}, eventstore.Nothing, 0},
		"no events, at a version that has been":       {[]eventstore.Append{to("a", 2)}, eventstore.Conflict, 0},
		"no events, beside events of another stream":  {[]eventstore.Append{to("a", 3), to("b", 1, 9)}, eventstore.Stored, 0},
		"no appends":                                  {nil, eventstore.Nothing, 0},
		"a repeat beside an append of nothing at all": {[]eventstore.Append{to("b", 0, 4), to("a", at)}, eventstore.AlreadyThere, 1},
	} {
		t.Run(name, func(t *testing.T) {
			got, found := eventstore.Judge(held, &eventstore.Group{Appends: c.group})
			if got != c.want || len(found) != c.found {
				t.Errorf("got outcome %d and %d records, want %d and %d", got, len(found), c.want, c.found)
			}
		})
	}
	only := eventstore.Group{Guards: []eventstore.Guard{{Stream: "a"}}}
	if got, _ := eventstore.Judge(held, &only); got != eventstore.Stored {
		t.Errorf("a group of side rows: got outcome %d, want stored", got)
	}
}

func TestAClaimReplacesThatOfItsOrdinalAndLeavesTheListItCameFrom(t *testing.T) {
	before := []eventstore.Claim{{Ordinal: 1, OrderID: "a"}, {Ordinal: 3, OrderID: "c"}}
	for name, c := range map[string]struct {
		put  eventstore.Claim
		want []string
	}{
		"replaced":           {eventstore.Claim{Ordinal: 3, OrderID: "x"}, []string{"a", "x"}},
		"between":            {eventstore.Claim{Ordinal: 2, OrderID: "b"}, []string{"a", "b", "c"}},
		"at the end":         {eventstore.Claim{Ordinal: 4, OrderID: "d"}, []string{"a", "c", "d"}},
		"taken away":         {eventstore.Claim{Ordinal: 1}, []string{"c"}},
		"nothing taken away": {eventstore.Claim{Ordinal: 2}, []string{"a", "c"}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, claim := range eventstore.WithClaim(before, c.put) {
				got = append(got, claim.OrderID)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
			if before[0].OrderID != "a" || before[1].OrderID != "c" || len(before) != 2 {
				t.Fatalf("the list that was given became %v", before)
			}
		})
	}
}
