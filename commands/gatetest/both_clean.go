package gatetest

import (
	"context"

	"seckill/commands"
	"seckill/domain"
)

func (o *both) RemoveSale(ctx context.Context, place domain.Place, skus []string) (int, error) {
	a, err1 := o.a.RemoveSale(ctx, place, skus)
	b, err2 := o.b.RemoveSale(ctx, place, skus)
	return agree(o, "remove sale", a, b, [2]error{err1, err2})
}

func (o *both) CutJournal(ctx context.Context, lane int, upTo domain.EntryID) (commands.JournalCut, error) {
	a, err1 := o.a.CutJournal(ctx, lane, upTo)
	b, err2 := o.b.CutJournal(ctx, lane, upTo)
	cut := a
	a.Digest, b.Digest = "", ""
	_, err := agree(o, "cut journal", a, b, [2]error{err1, err2})
	return cut, err
}
