package e2e

import (
	"context"
	"testing"

	"seckill/commands"
	"seckill/domain"
)

// checks gives what the stream of a sale tells of preheats, oldest first.
func (n *Node) checks(t *testing.T, sale string) []domain.SaleChecked {
	t.Helper()
	var all []domain.SaleChecked
	page, err := n.Store.ReadStream(context.Background(), domain.SaleStream(sale), 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	for _, record := range page {
		ev, err := domain.Decode(record.Type, record.Schema, record.Payload)
		if err != nil {
			t.Fatal(err)
		}
		if checked, is := ev.(*domain.SaleChecked); is {
			all = append(all, *checked)
		}
	}
	return all
}

func TestAPreheatThatSomebodyAskedForIsAnEventWhateverItFinds(t *testing.T) {
	_, n, sale := selling(t, 10)
	ctx, boss := context.Background(), commands.Actor{By: "boss"}
	for range 2 {
		if report, err := n.preheats().Full(ctx, sale, boss); err != nil || !report.Verified {
			t.Fatalf("got %+v, %v; want clean", report.Differences, err)
		}
	}
	if report, err := n.preheats().Full(ctx, sale, commands.Actor{By: "scheduler", Routine: true}); err != nil || !report.Verified {
		t.Fatalf("got %+v, %v; want clean", report.Differences, err)
	}
	got := n.checks(t, sale)
	if len(got) != 2 || got[0].By != "boss" || got[0].Differences != 0 || got[0].Keys == 0 || got[1].Version != got[0].Version+1 {
		t.Errorf("got %+v; want two of boss and none of the scheduler", got)
	}
	if n.Placed(t, sale, "u", 1); len(n.checks(t, sale)) != 2 {
		t.Error("a purchase is taken for a preheat")
	}
	StandingChecks(t, n, sale, nil)
}

func TestAPreheatTellsOfTheSaleAsItStandsWhenItEnds(t *testing.T) {
	_, n, sale := selling(t, 10)
	p := n.preheats()
	env, changed := *p.Env, false
	env.Step = func(point string) {
		if point != "preheat.after-compare" || changed {
			return
		}
		changed = true
		if _, err := n.revise(sale, n.version(t, sale), func(terms *domain.SaleTerms) { terms.Title = "another" }); err != nil {
			t.Error(err)
		}
	}
	p.Env = &env
	report, err := p.Full(context.Background(), sale, commands.Actor{By: "boss"})
	got := n.checks(t, sale)
	if err != nil || !changed || len(got) != 1 || got[0].Version != report.Version || n.version(t, sale) != report.Version+1 {
		t.Errorf("got %+v, report of version %d, %v; want one event, of the version after the change", got, report.Version, err)
	}
}
