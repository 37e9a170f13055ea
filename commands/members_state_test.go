package commands

import (
	"errors"
	"testing"
	"time"
)

func TestAListThatCannotBeUsedIsCountedAndAlarmsOnce(t *testing.T) {
	s := &shelf{lists: map[string][][]string{}}
	var alarms []Alarm
	k, now := knownOver(s, KnownMembersOptions{Alarm: func(a Alarm) { alarms = append(alarms, a) }})
	want := func(when string, standing MemberStanding, told, reads int) {
		t.Helper()
		if got := k.Standing(); got != standing || len(alarms) != told || s.reads != reads {
			t.Errorf("%s: got %+v, %d alarms, %d reads; want %+v, %d, %d", when, got, len(alarms), s.reads, standing, told, reads)
		}
	}
	want("before anything", MemberStanding{}, 0, 0)
	list := s.listOf("l1", "u1", "u2")
	s.err = errors.New("away")
	for range 3 {
		k.load(t.Context(), list)
	}
	want("the store is away", MemberStanding{Unreadable: 1}, 1, 3)
	s.err = nil
	s.lists["l1"] = [][]string{{"u1"}}
	for range 3 {
		k.load(t.Context(), list)
	}
	want("half of it is stored", MemberStanding{Wrong: 1}, 2, 4)
	if got := k.Prepare(t.Context(), list); got.Fault != MembersWrong || got.Count != 1 || got.Digest == list.Digest {
		t.Errorf("prepared: got %+v, want it wrong, with what is stored", got)
	}
	want("who asks for it makes it read", MemberStanding{Wrong: 1}, 2, 5)
	*now = now.Add(wrongAgain)
	s.lists["l1"] = [][]string{{"u1", "u2"}}
	k.load(t.Context(), list)
	want("put right", MemberStanding{Loaded: 1}, 2, 6)
	if got := k.Prepare(t.Context(), list); got != (MemberState{Count: 2, Digest: list.Digest}) {
		t.Errorf("prepared: got %+v, want what the log says", got)
	}
	want("what is in memory is not read again", MemberStanding{Loaded: 1}, 2, 6)
	for _, a := range alarms {
		if a.Kind != AlarmMembers || a.Detail == "" {
			t.Errorf("got alarm %+v, want members with a reason", a)
		}
	}
	gone := s.listOf("l2", "u1")
	delete(s.lists, "l2")
	k.load(t.Context(), gone)
	want("another one is gone", MemberStanding{Loaded: 1, Wrong: 1}, 3, 7)
	*now = now.Add(2 * time.Minute)
	want("nobody needs it any more", MemberStanding{Loaded: 1}, 3, 7)
}
