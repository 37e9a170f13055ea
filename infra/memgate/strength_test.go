package memgate_test

import (
	"context"
	"testing"
	"time"

	"seckill/commands/gatetest"
	"seckill/domain"
	"seckill/infra/memgate"
)

func TestAGateInMemoryGivesMemoryAlone(t *testing.T) {
	g := memgate.New(1, time.Now)
	stage := gatetest.NewStage(t, gatetest.Subject{Ports: g})
	show := stage.Open(nil, 10)
	given, err := g.Strength(context.Background(), show.Place)
	if err != nil {
		t.Fatal(err)
	}
	for _, asked := range domain.Acknowledgements() {
		memory := asked == domain.AcknowledgeMemory
		if (given[asked] == "") != memory {
			t.Errorf("%s: lacks %q", asked, given[asked])
		}
		r := stage.Ask(show, "u-"+string(asked), 1)
		r.Strength = asked
		for _, want := range []domain.Outcome{domain.Reserved, domain.SameOrder} {
			if v, err := g.Reserve(context.Background(), r); err != nil || v.Outcome != want || v.Weak == memory {
				t.Errorf("%s: %v, weak %t, %v; want %v, weak %t", asked, v.Outcome, v.Weak, err, want, !memory)
			}
		}
	}
}
