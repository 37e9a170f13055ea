package commands_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"seckill/commands"
	"seckill/domain"
	"seckill/eventstore"
	"seckill/eventstore/pgstore"
	"seckill/eventstore/seal"
	"seckill/infra/pg"
	"seckill/infra/pg/pgtest"
)

// vault is a log on a real PostgreSQL, its seals, and the folder they go to.
type vault struct {
	t      testing.TB
	pool   *pgxpool.Pool
	url    string
	ns     string
	store  *pgstore.Store
	folder *seal.Folder
	key    seal.Key
	uuid   string
	env    *commands.Env
	stock  int64 // version of the stock stream
	orders int
}

const vaultStream = "stock-28t5cy4t-tea-0"

func newVault(t testing.TB) *vault {
	t.Helper()
	v := &vault{t: t}
	v.pool, v.url, v.ns = pgtest.New(t)
	var err error
	if v.store, err = pgstore.New(v.pool, v.ns, pgstore.Options{PartitionSize: 400_000}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := v.store.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	id, err := pg.LoadIdentity(t.Context(), v.pool)
	if err != nil {
		t.Fatal(err)
	}
	v.uuid = id.UUID.String()
	v.folder = seal.NewFolder(t.TempDir(), v.uuid)
	v.key = keyOf(t, 1)
	v.env = &commands.Env{Store: 1, Now: time.Now, NewID: uuid.New, Log: slog.New(slog.DiscardHandler)}
	return v
}

func keyOf(t testing.TB, seed byte) seal.Key {
	t.Helper()
	k, err := seal.NewKey(bytes.Repeat([]byte{seed}, 32))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func (v *vault) event(e domain.Event, order string) eventstore.NewEvent {
	v.t.Helper()
	name, schema, payload, err := domain.Encode(e)
	if err != nil {
		v.t.Fatal(err)
	}
	return eventstore.NewEvent{ID: uuid.New(), Type: name, Schema: schema, SaleID: "28t5cy4t", OrderID: order, Payload: payload, Metadata: []byte(`{"trace_id":"4bf92f3577b34da6a3ce929d0e0e4736"}`)}
}

func (v *vault) submit(appends ...eventstore.Append) {
	v.t.Helper()
	_, err := v.store.Submit(context.Background(), eventstore.Work{Decide: func(eventstore.Look) (*eventstore.Group, error) {
		return &eventstore.Group{Appends: appends}, nil
	}})
	if err != nil {
		v.t.Fatal(err)
	}
}

// sell releases units and sells as many to orders of one, at two events each.
func (v *vault) sell(units int) {
	v.t.Helper()
	v.release(int64(units))
	for units > 0 {
		n := min(units, 500)
		stock := eventstore.Append{Stream: vaultStream, Expected: v.stock}
		appends := []eventstore.Append{}
		for range n {
			v.orders++
			order := fmt.Sprintf("040g000328t5cy4t0410%028d", v.orders)
			stock.Events = append(stock.Events, v.event(&domain.StockReserved{SaleID: "28t5cy4t", SKU: "tea", OrderID: order, BuyerID: "buyer-1", Quantity: 1, Entry: "7-42.3"}, order))
			appends = append(appends, eventstore.Append{Stream: domain.OrderStream(order), Events: []eventstore.NewEvent{v.event(&domain.OrderPlaced{
				OrderID: order, SaleID: "28t5cy4t", BuyerID: "buyer-1", Lines: []domain.OrderLine{{SKU: "tea", Quantity: 1, Price: domain.Money{Minor: 1990, Currency: "CNY"}}},
				Amount: domain.Money{Minor: 1990, Currency: "CNY"}, Entry: "7-42.3",
			}, order)}})
		}
		v.submit(append([]eventstore.Append{stock}, appends...)...)
		v.stock += int64(n)
		units -= n
	}
}

func (v *vault) release(units int64) {
	v.t.Helper()
	v.submit(eventstore.Append{Stream: vaultStream, Expected: v.stock, Events: []eventstore.NewEvent{
		v.event(&domain.StockReleased{SaleID: "28t5cy4t", SKU: "tea", Quantity: units}, ""),
	}})
	v.stock++
}

func (v *vault) sealer(opts commands.SealerOptions) *commands.Sealer {
	return commands.NewSealer(v.env, v.store, v.uuid, v.key, v.folder, opts)
}

// seal seals everything that is there, 100 records at a time.
func (v *vault) seal() {
	v.t.Helper()
	s := v.sealer(commands.SealerOptions{Every: 100, After: time.Nanosecond})
	for range 2 { // the second look finds what has waited since the first
		if err := s.Round(context.Background()); err != nil {
			v.t.Fatal(err)
		}
	}
}

func (v *vault) audit(opts commands.AuditOptions) commands.AuditReport {
	v.t.Helper()
	keys, err := v.store.SealKeys(context.Background())
	if err != nil {
		v.t.Fatal(err)
	}
	a := commands.Auditor{Log: v.store, Stored: v.store, Exported: v.folder, KeysOfStore: keys, Heads: v.store}
	report, err := a.Verify(context.Background(), opts)
	if err != nil {
		v.t.Fatal(err)
	}
	return report
}

// tamper does what only a superuser can, with every trigger off.
func (v *vault) tamper(sql string, args ...any) {
	v.t.Helper()
	conn, err := pgx.Connect(context.Background(), v.url)
	if err != nil {
		v.t.Fatal(err)
	}
	defer conn.Close(context.Background())
	for _, s := range []string{"set search_path = " + v.ns, "alter table events disable trigger all", "alter table events_000000000001 disable trigger all", "alter table seals disable trigger all"} {
		if _, err := conn.Exec(context.Background(), s); err != nil {
			v.t.Fatal(err)
		}
	}
	if _, err := conn.Exec(context.Background(), sql, args...); err != nil {
		v.t.Fatalf("%s: %v", sql, err)
	}
}

// rechain writes the hashes of all records from a position on anew, as somebody
// would who changed one and knows the form.
func (v *vault) rechain(from int64) {
	v.t.Helper()
	before, _, err := v.store.HashAt(context.Background(), from-1)
	if err != nil {
		v.t.Fatal(err)
	}
	head, err := v.store.Head(context.Background())
	if err != nil {
		v.t.Fatal(err)
	}
	hashes := map[int64]eventstore.Hash{}
	err = v.store.Scan(context.Background(), from-1, head.Number, func(r *eventstore.Record) error {
		before = eventstore.ComputeHash(before, r)
		hashes[r.Position] = before
		return nil
	})
	if err != nil {
		v.t.Fatal(err)
	}
	positions, values := []int64{}, [][]byte{}
	for p, h := range hashes {
		positions, values = append(positions, p), append(values, h[:])
	}
	v.tamper(`update events e set hash = n.hash from unnest($1::bigint[], $2::bytea[]) n(position, hash) where e.position = n.position`, positions, values)
}
