package commands_test

import (
	"context"
	"slices"
	"testing"

	"github.com/google/uuid"

	"seckill/commands"
	"seckill/domain"
	"seckill/eventstore"
)

// oneView has one order of every buyer, and nothing else.
type oneView struct{ order string }

func (v oneView) OfBuyer(context.Context, []string, string) ([]string, error) {
	return []string{v.order}, nil
}

func (oneView) OfTrace(context.Context, string) ([]string, int64, error) { return nil, 0, nil }

func (oneView) Standing(context.Context, string) ([]commands.StoryView, error) { return nil, nil }

// reject ends an order that nothing was heard of, right in the log.
func (s *stall) reject(buyer string, n byte) (order string) {
	s.t.Helper()
	order, err := domain.NewOrderID(s.env.Keys, s.place, buyer, [10]byte{n})
	if err != nil {
		s.t.Fatal(err)
	}
	name, schema, payload, err := domain.Encode(&domain.OrderRejected{OrderID: order, SaleID: s.place.Sale, BuyerID: buyer, Reason: domain.RejectedLost})
	if err != nil {
		s.t.Fatal(err)
	}
	if _, err := s.store.Submit(s.t.Context(), eventstore.Work{Decide: func(eventstore.Look) (*eventstore.Group, error) {
		return &eventstore.Group{Appends: []eventstore.Append{{Stream: domain.OrderStream(order), Expected: eventstore.AnyVersion, Events: []eventstore.NewEvent{
			{ID: uuid.New(), Type: name, Schema: schema, SaleID: s.place.Sale, OrderID: order, Payload: payload, Metadata: []byte("{}")},
		}}}}, nil
	}}); err != nil {
		s.t.Fatal(err)
	}
	return order
}

// Each shard of a view follows the log by itself: it may have a purchase of a buyer and
// lack an older one.
func TestABuyersStoryBeginsWithTheNewestWhateverTheViewsHave(t *testing.T) {
	s := newStall(t, 1)
	s.record()
	older := s.buy("ann")
	s.awaitRecorded(older)
	newer := s.reject("ann", 7)
	sales := commands.NewSales(s.store, s.env.Now, commands.SalesOptions{})
	for seen, want := range map[string][]string{newer: {newer, older}, older: {older}} {
		teller := &commands.Teller{Env: s.env, Sales: sales, Log: s.store, Views: oneView{seen}}
		for limit := 1; limit <= 2; limit++ {
			story, err := teller.Tell(t.Context(), commands.StoryAsk{ID: "ann", As: commands.StoryOfBuyer, Limit: limit})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, p := range story.Purchases {
				got = append(got, p.OrderID)
			}
			if first := want[:min(limit, len(want))]; !slices.Equal(got, first) || story.More != len(want)-len(first) {
				t.Errorf("views have %s, limit %d: got %v and %d more, want %v", seen, limit, got, story.More, first)
			}
		}
	}
}
