package commands

import (
	"context"
	"errors"
	"testing"
	"time"

	"seckill/domain"
	"seckill/eventstore"
)

// ReadStream gives a page of a stream.
func (l *pastLog) ReadStream(_ context.Context, stream string, after int64, max int) ([]eventstore.Record, error) {
	var page []eventstore.Record
	for _, r := range l.records {
		if r.Stream == stream && r.Version > after && len(page) < max {
			page = append(page, r)
		}
	}
	return page, nil
}

// noDirectory is a directory that nobody may ask.
type noDirectory struct{ eventstore.Directory }

func TestWhatIsKnownOfASaleFollowsALogThatWentBack(t *testing.T) {
	full := storyOfTwoSales(t)
	log := &pastLog{records: full.records}
	now := pastBegins
	sales := NewSales(struct {
		*pastLog
		noDirectory
	}{log, noDirectory{}}, func() time.Time { return now }, SalesOptions{})
	get := func() (FoldedSale, error) {
		now = now.Add(time.Second)
		return sales.Get(context.Background(), pastSale)
	}
	if sale, err := get(); err != nil || len(sale.Pauses) != 1 || sale.Version != 2 {
		t.Fatalf("got %+v, %v; want the paused sale", sale, err)
	}
	if sale, err := get(); err != nil || len(sale.Pauses) != 1 || sale.Version != 2 {
		t.Errorf("asked again: got %+v, %v; want the same", sale, err)
	}

	log.records = full.records[:6] // the pause was in a commit that was lost
	if sale, err := get(); err != nil || len(sale.Pauses) != 0 || sale.Version != 1 {
		t.Errorf("after the pause was lost: got %+v, %v; want the sale without it", sale, err)
	}
	log.add(t, "sale-"+pastSale, pastSale, "", &domain.SaleClosed{SaleID: pastSale})
	log.records[6].Hash = eventstore.Hash{99} // another event at the place of the lost one
	if sale, err := get(); err != nil || !sale.Closed || len(sale.Pauses) != 0 {
		t.Errorf("after another event took its place: got %+v, %v; want the closed sale", sale, err)
	}

	log.records = nil
	var unknown *domain.Problem
	if sale, err := get(); !errors.As(err, &unknown) || unknown.Code != domain.CodeSaleNotFound {
		t.Errorf("after the whole sale was lost: got %+v, %v; want no such sale", sale, err)
	}
}

func TestAnEventThatTookThePlaceOfALostOneIsNotTakenForIt(t *testing.T) {
	log := storyOfTwoSales(t)
	now := pastBegins
	sales := NewSales(struct {
		*pastLog
		noDirectory
	}{log, noDirectory{}}, func() time.Time { return now }, SalesOptions{})
	if _, err := sales.Get(context.Background(), pastSale); err != nil {
		t.Fatal(err)
	}
	lost := log.records[6]
	name, schema, payload, err := domain.Encode(&domain.SaleClosed{SaleID: pastSale})
	if err != nil {
		t.Fatal(err)
	}
	lost.Type, lost.Schema, lost.Payload, lost.Hash = name, schema, payload, eventstore.Hash{99}
	log.records[6] = lost
	now = now.Add(time.Second)
	if sale, err := sales.Get(context.Background(), pastSale); err != nil || !sale.Closed || len(sale.Pauses) != 0 {
		t.Errorf("got %+v, %v; want the closed sale and no pause", sale, err)
	}
}
