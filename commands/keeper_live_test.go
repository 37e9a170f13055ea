package commands_test

import (
	"context"
	"testing"

	"seckill/commands"
	"seckill/eventstore"
	"seckill/eventstore/memstore"
)

// busyLog sells and records a unit right before it tells where it stands.
type busyLog struct {
	*memstore.Store
	sell func()
}

func (l *busyLog) Cursors(ctx context.Context, lanes []int) ([]eventstore.Cursor, error) {
	l.sell()
	return l.Store.Cursors(ctx, lanes)
}

// A lane that is recovered sells nothing for as long as that takes, so one that sells is
// left alone, however much is sold and recorded while it is looked at.
func TestB25APreheatOfALaneThatSellsDoesNotStopIt(t *testing.T) {
	s := newStall(t, 9)
	s.record()
	sold := 0
	log := &busyLog{s.store, func() {
		sold++
		s.awaitRecorded(s.buy(string(rune('a' + sold))))
	}}
	keeper := commands.NewKeeper(s.env, commands.NewSales(log, s.env.Now, commands.SalesOptions{}), s.gate, log,
		commands.NewFollower(s.env, log, s.gate), freeLocks{}, commands.KeeperOptions{})
	before, err := s.gate.Lane(t.Context(), s.place.Lane())
	if err != nil {
		t.Fatal(err)
	}
	if err := keeper.Preheat(t.Context(), s.place.Sale); err != nil {
		t.Fatal(err)
	}
	after, err := s.gate.Lane(t.Context(), s.place.Lane())
	if err != nil {
		t.Fatal(err)
	}
	if sold == 0 || !after.Selling() || after.Epoch != before.Epoch {
		t.Errorf("%d units were sold meanwhile, and the lane went from epoch %d to %d (selling: %t); want it left alone", sold, before.Epoch, after.Epoch, after.Selling())
	}
}
