package pgstore_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"seckill/eventstore"
	"seckill/eventstore/pgstore"
	"seckill/eventstore/storetest"
	"seckill/infra/pg/pgtest"
)

func TestTheStatementInTheDocsFindsABrokenChain(t *testing.T) {
	doc, err := os.ReadFile("../../docs/log-hash.md")
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?s)```sql\n(.*?);\n```").FindSubmatch(doc)
	if block == nil {
		t.Fatal("docs/log-hash.md has no SQL statement")
	}
	pool, url, ns := pgtest.New(t)
	store := start(t, pool, ns, pgstore.Options{PartitionSize: 100})
	for i := range 3 {
		storetest.MustSubmit(t, store, storetest.Plain(
			storetest.To("stock-衣", int64(40*i), storetest.NewEvents("stock.reserved", 40)...)), eventstore.Stored)
	}
	broken := func() []int64 {
		rows, err := owner(t, url).Query(t.Context(), strings.ReplaceAll(string(block[1]), "seckill.events", ns+".events"))
		if err != nil {
			t.Fatal(err)
		}
		positions, err := pgx.CollectRows(rows, pgx.RowTo[int64])
		if err != nil {
			t.Fatal(err)
		}
		return positions
	}
	if got := broken(); len(got) != 0 {
		t.Errorf("an untouched log: got broken positions %v, want none", got)
	}
	tamper := "alter table " + ns + ".events_000000000001 disable trigger all; update " + ns + `.events_000000000001 set payload = '{"n":2}' where position = 50`
	if _, err := owner(t, url).Exec(t.Context(), tamper); err != nil {
		t.Fatal(err)
	}
	if got := broken(); !slices.Equal(got, []int64{50}) {
		t.Errorf("a changed payload: got broken positions %v, want 50", got)
	}
}
