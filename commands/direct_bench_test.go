package commands_test

import (
	"context"
	"crypto/rand"
	"flag"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jedib0t/go-pretty/v6/table"

	"seckill/commands"
	"seckill/domain"
	"seckill/eventstore/pgstore"
	"seckill/infra/embedded"
	"seckill/infra/memgate"
	"seckill/infra/pg"
)

var (
	directFor    = flag.Duration("direct.for", 2*time.Second, "how long each side of BenchmarkDirectBesideNaive sells in a round")
	directRounds = flag.Int("direct.rounds", 1, "how often the sides take turns")
)

const (
	naiveTable = `create table naive_stock (sku text primary key, available bigint not null)`
	naiveFill  = `insert into naive_stock values ('A', 1000000000)`
	naiveBuy   = `update naive_stock set available = available - 1 where sku = 'A' and available > 0`
)

// BenchmarkDirectBesideNaive sells one item of one durable server in turns: by one
// naive update for each purchase, from 32 connections at once; and by a sale without a
// gate, whose every purchase is judged, claimed, and recorded in two chained events.
//
//	make bench-postgres
func BenchmarkDirectBesideNaive(b *testing.B) {
	for b.Loop() {
		s := newBench(b)
		sides := []side{{"naive update, one row", 32, s.naive}}
		for _, buyers := range []int{32, 128, 512, 1024} {
			sides = append(sides, side{"strategy postgres", buyers, s.direct})
		}
		rates := make([]float64, len(sides))
		for range *directRounds {
			for i, one := range sides {
				rates[i] += one.rate(*directFor) / float64(*directRounds)
			}
		}
		t := table.NewWriter()
		t.SetTitle("One item, durable commits, one server, in turns")
		t.AppendHeader(table.Row{"", "at once", "purchases/s", "of the naive"})
		for i, one := range sides {
			t.AppendRow(table.Row{one.name, one.clients, fmt.Sprintf("%.0f", rates[i]), fmt.Sprintf("%.1f ×", rates[i]/rates[0])})
		}
		b.Logf("\n%s", t.Render())
		b.ReportMetric(rates[0], "naive/s")
		b.ReportMetric(rates[1], "direct32/s")
		b.ReportMetric(rates[len(rates)-1], "direct1024/s")
		b.ReportMetric(rates[len(rates)-1]/rates[0], "ratio")
	}
}

// side is one way to sell, to that many clients at once.
type side struct {
	name    string
	clients int
	buy     func(ctx context.Context) error
}

// rate sells for a while and gives the purchases a second.
func (s side) rate(d time.Duration) float64 {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	var sold atomic.Int64
	var all sync.WaitGroup
	began := time.Now()
	for range s.clients {
		all.Go(func() {
			for ctx.Err() == nil {
				if err := s.buy(context.WithoutCancel(ctx)); err != nil {
					panic(fmt.Sprintf("%s: %v", s.name, err)) // a benchmark that fails measures nothing
				}
				sold.Add(1)
			}
		})
	}
	all.Wait()
	return float64(sold.Load()) / time.Since(began).Seconds()
}

// bench is one server with a naive table and a sale without a gate.
type bench struct {
	plain *pgxpool.Pool
	gate  *commands.Direct
	env   *commands.Env
	sale  domain.Sale
	made  atomic.Int64
}

func newBench(b *testing.B) *bench {
	b.Helper()
	ctx := context.Background()
	stores, err := embedded.Start(ctx, embedded.Options{DataDir: b.TempDir(), NeedPostgres: true})
	if err != nil {
		b.Fatalf("start PostgreSQL: %v", err)
	}
	b.Cleanup(func() {
		if err := stores.Stop(ctx); err != nil {
			b.Errorf("stop PostgreSQL: %v", err)
		}
	})
	const namespace = "direct"
	if err := pg.Migrate(ctx, stores.DatabaseURL, namespace); err != nil {
		b.Fatal(err)
	}
	pool, err := pg.Open(ctx, stores.DatabaseURL, pg.Options{Namespace: namespace})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(pool.Close)
	store, err := pgstore.New(pool, namespace, pgstore.Options{})
	if err != nil {
		b.Fatal(err)
	}
	s := &bench{plain: plainPool(b, stores.DatabaseURL)}
	s.env = &commands.Env{
		Store: 1, Keys: domain.Keys{Current: 1, Secrets: map[uint8][]byte{1: []byte("a secret of the tests")}}, Now: time.Now, Random: rand.Reader,
		NewID: func() uuid.UUID { return uuid.Must(uuid.NewV7()) }, Log: slog.New(slog.DiscardHandler),
	}
	sales := commands.NewSales(store, s.env.Now, commands.SalesOptions{})
	s.gate = commands.NewDirect(s.env, sales, store, commands.DirectOptions{})
	b.Cleanup(func() {
		if err := s.gate.Close(ctx); err != nil {
			b.Error(err)
		}
		if err := store.Close(ctx); err != nil {
			b.Error(err)
		}
	})
	none := memgate.New(1, time.Now)
	operator := &commands.Operator{Env: s.env, Sales: sales, Log: store, Gate: none, Follow: commands.NewFollower(s.env, store, none),
		Preheat: func(context.Context, string) error { return nil }}
	sale, err := operator.Schedule(ctx, domain.SaleTerms{
		Title: "T", OpensAt: time.Now().Add(-time.Minute), ClosesAt: time.Now().Add(time.Hour), AutoOpen: true, Strategy: domain.StrategyPostgres,
		Items: []domain.ItemTerms{{SKU: "A", Price: domain.Money{Minor: 100, Currency: "CNY"}, Stock: domain.MaxQuantity}},
	}, commands.Actor{By: "bench"})
	if err != nil {
		b.Fatal(err)
	}
	s.sale = sale.Sale
	return s
}

// plainPool gives 32 connections with the server's own settings, and a table of one row.
func plainPool(b *testing.B, url string) *pgxpool.Pool {
	b.Helper()
	ctx := context.Background()
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil {
		b.Fatal(err)
	}
	cfg.MaxConns, cfg.MinConns = 32, 32
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(pool.Close)
	for _, sql := range []string{naiveTable, naiveFill} {
		if _, err := pool.Exec(ctx, sql); err != nil {
			b.Fatal(err)
		}
	}
	for name, want := range map[string]string{"fsync": "on", "synchronous_commit": "on"} {
		var got string
		if err := pool.QueryRow(ctx, "select current_setting($1)", name).Scan(&got); err != nil || got != want {
			b.Fatalf("the server has %s %q (%v), want %s: both sides are to be durable", name, got, err, want)
		}
	}
	return pool
}

func (s *bench) naive(ctx context.Context) error {
	done, err := s.plain.Exec(ctx, naiveBuy)
	if err == nil && done.RowsAffected() != 1 {
		err = fmt.Errorf("%d rows changed", done.RowsAffected())
	}
	return err
}

func (s *bench) direct(ctx context.Context) error {
	buyer := fmt.Sprintf("buyer-%d", s.made.Add(1))
	place := domain.Place{Store: 1, Sale: s.sale.ID, Direct: true}
	var random [10]byte
	if _, err := rand.Read(random[:]); err != nil {
		return err
	}
	id, err := domain.NewOrderID(s.env.Keys, place, buyer, random)
	if err != nil {
		return err
	}
	v, err := s.gate.Reserve(ctx, commands.Reservation{
		Order: id, Buyer: buyer, Place: place, Items: s.sale.SKUs(), Eligible: true, Lines: []domain.Line{{SKU: "A", Quantity: 1}},
	})
	if err == nil && v.Outcome != domain.Reserved {
		err = fmt.Errorf("a purchase ended %s", v.Outcome)
	}
	return err
}
