package redisgate_test

import (
	"fmt"
	"testing"
	"time"

	"seckill/commands"
	"seckill/commands/gatetest"
	"seckill/domain"
	"seckill/infra/redisgate"
	"seckill/infra/testenv"
)

// TestACrowdThatFindsNothingIsToldSoByLeanCallsUntilUnitsComeBack: what comes back is
// sold to the first who asks, and the journal has it, although the call before it
// carried nothing that the journal could have.
func TestACrowdThatFindsNothingIsToldSoByLeanCallsUntilUnitsComeBack(t *testing.T) {
	calls := 0
	gate := openGate(t, testenv.Redis(t), redisgate.Options{OnCall: func(script string, batch int, _ time.Duration) {
		if script == "reserve" && batch == redisgate.LeanFrom {
			calls++
		}
	}})
	stage := gatetest.NewStage(t, gatetest.Subject{Ports: gate})
	show := stage.Open(nil, 1)
	lane := show.Place.Lane()
	first := stage.Buy(show, "first", domain.Reserved, 1)
	round := 0
	crowd := func(reserved int) {
		t.Helper()
		round++
		batch := make([]commands.Reservation, redisgate.LeanFrom)
		for i := range batch {
			batch[i] = stage.Ask(show, fmt.Sprintf("buyer-%d-%d", round, i), 1)
		}
		for i, told := range redisgate.ReserveTogether(t.Context(), gate, batch) {
			want := domain.SoldOut
			if i < reserved {
				want = domain.Reserved
			}
			if told.Err != nil || told.Outcome != want || told.Weak {
				t.Fatalf("purchase %d of crowd %d: got %s, %v, want %s", i, round, told.Outcome, told.Err, want)
			}
		}
	}
	for range redisgate.LeanAfter {
		if redisgate.IsLean(gate, lane) {
			t.Fatalf("lean after %d calls", round)
		}
		crowd(0)
	}
	if !redisgate.IsLean(gate, lane) {
		t.Fatal("not lean after calls that took nothing")
	}
	crowd(0)
	if calls != round {
		t.Fatalf("%d crowds that found nothing took %d calls", round, calls)
	}
	stage.Record(show)
	stage.Return(show, first)
	stage.Catchup(show)
	crowd(1)
	if calls != round+1 {
		t.Fatalf("%d crowds, of which the last took something, took %d calls, want one more", round, calls)
	}
	if redisgate.IsLean(gate, lane) {
		t.Fatal("lean after a call that took something")
	}
	stage.WantLeft(show, "A", 0)
	stage.Record(show) // what was taken is in the journal
	stage.Recover(lane)
	stage.WantLeft(show, "A", 0)
}

// TestALeanCallTellsAnOrderThatItIsThere, and where a proof of it is asked for, that
// there is none: a server proves what a call wrote.
func TestALeanCallTellsAnOrderThatItIsThere(t *testing.T) {
	gate := openGate(t, testenv.Redis(t), redisgate.Options{})
	stage := gatetest.NewStage(t, gatetest.Subject{Ports: gate})
	show := stage.Open(nil, 1)
	batch := []commands.Reservation{stage.Buy(show, "first", domain.Reserved, 1)}
	for i := len(batch); i < redisgate.LeanFrom; i++ {
		batch = append(batch, stage.Ask(show, fmt.Sprintf("buyer-%d", i), 1))
	}
	for _, asked := range []domain.Acknowledgement{"", domain.AcknowledgeReplicated} {
		redisgate.MakeLean(gate, show.Place.Lane())
		batch[0].Strength = asked
		told := redisgate.ReserveTogether(t.Context(), gate, batch)
		if told[0].Err != nil || told[0].Outcome != domain.SameOrder || told[0].Weak != (asked != "") {
			t.Errorf("asked for %q: got %s, %v, weak %t, want the order, weak only where a proof was asked for", asked, told[0].Outcome, told[0].Err, told[0].Weak)
		}
	}
}
