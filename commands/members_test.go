package commands

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"slices"
	"testing"
	"time"

	"seckill/domain"
)

// shelf keeps lists in memory.
type shelf struct {
	lists map[string][][]string
	reads int
	err   error
}

func (s *shelf) AddPart(_ context.Context, _, list string, part int, buyers []string) error {
	if s.err == nil && part != len(s.lists[list]) {
		s.err = errors.New("a part came out of order")
	}
	s.lists[list] = append(s.lists[list], slices.Clone(buyers))
	return s.err
}

func (s *shelf) Read(_ context.Context, list string, each func([]string)) error {
	s.reads++
	for _, part := range s.lists[list] {
		each(part)
	}
	return s.err
}

func (s *shelf) Drop(_ context.Context, list string) error {
	delete(s.lists, list)
	return s.err
}

func (s *shelf) Lists(context.Context, string) ([]string, error) { return nil, s.err }

// listOf stores a list and says what it holds.
func (s *shelf) listOf(id string, buyers ...string) domain.MemberList {
	var set domain.MemberSet
	for _, b := range buyers {
		set.Add(b)
	}
	set.Seal()
	s.lists[id] = [][]string{buyers}
	return domain.MemberList{ID: id, Count: set.Count(), Digest: set.Digest()}
}

func knownOver(s *shelf, opts KnownMembersOptions) (*KnownMembers, *time.Time) {
	now := pastBegins
	env := &Env{Now: func() time.Time { return now }, Log: slog.New(slog.DiscardHandler)}
	return NewKnownMembers(env, nil, s, opts), &now
}

// loadWanted reads what was wanted, as Run does.
func (k *KnownMembers) loadWanted() {
	for {
		select {
		case list := <-k.wanted:
			k.load(context.Background(), list)
		default:
			return
		}
	}
}

func TestAMemberIsKnownOnceTheListIsInMemory(t *testing.T) {
	s := &shelf{lists: map[string][][]string{}}
	k, _ := knownOver(s, KnownMembersOptions{})
	list := s.listOf("l1", "u1", "u2")
	for range 3 * maxWantedLists { // more than wait
		if _, known := k.Has(list, "u1"); known {
			t.Fatal("known before it was read")
		}
	}
	k.loadWanted()
	if s.reads != 1 {
		t.Errorf("the list was read %d times, want once", s.reads)
	}
	for buyer, want := range map[string]bool{"u1": true, "u2": true, "u3": false} {
		if has, known := k.Has(list, buyer); has != want || !known {
			t.Errorf("%s: got %t, known %t; want %t", buyer, has, known, want)
		}
	}
}

func TestAListThatIsNotWhatTheLogSaysIsNotUsed(t *testing.T) {
	s := &shelf{lists: map[string][][]string{}}
	for name, spoil := range map[string]func(*domain.MemberList){
		"another count":  func(l *domain.MemberList) { l.Count++ },
		"another digest": func(l *domain.MemberList) { l.Digest = "d" },
		"it is gone":     func(l *domain.MemberList) { delete(s.lists, l.ID) },
		"half of it":     func(l *domain.MemberList) { s.lists[l.ID][0] = s.lists[l.ID][0][:1] },
	} {
		k, _ := knownOver(s, KnownMembersOptions{})
		list := s.listOf("l1", "u1", "u2")
		spoil(&list)
		k.Has(list, "u1")
		k.loadWanted()
		if has, known := k.Has(list, "u1"); has || known {
			t.Errorf("%s: got %t, known %t; want it unknown", name, has, known)
		}
	}
}

func TestListsInMemoryAreBounded(t *testing.T) {
	s := &shelf{lists: map[string][][]string{}}
	k, now := knownOver(s, KnownMembersOptions{MaxBuyers: 5})
	lists := []domain.MemberList{s.listOf("l1", "a", "b"), s.listOf("l2", "a", "b"), s.listOf("l3", "a", "b")}
	for _, l := range lists[:2] {
		k.load(t.Context(), l)
	}
	*now = now.Add(time.Second)
	k.Has(lists[0], "a") // l2 was not asked for the longest
	k.load(t.Context(), lists[2])
	for i, want := range []bool{true, false, true} {
		if _, known := k.Has(lists[i], "a"); known != want {
			t.Errorf("list %d: known %t, want %t", i+1, known, want)
		}
	}
	big := s.listOf("l4", "1", "2", "3", "4", "5", "6")
	k.load(t.Context(), big)
	if has, known := k.Has(big, "6"); !has || !known {
		t.Error("a list that is larger than the bound is not known: nobody could buy")
	}
	if n := len(*k.sets.Load()); n != 1 {
		t.Errorf("%d lists are in memory beside it, want it alone", n)
	}
}

func TestWhoMayBuyFulfilsTierAndList(t *testing.T) {
	s := &shelf{lists: map[string][][]string{}}
	k, _ := knownOver(s, KnownMembersOptions{})
	list, late := s.listOf("l1", "u1"), s.listOf("l2", "u1")
	k.load(t.Context(), list)
	gold := []string{"gold"}
	for name, c := range map[string]struct {
		tiers       []string
		members     *domain.MemberList
		buyer, tier string
		ok, known   bool
	}{
		"everybody":                     {nil, nil, "u9", "", true, true},
		"the tier":                      {gold, nil, "u9", "gold", true, true},
		"not the tier":                  {gold, nil, "u9", "silver", false, true},
		"on the list":                   {nil, &list, "u1", "", true, true},
		"not on the list":               {nil, &list, "u2", "", false, true},
		"both":                          {gold, &list, "u1", "gold", true, true},
		"the list without the tier":     {gold, &list, "u1", "", false, true},
		"the tier, not on the list":     {gold, &list, "u2", "gold", false, true},
		"a list that is not in memory":  {nil, &late, "u1", "", false, false},
		"such a list, without the tier": {gold, &late, "u1", "", false, true},
	} {
		sale := domain.Sale{Terms: domain.SaleTerms{EligibleTiers: c.tiers}, Members: c.members}
		if ok, known := mayBuy(&sale, k, c.buyer, c.tier); ok != c.ok || known != c.known {
			t.Errorf("%s: got %t, known %t; want %t, known %t", name, ok, known, c.ok, c.known)
		}
	}
	if ok, known := mayBuy(&domain.Sale{Members: &list}, nil, "u1", ""); ok || known {
		t.Error("where lists cannot be told, somebody may buy")
	}
}

func TestMembersAreStoredInPartsAndAFaultStoresNothingThatCounts(t *testing.T) {
	s := &shelf{lists: map[string][][]string{}}
	m := &Members{Lists: s}
	n := 0
	next := func() (string, error) {
		if n++; n > 2*memberPart+1 {
			return "", io.EOF
		}
		return "u" + string(rune('a'+n%26)) + string(rune('a'+n/26%26)), nil
	}
	set, err := m.store(t.Context(), "sale", "l1", next)
	if err != nil || len(s.lists["l1"]) != 3 || len(s.lists["l1"][2]) != 1 || set.Count() != 26*26 {
		t.Fatalf("got %d parts, %d buyers, %v; want 3 parts and %d buyers", len(s.lists["l1"]), set.Count(), err, 26*26)
	}
	if _, err := m.store(t.Context(), "sale", "l2", func() (string, error) { return "", errNoSale() }); err == nil {
		t.Error("the error of a line is lost")
	}
	s.err = errors.New("away")
	n = 0
	if _, err := m.store(t.Context(), "sale", "l3", next); !errors.Is(err, s.err) {
		t.Errorf("got %v, want that the store is away", err)
	}
}
