package gatetest

import (
	"context"
	"time"

	"seckill/commands"
	"seckill/domain"
)

func (o *both) RemoveSale(ctx context.Context, place domain.Place, skus []string) (int, error) {
	a, err1 := o.a.RemoveSale(ctx, place, skus)
	b, err2 := o.b.RemoveSale(ctx, place, skus)
	return agree(o, "remove sale", a, b, [2]error{err1, err2})
}

func (o *both) KeepSale(ctx context.Context, place domain.Place, skus []string, keep time.Duration) error {
	_, err := agree(o, "keep sale", true, true, [2]error{o.a.KeepSale(ctx, place, skus, keep), o.b.KeepSale(ctx, place, skus, keep)})
	return err
}

func (o *both) CutJournal(ctx context.Context, lane int, upTo domain.EntryID) (commands.JournalCut, error) {
	a, err1 := o.a.CutJournal(ctx, lane, upTo)
	b, err2 := o.b.CutJournal(ctx, lane, upTo)
	cut := a
	a.Digest, b.Digest = "", ""
	_, err := agree(o, "cut journal", a, b, [2]error{err1, err2})
	return cut, err
}

func (o *both) TicketUsed(ctx context.Context, place domain.Place, ticket string) (bool, error) {
	a, err1 := o.a.TicketUsed(ctx, place, ticket)
	b, err2 := o.b.TicketUsed(ctx, place, ticket)
	return agree(o, "ticket used", a, b, [2]error{err1, err2})
}
