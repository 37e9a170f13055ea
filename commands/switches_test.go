package commands_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"seckill/commands"
	"seckill/domain"
	"seckill/infra/memgate"
)

// desk is a switchboard over a real log; its gate holds nothing.
type desk struct {
	*vault
	sales    *commands.Sales
	operator *commands.Operator
	board    *commands.Switchboard
}

func newDesk(t *testing.T) *desk {
	d := &desk{vault: newVault(t)}
	d.env.Random = bytes.NewReader(bytes.Repeat([]byte{0, 0, 0, 0, 7, 0, 0, 0, 0, 8}, 50))
	d.sales = commands.NewSales(d.store, d.env.Now, commands.SalesOptions{})
	gate := memgate.New(1, time.Now)
	d.operator = &commands.Operator{Env: d.env, Sales: d.sales, Log: d.store, Gate: gate, Follow: commands.NewFollower(d.env, d.store, gate),
		Preheat: func(context.Context, string) error { return nil }}
	d.board = d.boardOf()
	d.operator.Standing = d.board.Standing
	return d
}

func (d *desk) boardOf() *commands.Switchboard {
	return commands.NewSwitchboard(d.env, d.sales, d.store, d.operator)
}

func (d *desk) schedule() string {
	d.t.Helper()
	sale, err := d.operator.Schedule(d.t.Context(), domain.SaleTerms{
		Title: "T", OpensAt: time.Now(), ClosesAt: time.Now().Add(time.Hour), AutoOpen: true,
		Items: []domain.ItemTerms{{SKU: "a", Price: domain.Money{Minor: 1, Currency: "CNY"}, Stock: 1}},
	}, commands.Actor{By: "test"})
	if err != nil {
		d.t.Fatal(err)
	}
	return sale.ID
}

func (d *desk) flip(name domain.SwitchName, on bool, sale string) commands.SwitchState {
	d.t.Helper()
	state, err := d.board.Flip(d.t.Context(), commands.Flip{Name: name, On: on, Sale: sale}, commands.Actor{By: "boss", Note: fmt.Sprintf("%s %t", name, on)})
	if err != nil {
		d.t.Fatalf("flip %s: %v", name, err)
	}
	return state
}

func (d *desk) switches(sale string) []domain.SaleSwitch {
	d.t.Helper()
	folded, err := d.sales.Fold(d.t.Context(), sale)
	if err != nil {
		d.t.Fatal(err)
	}
	return folded.Switches
}

func (d *desk) want(when, sale string, want ...domain.SaleSwitch) {
	d.t.Helper()
	got := slices.Clone(d.switches(sale))
	for i := range got {
		got[i].By, got[i].Reason = "", ""
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		d.t.Errorf("%s, sale %s (-want +got):\n%s", when, sale, diff)
	}
}

func TestWhatIsFlippedEverywhereStandsInEverySaleAndInThoseToCome(t *testing.T) {
	d := newDesk(t)
	first := d.schedule()
	everywhere := domain.SaleSwitch{Name: domain.PausePurchases, Everywhere: true}
	state := d.flip(domain.PausePurchases, true, "")
	if !state.On || state.By != "boss" || state.Reason != "pause_purchases true" || state.At.IsZero() {
		t.Errorf("the switch: got %+v", state)
	}
	d.want("on", first, everywhere)
	second := d.schedule()
	d.want("on, a new sale", second, everywhere)
	d.flip(domain.ForceEnded, true, first)
	d.flip(domain.PauseNoncore, true, "")
	d.want("its own too", first, everywhere, domain.SaleSwitch{Name: domain.ForceEnded})
	if !slices.Equal(namesOf(d.board.Everywhere()), []domain.SwitchName{domain.PausePurchases, domain.PauseNoncore}) || !d.board.On(domain.PauseNoncore) {
		t.Errorf("everywhere: got %v", d.board.Everywhere())
	}
	d.flip(domain.PausePurchases, false, "")
	d.want("off", first, domain.SaleSwitch{Name: domain.ForceEnded})
	d.want("off", second)
	list, err := d.boardOf().List(t.Context())
	if err != nil || len(list) != len(domain.SwitchNames())+1 {
		t.Fatalf("the list: got %+v, %v", list, err)
	}
	if last := list[len(list)-1]; last.Sale != first || last.Name != domain.ForceEnded || !last.On || last.By != "boss" || last.At.IsZero() {
		t.Errorf("the sale's own in the list: got %+v", last)
	}
	if p := list[3]; p.Name != domain.PausePurchases || p.On || p.Reason != "pause_purchases false" {
		t.Errorf("what was turned off in the list: got %+v", p)
	}
}

func namesOf(states []commands.SwitchState) (names []domain.SwitchName) {
	for _, state := range states {
		names = append(names, state.Name)
	}
	return names
}

func TestTurningASwitchThatStandsSoRecordsNothing(t *testing.T) {
	d := newDesk(t)
	sale := d.schedule()
	for _, where := range []string{"", sale} {
		d.flip(domain.SkipEligibility, false, where)
		d.flip(domain.SkipEligibility, true, where)
		before, err := d.store.Head(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		d.flip(domain.SkipEligibility, true, where)
		after, err := d.store.Head(t.Context())
		if err != nil || after != before {
			t.Errorf("for sale %q: the log went from %s to %s (%v)", where, before, after, err)
		}
	}
}

// Somebody takes over a switch that is on, or finds another cause: whoever asks
// later why it is on must find the newest, and the log both.
func TestTurningOnWhatIsOnRecordsAnotherReasonAndAnotherPerson(t *testing.T) {
	d := newDesk(t)
	sale := d.schedule()
	for _, where := range []string{"", sale} {
		stream := domain.SwitchStream
		if where != "" {
			stream = domain.SaleStream(sale)
		}
		for _, who := range []commands.Actor{{By: "ann", Note: "a wrong price"}, {By: "ann", Note: "a lawyer called"}, {By: "bob", Note: "a lawyer called"}} {
			before := d.version(stream)
			flip := commands.Flip{Name: domain.ForceEnded, On: true, Sale: where}
			for range 2 { // a client that heard no answer asks again
				state, err := d.board.Flip(t.Context(), flip, who)
				if err != nil || !state.On || state.By != who.By || state.Reason != who.Note {
					t.Fatalf("for sale %q by %s: got %+v, %v", where, who.By, state, err)
				}
			}
			if got := d.version(stream); got != before+1 {
				t.Errorf("for sale %q by %s because of %s: %d events, want 1", where, who.By, who.Note, got-before)
			}
		}
	}
	list, err := d.boardOf().List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, state := range list {
		if state.On && (state.By != "bob" || state.Reason != "a lawyer called") {
			t.Errorf("the list: got %+v", state)
		}
	}
	d.want("on twice", sale, domain.SaleSwitch{Name: domain.ForceEnded, Everywhere: true}, domain.SaleSwitch{Name: domain.ForceEnded})
	d.flip(domain.ForceEnded, false, sale)
	d.flip(domain.ForceEnded, false, "")
	d.want("off again", sale)
}

func (d *desk) version(stream string) int64 {
	d.t.Helper()
	states, err := d.store.States(d.t.Context(), []string{stream})
	if err != nil {
		d.t.Fatal(err)
	}
	return states[0].Version
}

func TestASwitchSaleOrReasonThatCannotBeIsRefused(t *testing.T) {
	d := newDesk(t)
	sale := d.schedule()
	for _, c := range []struct {
		flip   commands.Flip
		reason string
		field  string
	}{
		{commands.Flip{Name: "tea"}, "r", "name"},
		{commands.Flip{Name: domain.ForceEnded}, " \n", "reason"},
		{commands.Flip{Name: domain.ForceEnded}, strings.Repeat("汉", 501), "reason"},
		{commands.Flip{Name: domain.PauseNoncore, Sale: sale}, "r", "sale"},
	} {
		_, err := d.board.Flip(t.Context(), c.flip, commands.Actor{Note: c.reason})
		var p *domain.Problem
		if !errors.As(err, &p) || len(p.Fields) != 1 || p.Fields[0].Field != c.field {
			t.Errorf("%+v because of %.10q: got %v, want %s refused", c.flip, c.reason, err, c.field)
		}
	}
	_, err := d.board.Flip(t.Context(), commands.Flip{Name: domain.ForceEnded, On: true, Sale: "0000zzzz"}, commands.Actor{Note: "r"})
	var p *domain.Problem
	if !errors.As(err, &p) || p.Code != domain.CodeSaleNotFound {
		t.Errorf("a sale that is not there: got %v", err)
	}
}

// Whoever flipped died after he had recorded it; and a board that has not heard of
// what was flipped since must not undo it.
func TestABoardBringsUpSalesThatLackWhatIsOnAndUndoesNothing(t *testing.T) {
	d := newDesk(t)
	sale := d.schedule()
	dead := *d.env
	dead.Step = func(point string) {
		if point == "switches.after-record" {
			panic(point)
		}
	}
	func() {
		defer func() { _ = recover() }()
		dying := commands.NewSwitchboard(&dead, d.sales, d.store, d.operator)
		_, _ = dying.Flip(t.Context(), commands.Flip{Name: domain.ForceEnded, On: true}, commands.Actor{By: "boss", Note: "r"})
	}()
	d.want("recorded by one who died", sale)
	other := d.boardOf()
	if err := other.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	forced := domain.SaleSwitch{Name: domain.ForceEnded, Everywhere: true}
	d.want("another board", sale, forced)

	stale := d.boardOf()
	if err := stale.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	d.flip(domain.ForceEnded, false, "")
	d.want("off", sale)
	if err := stale.SettleAsKnown(t.Context()); err != nil {
		t.Fatal(err)
	}
	d.want("after a board that is behind", sale)
}

func TestTheNewestFlipsAreKnownWithoutReadingTheOldest(t *testing.T) {
	d := newDesk(t)
	for i := range 60 {
		d.flip(domain.SkipEligibility, i%2 == 0, "")
	}
	d.flip(domain.PauseNoncore, true, "")
	d.flip(domain.SkipEligibility, true, "")
	fresh := d.boardOf()
	if err := fresh.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(namesOf(fresh.Everywhere()), []domain.SwitchName{domain.SkipEligibility, domain.PauseNoncore}) {
		t.Errorf("everywhere: got %v", fresh.Everywhere())
	}
	head, err := d.store.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var needed *commands.SwitchNeededError
	if err := commands.CheckSwitches(t.Context(), d.store, 1, head.Number-2); err != nil {
		t.Errorf("what is superseded may be archived: got %v", err)
	}
	if err := commands.CheckSwitches(t.Context(), d.store, 1, head.Number-1); !errors.As(err, &needed) || needed.Name != domain.PauseNoncore {
		t.Errorf("what is in force may not: got %v", err)
	}
}
