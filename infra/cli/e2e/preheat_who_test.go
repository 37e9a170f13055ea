package e2e

import (
	"context"
	"errors"
	"io"
	"slices"
	"testing"
	"time"

	"seckill/commands"
	"seckill/domain"
	"seckill/infra/members"
	"seckill/infra/tickets"
)

// doorkeeper is a node that judges who may buy, without the loops that read ahead.
func (n *Node) doorkeeper(t *testing.T, r *Rig) (*commands.Preheats, *commands.Members, *commands.Tickets) {
	t.Helper()
	book, err := tickets.Open(r.Redis.URL, r.Namespace)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = book.Close() }) // nothing is under way
	lists := members.New(n.pool, 0)
	known := commands.NewKnownMembers(n.Env, n.Sales, lists, commands.KnownMembersOptions{Alarm: n.Alarms.Raise})
	given := &commands.Tickets{Env: n.Env, Sales: n.Sales, Members: known, Book: book, Gate: n.Gate, Guards: n.Store, Budget: time.Second}
	p := n.preheats()
	p.Members, p.Tickets = known, given
	return p, &commands.Members{Env: n.Env, Sales: n.Sales, Log: n.Store, Lists: lists}, given
}

// names gives buyers one after the other.
func names(buyers ...string) func() (string, error) {
	return func() (string, error) {
		if len(buyers) == 0 {
			return "", io.EOF
		}
		next := buyers[0]
		buyers = buyers[1:]
		return next, nil
	}
}

func TestAPreheatTellsWhoMayBuyAndASaleWithoutItsListIsNotConfirmed(t *testing.T) {
	r, n, _ := selling(t, 1)
	terms := Terms(5)
	terms.AutoOpen, terms.EligibleTiers, terms.Tokens, terms.RequireTicket = false, []string{"gold", "black"}, 3, true
	scheduled, err := n.Operator.Schedule(context.Background(), terms, commands.Actor{By: "test"})
	if err != nil {
		t.Fatal(err)
	}
	p, lists, given := n.doorkeeper(t, r)
	ctx, actor, sale := context.Background(), commands.Actor{By: "boss", Note: "looked"}, scheduled.ID
	full := func(when string, want map[string]string, differs ...string) {
		t.Helper()
		report, err := p.Full(ctx, sale, actor)
		if err != nil {
			t.Fatalf("%s: %v", when, err)
		}
		var got []string
		for _, d := range report.Differences {
			got = append(got, d.Key)
		}
		slices.Sort(got)
		if report.Verified != (len(differs) == 0) || !slices.Equal(got, differs) {
			t.Errorf("%s: got verified %t and %+v; want differences at %v", when, report.Verified, report.Differences, differs)
		}
		for key, value := range want {
			if report.Values[key] != value {
				t.Errorf("%s: %s is %q, want %q", when, key, report.Values[key], value)
			}
		}
	}
	tiers, most, count, digest, state := "eligible:"+sale+"/tiers", "tickets:"+sale+"/most", "members:"+sale+"/count", "members:"+sale+"/digest", "members:"+sale+"/state"
	full("without a list", map[string]string{tiers: "gold,black", most: "15", "tickets:" + sale + "/given": "0", state: ""})

	listed, err := lists.Replace(ctx, sale, names("u1", "u2"), actor)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := n.Operator.Confirm(ctx, sale, actor); !isProblem(err, domain.CodeNotReconciled) {
		t.Errorf("a list that no preheat has seen: confirmed with %v; want not_reconciled", err)
	}
	store := members.New(n.pool, 0)
	if err := errors.Join(store.Drop(ctx, listed.Members.ID), store.AddPart(ctx, sale, listed.Members.ID, 0, []string{"u1", "u9"})); err != nil {
		t.Fatal(err)
	}
	full("another buyer is stored", map[string]string{count: "2", state: commands.MembersWrong}, digest, state)
	if _, err := n.Operator.Confirm(ctx, sale, actor); !isProblem(err, domain.CodeNotReconciled) {
		t.Errorf("with a wrong list: confirmed with %v; want not_reconciled", err)
	}
	if err := store.Drop(ctx, listed.Members.ID); err != nil {
		t.Fatal(err)
	}
	full("the list is gone", map[string]string{count: "0"}, count, digest, state)
	if got := n.Alarms.Count(commands.AlarmMembers); got != 1 {
		t.Errorf("got %d alarms, want one for the wrong list: it stayed wrong", got)
	}

	if listed, err = lists.Replace(ctx, sale, names("u1", "u2", "u3"), actor); err != nil {
		t.Fatal(err)
	}
	if got, err := given.Give(ctx, commands.TicketRequest{Sale: sale, Buyer: "u1", Tier: "gold"}); err != nil || got.Outcome != domain.NotReady {
		t.Errorf("before the list is in memory: got %s, %v; want not_ready", got.Outcome, err)
	}
	full("a new list", map[string]string{count: "3", digest: listed.Members.Digest, state: "loaded"})
	if got, err := given.Give(ctx, commands.TicketRequest{Sale: sale, Buyer: "u1", Tier: "gold"}); err != nil || got.Outcome != domain.Reserved {
		t.Errorf("a ticket after the preheat: got %s, %v", got.Outcome, err)
	}
	full("a ticket was given out", map[string]string{"tickets:" + sale + "/given": "1"})
	if _, err := n.Operator.Confirm(ctx, sale, actor); err != nil {
		t.Errorf("confirm: %v", err)
	}
	given.Book = bookAway{given.Book}
	full("the book of tickets is away", map[string]string{most: "15"}, "tickets:"+sale+"/book")
}

// bookAway does not answer.
type bookAway struct{ commands.TicketBook }

func (bookAway) Look(context.Context, string) (commands.BookState, error) {
	return commands.BookState{}, errors.New("away")
}
