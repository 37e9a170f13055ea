package pgstore_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"seckill/eventstore"
	"seckill/eventstore/pgstore"
	"seckill/eventstore/storetest"
	"seckill/infra/pg/pgtest"
)

// The two events of every purchase are left out of the index by type, so the search
// has to show the planner that its type is another one.
func TestASearchForARareTypeReadsItsIndexAlone(t *testing.T) {
	pool, url, ns := pgtest.New(t)
	store := start(t, pool, ns, pgstore.Options{})
	for i := range 20 {
		order := fmt.Sprintf("o%d", i)
		var events []eventstore.NewEvent
		for n := range 200 {
			e := storetest.NewEvent([]string{"order.placed", "stock.reserved"}[n%2])
			e.SaleID, e.OrderID = "s", order
			events = append(events, e)
		}
		closed := storetest.NewEvent("sale.closed")
		closed.SaleID = "s"
		storetest.MustSubmit(t, store, storetest.Plain(storetest.To("order-"+order, 0, append(events, closed)...)), eventstore.Stored)
	}
	if _, err := owner(t, url).Exec(t.Context(), "analyze "+ns+".events"); err != nil {
		t.Fatal(err)
	}
	for name, f := range map[string]eventstore.Filter{
		"alone":     {Type: "sale.closed"},
		"of a sale": {SaleID: "s", Type: "sale.closed"},
	} {
		sql, args := pgstore.FindQuery(f, 0, 500)
		rows, err := pool.Query(t.Context(), "explain "+sql, args...)
		if err != nil {
			t.Fatal(err)
		}
		lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			t.Fatal(err)
		}
		if plan := strings.Join(lines, "\n"); !strings.Contains(plan, "type_position_idx") {
			t.Errorf("%s: the index by type is not read:\n%s", name, plan)
		}
		found, err := store.Find(t.Context(), f, 0, 500)
		if err != nil || len(found) != 20 {
			t.Errorf("%s: found %d, %v, want 20", name, len(found), err)
		}
	}
}
