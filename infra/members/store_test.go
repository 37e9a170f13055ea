package members

import (
	"slices"
	"testing"
	"time"

	"seckill/infra/pg/pgtest"
)

func TestAListIsReadAsItWasStoredAndGoesWhole(t *testing.T) {
	pool, _, _ := pgtest.New(t)
	s := New(pool, 0)
	ctx := t.Context()
	for i, part := range [][]string{{"u1", `u"2`}, {"u3"}} {
		if err := s.AddPart(ctx, "sale1", "list1", i, part); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.AddPart(ctx, "sale2", "list2", 0, []string{"x"}); err != nil {
		t.Fatal(err)
	}
	if err := s.AddPart(ctx, "sale1", "list1", 1, []string{"y"}); err == nil {
		t.Error("a part was stored twice")
	}
	read := func(list string) []string {
		var got []string
		if err := s.Read(ctx, list, func(buyers []string) { got = append(got, buyers...) }); err != nil {
			t.Fatal(err)
		}
		return got
	}
	if got := read("list1"); !slices.Equal(got, []string{"u1", `u"2`, "u3"}) {
		t.Errorf("got %v", got)
	}
	if lists, err := s.Lists(ctx, "sale1"); err != nil || !slices.Equal(lists, []string{"list1"}) {
		t.Errorf("lists: got %v, %v", lists, err)
	}
	if lists, err := New(pool, time.Hour).Lists(ctx, "sale1"); err != nil || len(lists) > 0 {
		t.Errorf("a list that may still be stored: got %v, %v; want it left out", lists, err)
	}
	for range 2 {
		if err := s.Drop(ctx, "list1"); err != nil {
			t.Fatal(err)
		}
	}
	if got := append(read("list1"), read("list2")...); !slices.Equal(got, []string{"x"}) {
		t.Errorf("after one list was taken away: got %v, want the other", got)
	}
}
