package cli

import (
	"log/slog"
	"testing"
	"time"

	"seckill/commands"
	"seckill/domain"
	"seckill/eventstore/pgstore"
	"seckill/infra/pg/pgtest"
)

// houseOf is a house whose databases are open, with nothing but their sales.
func houseOf(t *testing.T, names ...string) *house {
	t.Helper()
	h := &house{log: slog.New(slog.DiscardHandler)}
	for _, name := range names {
		pool, _, _ := pgtest.New(t)
		s := &stack{name: name, house: h}
		s.app.Store(&app{sales: commands.NewSales(pgstore.NewReads(pool), time.Now, commands.SalesOptions{})})
		h.stacks = append(h.stacks, s)
	}
	return h
}

// A text that somebody made up names a sale that nobody has: as with one database it is
// explained as no receipt of ours, not refused.
func TestAReceiptOfASaleThatNoDatabaseHasIsNoReceipt(t *testing.T) {
	keys := domain.Keys{Current: 1, Secrets: map[uint8][]byte{1: []byte("somebody else's secret of 32 byte")}}
	text, ok := domain.NewReceiptSigner(keys).Append(nil, &domain.Refusal{Code: domain.CodeSoldOut, Sale: domain.SaleNumber(7).ID(), Buyer: "alice", At: time.Now()})
	if !ok {
		t.Fatal("nothing was signed")
	}
	report, err := houseTeller{houseOf(t, "main", "b")}.Explain(t.Context(), string(text), "alice")
	if err != nil || report.Valid {
		t.Errorf("got %+v and %v, want a report of no receipt", report, err)
	}
}
