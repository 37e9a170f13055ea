package e2e

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"seckill/commands"
	"seckill/domain"
	"seckill/infra/testenv"
)

// preheats are those of a node.
func (n *Node) preheats() *commands.Preheats {
	return &commands.Preheats{Env: n.Env, Sales: n.Sales, Log: n.Store, Gate: n.Gate, Preheat: n.Keeper.Preheat, Operator: n.Operator}
}

// differing names the differences of a report.
func differing(r commands.PreheatReport) []string {
	var keys []string
	for _, d := range r.Differences {
		keys = append(keys, d.Key)
	}
	return keys
}

func stockKeyOf(sale, field string) string { return "stock:" + sale + ":item:0/" + field }
func saleKeyOf(sale, field string) string  { return "sale:" + sale + ":0/" + field }

// B25 for the whole way: preheated over and over, live and after a restart of
// Redis, nothing that is sold changes and nothing differs.
func TestB25PreheatingTwiceOrLiveChangesNothingSold(t *testing.T) {
	r, n, sale := selling(t, 100)
	ctx := context.Background()
	actor := commands.Actor{By: "test"}
	accepted := map[string]string{}
	var buying sync.WaitGroup
	var mu sync.Mutex
	for i := range 30 {
		buying.Go(func() {
			buyer := fmt.Sprintf("u%d", i)
			result, err := n.Buy(sale, buyer)
			if err != nil || result.Outcome != domain.Reserved {
				t.Errorf("%s: got %v, %v", buyer, result.Outcome, err)
				return
			}
			mu.Lock()
			accepted[result.Order.ID] = buyer
			mu.Unlock()
		})
	}
	for range 5 { // beside the buyers
		if report, err := n.preheats().Full(ctx, sale, actor); err != nil || !report.Verified {
			t.Errorf("live: got %+v, %v; want verified", report.Differences, err)
		}
	}
	buying.Wait()
	wantWarm := func(when string) {
		t.Helper()
		report, err := n.preheats().Full(ctx, sale, actor)
		if err != nil || !report.Verified || report.Values[stockKeyOf(sale, "available")] != "70" || report.Keys != len(report.Values) || report.OfBuyers == 0 {
			t.Fatalf("%s: got %+v, %v; want 70 left and everything as the log says", when, report, err)
		}
	}
	wantWarm("sold out of hand")
	n.AwaitDecided(t, accepted)
	before := n.lane(t, sale).Epoch
	r.Redis.Restart()
	testenv.Eventually(t, 60*time.Second, func() error {
		if state, err := n.Gate.Lane(ctx, domain.Place{Store: n.Env.Store, Sale: sale}.Lane()); err != nil || !state.Selling() || state.Epoch == before {
			return fmt.Errorf("not recovered: %+v, %v", state, err)
		}
		return nil
	})
	n.AwaitOpen(t, sale)
	wantWarm("after a restart")
	StandingChecks(t, n, sale, accepted)
}

func TestAPreheatNamesWhatIsNotAsTheLogSaysAndMendsOnlyWhatIsNotSold(t *testing.T) {
	r, n, sale := selling(t, 10)
	ctx, actor := context.Background(), commands.Actor{By: "test"}
	n.Placed(t, sale, "u", 1)
	n.WantLeft(t, sale, 9)
	client := r.client(t)
	set := func(kind, field, value string) {
		t.Helper()
		keys, err := client.Keys(ctx, r.Namespace+"*:"+kind+":"+sale+":*").Result()
		if err != nil || len(keys) != 1 {
			t.Fatalf("keys %v, %v", keys, err)
		}
		if err := client.HSet(ctx, keys[0], field, value).Err(); err != nil {
			t.Fatal(err)
		}
	}
	set("stock", "available", "12")
	set("sale", "limit", "7")
	report, err := n.preheats().Verify(ctx, sale)
	want := []string{saleKeyOf(sale, "limit"), stockKeyOf(sale, "available")}
	if err != nil || !slices.Equal(differing(report), want) || report.Verified {
		t.Fatalf("verify: got %+v, %v; want %v", report.Differences, err, want)
	}
	if d := report.Differences[1]; d.Want != "9" || d.Got != "12" {
		t.Errorf("units: got %+v; want 9, got 12", d)
	}
	report, err = n.preheats().Full(ctx, sale, actor)
	if err != nil || !slices.Equal(differing(report), want[1:]) || report.Values[saleKeyOf(sale, "limit")] != "1" {
		t.Fatalf("full: got %+v, %v; want the limit written again and the units told", report.Differences, err)
	}
	set("stock", "available", "9")
	if report, err = n.preheats().Verify(ctx, sale); err != nil || !report.Verified {
		t.Fatalf("put right: got %+v, %v", report.Differences, err)
	}
	if _, err := n.preheats().Verify(ctx, "zzzzzzzz"); !isProblem(err, domain.CodeSaleNotFound) {
		t.Errorf("an unknown sale: got %v", err)
	}
}

func isProblem(err error, code domain.Code) bool {
	var p *domain.Problem
	return errors.As(err, &p) && p.Code == code
}

func TestASaleThatWaitsOpensOnlyAfterAConfirmationThatFollowsACleanPreheat(t *testing.T) {
	n, sale := opened(t, 5, func(terms *domain.SaleTerms) { terms.AutoOpen = false })
	ctx, actor := context.Background(), commands.Actor{By: "boss", Note: "looked"}
	refused := func(when string) {
		t.Helper()
		if _, err := n.Operator.Confirm(ctx, sale, actor); !isProblem(err, domain.CodeNotReconciled) {
			t.Fatalf("%s: confirmed with %v; want not_reconciled", when, err)
		}
		if result, err := n.Buy(sale, "u"); err != nil || result.Outcome != domain.Paused {
			t.Fatalf("%s: bought with %v, %v; want paused", when, result.Outcome, err)
		}
	}
	refused("never preheated")
	if _, err := n.preheats().Verify(ctx, sale); err != nil {
		t.Fatal(err)
	}
	refused("only verified")
	if report, err := n.preheats().Full(ctx, sale, actor); err != nil || !report.Verified {
		t.Fatalf("preheat: %+v, %v", report.Differences, err)
	}
	version := n.version(t, sale)
	routine := commands.Actor{By: "scheduler", Routine: true}
	if report, err := n.preheats().Full(ctx, sale, routine); err != nil || !report.Verified || n.version(t, sale) != version {
		t.Fatalf("preheated again by itself: %+v, %v, version %d; want no further event", report.Differences, err, n.version(t, sale))
	}
	if report, err := n.preheats().Full(ctx, sale, actor); err != nil || !report.Verified || n.version(t, sale) != version+1 {
		t.Fatalf("preheated again by a person: %+v, %v, version %d; want an event of it", report.Differences, err, n.version(t, sale))
	}
	version++
	if _, err := n.revise(sale, version, func(terms *domain.SaleTerms) { terms.LimitPerBuyer = 2 }); err != nil {
		t.Fatal(err)
	}
	refused("revised since")
	if report, err := n.preheats().Full(ctx, sale, actor); err != nil || !report.Verified {
		t.Fatalf("preheat: %+v, %v", report.Differences, err)
	}
	confirmed, err := n.Operator.Confirm(ctx, sale, actor)
	if err != nil || !confirmed.MayOpen() {
		t.Fatalf("confirm: %+v, %v", confirmed, err)
	}
	if again, err := n.Operator.Confirm(ctx, sale, actor); err != nil || again.Version != confirmed.Version {
		t.Errorf("confirm again: version %d, %v; want nothing new after %d", again.Version, err, confirmed.Version)
	}
	order := n.Placed(t, sale, "u", 2)
	if _, err := n.revise(sale, n.version(t, sale), func(terms *domain.SaleTerms) { terms.LimitPerBuyer = 3 }); !isProblem(err, domain.CodeInvalidRequest) {
		t.Errorf("the limit once it is open: got %v; want it refused", err)
	}
	StandingChecks(t, n, sale, map[string]string{order: "u"})
}

// version is a sale's now.
func (n *Node) version(t testing.TB, sale string) int64 {
	t.Helper()
	folded, err := n.Sales.Fold(context.Background(), sale)
	if err != nil {
		t.Fatal(err)
	}
	return folded.Version
}

// revise changes the terms of a sale at a version.
func (n *Node) revise(sale string, version int64, change func(*domain.SaleTerms)) (commands.FoldedSale, error) {
	return n.Operator.Revise(context.Background(), commands.Revision{Sale: sale, Version: version,
		Change: func(t domain.SaleTerms) (domain.SaleTerms, []domain.FieldError) { change(&t); return t, nil }}, commands.Actor{By: "test"})
}

func TestTheSchedulerPreheatsBeforeAnOpeningAndAlarmsWhileItDiffers(t *testing.T) {
	r, n, _ := selling(t, 1)
	terms := Terms(10)
	terms.OpensAt, terms.ClosesAt = time.Now().Add(9*time.Minute), time.Now().Add(time.Hour)
	sale := n.Schedule(t, terms)
	var told []string
	alarms := 0
	var ahead time.Duration
	env := *n.Env
	env.Now = func() time.Time { return time.Now().Add(ahead) }
	watch := &commands.PreheatWatch{Env: &env, Sales: n.Sales, Full: n.preheats().Full, Verify: n.preheats().Verify,
		Alarm: func(a commands.Alarm) {
			if a.Kind != commands.AlarmPreheat || !strings.Contains(a.Detail, sale) {
				t.Errorf("alarm %+v; want preheat of sale %s", a, sale)
			}
			alarms++
		},
		Told: func(d commands.PreheatDone) { told = append(told, d.Step+" "+d.Result) }}
	look := func(at time.Duration, want ...string) {
		t.Helper()
		ahead, told = at, nil
		if err := watch.Look(context.Background()); err != nil || !slices.Equal(told, want) {
			t.Fatalf("after %s: got %q, %v; want %q", at, told, err, want)
		}
	}
	look(0, "full clean")
	look(time.Minute)
	client, ctx := r.client(t), context.Background()
	keys, err := client.Keys(ctx, r.Namespace+"*:stock:"+sale+":*").Result()
	if err != nil || len(keys) != 1 {
		t.Fatalf("keys %v, %v", keys, err)
	}
	client.HSet(ctx, keys[0], "available", "11")
	look(8*time.Minute+10*time.Second, "verify differs")
	look(8*time.Minute + 12*time.Second)
	look(8*time.Minute+30*time.Second, "verify differs")
	if alarms != 1 {
		t.Errorf("alarms: got %d, want one for the step", alarms)
	}
	client.HSet(ctx, keys[0], "available", "10")
	look(8*time.Minute+50*time.Second, "verify clean")
	watch = &commands.PreheatWatch{Env: &env, Sales: n.Sales, Full: watch.Full, Verify: watch.Verify, Alarm: watch.Alarm, Told: watch.Told}
	look(8*time.Minute+52*time.Second, "full clean") // another process leads now
	look(8*time.Minute+53*time.Second, "verify clean")
	look(9*time.Minute + time.Second) // it has opened
}
