package cli

import (
	"strings"
	"testing"
	"time"
)

func TestABreakIsGradedByWhatBuyersSawAndWhatBecameOfIt(t *testing.T) {
	broke := time.Unix(1_000_000, 0)
	at := func(ms, took int, word string) toldOnce {
		sent := broke.Add(time.Duration(ms) * time.Millisecond)
		return toldOnce{heard: heard{word: word, order: map[bool]string{true: "o"}[word == wordAccepted]}, sent: sent, at: sent.Add(time.Duration(took) * time.Millisecond)}
	}
	told := []toldOnce{at(100, 10, wordAccepted), at(200, 900, "503 busy"), at(4000, 10, "503 not_ready"), at(5000, 20, wordAccepted), at(9000, 10, wordAccepted)}
	var s storesStep
	s.seen(told, broke, broke.Add(6*time.Second))
	if s.Acked != 2 || s.StallMS != 4910 || s.SlowestMS != 900 || s.Answers["503 busy"] != 1 || s.Answers[wordAccepted] != 2 {
		t.Errorf("got %+v, want two orders, 4.91 s without any, and the slowest 0.9 s", s)
	}
	s.NormalMS = 700
	s.grade(time.Second)
	if bad := failed(s.Grades); len(bad) > 0 {
		t.Errorf("got %v, want every grade good", bad)
	}
	for name, spoil := range map[string]func(*storesStep){
		"act on":       func(s *storesStep) { s.Answers["500 internal"] = 1 },
		"budget":       func(s *storesStep) { s.SlowestMS = 2001 },
		"is lost":      func(s *storesStep) { s.Lost = 1 },
		"before in":    func(s *storesStep) { s.NormalMS = 1001 },
		"as before in": func(s *storesStep) { s.NormalMS = -1 },
	} {
		bad := storesStep{Answers: map[string]int64{wordAccepted: 1}, NormalMS: 700}
		spoil(&bad)
		bad.grade(time.Second)
		got := failed(bad.Grades)
		if len(got) != 1 || !strings.Contains(got[0], name) {
			t.Errorf("%s: got %v", name, got)
		}
		r := storesReport{Steps: []storesStep{bad}, Checks: []drillCheck{{Name: "the books agree", OK: true}}}
		r.judge()
		if r.Good {
			t.Errorf("%s: got a good drill", name)
		}
	}
	r := storesReport{Steps: []storesStep{s, {Step: "kafka_stopped", Skipped: "none"}}, Checks: []drillCheck{{Name: "the books agree", OK: true}}}
	if r.judge(); !r.Good {
		t.Errorf("got %+v, want a good drill: what was not tried spoils nothing", r)
	}
	r.Steps = r.Steps[1:]
	if r.judge(); r.Good {
		t.Error("a drill in which nothing was tried is good")
	}
}

func TestAllIsAsBeforeWhenTenInARowGotAnOrderInTime(t *testing.T) {
	from := time.Unix(1_000_000, 0)
	l := &tellsAll{}
	for i := range steady {
		sent := from.Add(time.Duration(i) * time.Second)
		if _, ok := l.settled(from); ok {
			t.Fatalf("settled after %d", i)
		}
		l.note(toldOnce{heard: heard{word: wordAccepted}, sent: sent, at: sent.Add(time.Millisecond)})
	}
	if began, ok := l.settled(from); !ok || !began.Equal(from) {
		t.Errorf("got %v %t, want the first of the ten", began, ok)
	}
	l.note(toldOnce{heard: heard{word: "503 busy"}, sent: from, at: from.Add(time.Hour)})
	if _, ok := l.settled(from); ok {
		t.Error("settled although the last was refused")
	}
}
