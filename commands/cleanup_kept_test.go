package commands_test

import (
	"context"
	"testing"
	"time"

	"seckill/commands"
	"seckill/domain"
	"seckill/eventstore"
	"seckill/infra/memgate"
)

// A node that acknowledged what no gate knows any more gives it up once the sale
// is cleaned up, and not before: the gate may only be recovering.
func TestWhatANodeAcknowledgedIsLostOnceItsSaleIsCleanedUp(t *testing.T) {
	v := newVault(t)
	sale, buyer := "28t5cy4t", "buyer-7"
	place := domain.Place{Store: 1, Sale: sale}
	keys := domain.Keys{Current: 1, Secrets: map[uint8][]byte{1: []byte("a secret of the tests")}}
	order, err := domain.NewOrderID(keys, place, buyer, [10]byte{7})
	if err != nil {
		t.Fatal(err)
	}
	stream := domain.SaleStream(sale)
	v.submit(eventstore.Append{Stream: stream, Events: []eventstore.NewEvent{v.event(&domain.SaleScheduled{SaleID: sale}, "")}})
	gate := memgate.New(1, time.Now) // it holds nothing
	asked := make(chan struct{}, 100)
	kept := commands.NewKept(v.env, askedGate{gate, asked}, v.store, &commands.Lost{Env: v.env, Gate: gate, Log: v.store})
	kept.KeepUnknown(commands.Reservation{Order: order, Buyer: buyer, Place: place, Items: []string{"tea"}, Lines: []domain.Line{{SKU: "tea", Quantity: 1}}, Eligible: true})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- kept.Run(ctx) }()
	defer func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	<-asked
	<-asked // the first answer has been judged
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if left := kept.Drain(over); left != 1 || kept.Size() != 1 {
		t.Errorf("it was given up while the sale lives: %d are left", left)
	}
	v.submit(eventstore.Append{Stream: stream, Expected: 1, Events: []eventstore.NewEvent{v.event(&domain.SaleCleaned{SaleID: sale}, "")}})
	wait, enough := context.WithTimeout(t.Context(), 20*time.Second)
	defer enough()
	if left := kept.Drain(wait); left > 0 || kept.Size() > 0 {
		t.Errorf("the node still holds %d", left)
	}
	records, err := v.store.ReadStream(t.Context(), domain.OrderStream(order), 0, 10)
	if err != nil || len(records) != 1 || records[0].Type != "order.rejected" {
		t.Errorf("the order's stream: got %+v, %v; want one order.rejected", records, err)
	}
}

// askedGate says when it was asked.
type askedGate struct {
	*memgate.Gate
	asked chan<- struct{}
}

func (g askedGate) Reserve(ctx context.Context, r commands.Reservation) (commands.Verdict, error) {
	defer func() { g.asked <- struct{}{} }()
	return g.Gate.Reserve(ctx, r)
}
