package commands_test

import (
	"context"
	"crypto/rand"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jedib0t/go-pretty/v6/table"

	"seckill/commands"
	"seckill/domain"
	"seckill/eventstore/pgstore"
	"seckill/infra/embedded"
	"seckill/infra/figures"
	"seckill/infra/memgate"
	"seckill/infra/pg"
)

var (
	directFor    = flag.Duration("direct.for", 2*time.Second, "how long each side of BenchmarkDirectBesideNaive sells in a round")
	directRounds = flag.Int("direct.rounds", 1, "how often the sides take turns")
	directBuyers = flag.String("direct.buyers", "32,128,512,1024", "how many buyers press at once, a row of the table each")
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
		for _, text := range strings.Split(*directBuyers, ",") {
			buyers, err := strconv.Atoi(text)
			if err != nil {
				b.Fatal(err)
			}
			sides = append(sides, side{"strategy postgres", buyers, s.direct})
		}
		rates, costs := make([]float64, len(sides)), make([]cost, len(sides))
		for range *directRounds {
			for i, one := range sides {
				before := s.spent(b)
				rate, sold := one.rate(*directFor)
				rates[i] += rate / float64(*directRounds)
				costs[i] = costs[i].plus(s.spent(b).minus(before), sold)
			}
		}
		t := table.NewWriter()
		t.SetTitle("One item, durable commits, one server, in turns; µs of processor a purchase (ours with the buyers'), purchases a commit")
		t.AppendHeader(table.Row{"", "at once", "purchases/s", "of the naive", "PostgreSQL", "ours", "a commit"})
		for i, one := range sides {
			server, own := costs[i].each()
			t.AppendRow(table.Row{one.name, one.clients, fmt.Sprintf("%.0f", rates[i]), fmt.Sprintf("%.1f ×", rates[i]/rates[0]),
				fmt.Sprintf("%.0f", server), fmt.Sprintf("%.0f", own), costs[i].batch()})
		}
		b.Logf("\n%s", t.Render())
		figures.Tell(b, figures.Figure{Row: "strategy-postgres", Ours: rates[1], Yardstick: rates[0], Value: rates[1] / rates[0],
			Details: besides(sides[1:], rates, costs), Settings: []string{"fsync=on", "full_page_writes=on", "synchronous_commit=on"}})
	}
}

// besides tells of every number of buyers that was tried what it gave.
func besides(ours []side, rates []float64, costs []cost) (all []figures.Detail) {
	for i, one := range ours {
		server, own := costs[i+1].each()
		name := fmt.Sprintf("%d buyers at once: ", one.clients)
		all = append(all, figures.Detail{Name: name + "of the naive update", Value: rates[i+1] / rates[0], Unit: "×"},
			figures.Detail{Name: name + "processor time of PostgreSQL a purchase", Value: server, Unit: "µs"},
			figures.Detail{Name: name + "processor time of ours, buyers included", Value: own, Unit: "µs"})
	}
	return all
}

// side is one way to sell, to that many clients at once.
type side struct {
	name    string
	clients int
	buy     func(ctx context.Context) error
}

// rate sells for a while and gives the purchases a second, and how many there were.
func (s side) rate(d time.Duration) (rate float64, total int64) {
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
	return float64(sold.Load()) / time.Since(began).Seconds(), sold.Load()
}

// cost is the processor time that the server and this process have used, and for how
// many purchases.
type cost struct {
	server, own time.Duration
	commits     int64 // of batches
	sold        int64
}

func (c cost) minus(o cost) cost {
	return cost{server: c.server - o.server, own: c.own - o.own, commits: c.commits - o.commits}
}

func (c cost) plus(o cost, sold int64) cost {
	return cost{c.server + o.server, c.own + o.own, c.commits + o.commits, c.sold + sold}
}

// batch tells how many purchases a commit of the store had.
func (c cost) batch() string {
	if c.commits == 0 {
		return "1"
	}
	return fmt.Sprintf("%.0f", float64(c.sold)/float64(c.commits))
}

// each gives the microseconds of a purchase.
func (c cost) each() (server, own float64) {
	n := float64(max(1, c.sold))
	return float64(c.server.Microseconds()) / n, float64(c.own.Microseconds()) / n
}

// spent reads what was used so far by every process of the server that lives, and by
// this one.
func (s *bench) spent(b *testing.B) cost {
	b.Helper()
	rows, err := s.plain.Query(context.Background(), "select pid from pg_stat_activity where pid is not null")
	if err != nil {
		b.Fatal(err)
	}
	pids, err := pgx.CollectRows(rows, pgx.RowTo[int32])
	if err != nil {
		b.Fatal(err)
	}
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	c := cost{own: time.Duration(u.Utime.Nano() + u.Stime.Nano()), commits: s.commits.Load()}
	for _, pid := range pids {
		data, err := os.ReadFile(fmt.Sprintf("/proc/%d/schedstat", pid))
		if err != nil {
			continue // it has ended
		}
		var used int64
		if _, err := fmt.Sscan(string(data), &used); err != nil {
			b.Fatal(err)
		}
		c.server += time.Duration(used)
	}
	return c
}

// bench is one server with a naive table and a sale without a gate.
type bench struct {
	plain *pgxpool.Pool
	gate  *commands.Direct
	env   *commands.Env
	sale  domain.Sale
	made  atomic.Int64
	// commits counts batches that were committed.
	commits atomic.Int64
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
	s := &bench{plain: plainPool(b, stores.DatabaseURL)}
	store, err := pgstore.New(pool, namespace, pgstore.Options{OnBatch: func(pgstore.BatchStats) { s.commits.Add(1) }})
	if err != nil {
		b.Fatal(err)
	}
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
