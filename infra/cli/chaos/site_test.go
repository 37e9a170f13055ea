package chaos

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"seckill/infra/cli/e2e"
	"seckill/infra/pg"
	"seckill/infra/testenv"
)

// site is one installation: stores of the test, and every role in processes of its own.
type site struct {
	t      testing.TB
	rig    *e2e.Rig
	pg     *testenv.PostgresServer
	redis  *testenv.RedisServer
	kafka  *testenv.KafkaServer // nil where messages stay inside processes
	procs  []*proc
	disk   *testenv.SmallDisk   // of the store that is broken, where the site is for that
	island *testenv.Island      // of the first process of a role, where the site is for that
	clock  *testenv.ServerClock // of the store that is broken, where the site is for that

	hold     time.Duration // of the fault that is on
	felt     atomic.Int64  // how often a fault said that it happened
	findings []string      // of the cell that is played
	tainted  bool          // a cell left it broken: no other is played on it
}

// siteOptions say what a site is for.
type siteOptions struct {
	row   string
	kind  siteKind
	kafka bool
}

// namespace is the one of every site: each has stores of its own.
const namespace = "chaos"

// Sizes of small disks in bytes: enough for what a server writes in a cell or two.
const (
	diskOfProcess  = 1 << 20
	diskOfRedis    = 32 << 20
	diskOfPostgres = 256 << 20
	diskOfKafka    = 128 << 20
)

// newSite starts everything and waits until all are ready.
func newSite(t testing.TB, o siteOptions) *site {
	t.Helper()
	e2e.Binary(t) // or there is nothing to start stores for
	s := &site{t: t}
	var env []string
	switch o.kind {
	case movedClock:
		s.clock = testenv.NewServerClock(t)
		env = s.clock.Env
	case islandSite:
		s.newIsland()
	}
	special := func(row string, size int64) (dir string, add []string) {
		switch {
		case o.row != row:
		case o.kind == smallDisk:
			s.disk = testenv.NewSmallDisk(t, size)
			dir = s.disk.Dir
		case o.kind == movedClock:
			add = env
		}
		return dir, add
	}
	dir, add := special("postgres", diskOfPostgres)
	s.pg = testenv.PrivatePostgresWith(t, testenv.PostgresOptions{Dir: dir, Env: add, Hosts: s.hosts("postgres"), Settings: []string{"max_connections=400", "max_wal_size=64MB", "min_wal_size=32MB"}})
	dir, add = special("redis", diskOfRedis)
	s.redis = testenv.PrivateRedis(t, testenv.RedisOptions{Dir: dir, Env: add, Config: s.redisConfig()})
	if o.kafka || o.row == "kafka" {
		dir, add = special("kafka", diskOfKafka)
		s.kafka = testenv.PrivateKafkaWith(t, testenv.KafkaOptions{Dir: dir, Env: add, Doors: 2, Hosts: s.hosts("kafka")})
	}
	s.openRig()
	for _, role := range []string{"api", "api", "recorder", "recorder", "relay", "projector", "scheduler"} {
		s.procs = append(s.procs, s.newProc(role, s.island != nil && role == o.row && !slices.ContainsFunc(s.procs, func(p *proc) bool { return p.role == role })))
	}
	for _, p := range s.procs {
		p.child.AwaitReady()
	}
	return s
}

// end ends everything, without a word.
func (s *site) end() {
	for _, p := range s.procs {
		p.child.Kill()
	}
	if s.kafka != nil {
		s.kafka.Kill()
	}
	s.redis.Kill()
	s.pg.Crash()
}

func (s *site) openRig() {
	s.t.Helper()
	ctx := context.Background()
	if err := pg.Migrate(ctx, s.pg.URL, namespace); err != nil {
		s.t.Fatalf("migrate: %v", err)
	}
	pool, err := pg.Open(ctx, s.pg.URL, pg.Options{Namespace: namespace, AppName: "chaos", MaxConns: 4})
	if err != nil {
		s.t.Fatalf("open: %v", err)
	}
	s.t.Cleanup(pool.Close)
	s.rig = &e2e.Rig{Pool: pool, URL: s.pg.URL, Namespace: namespace, Redis: s.redis}
}

// proc is one process and the networks around it; on an island it has none but the wires.
type proc struct {
	role  string
	child *e2e.Child
	front *testenv.FaultProxy // between buyers and the process; nil but for the API
	pg    *testenv.FaultProxy
	redis *testenv.FaultProxy
	kafka *testenv.FaultProxy // nil where the process talks to no broker
	disk  *testenv.SmallDisk  // of its data; nil where we may not mount
	clock string              // file that says what its clock is wrong by
}

// newProc starts a process, alone on the site's island or among all others.
func (s *site) newProc(role string, alone bool) *proc {
	s.t.Helper()
	p := &proc{role: role, clock: filepath.Join(s.t.TempDir(), "clock")}
	env := append(s.rig.Settings(s.t), "SECKILL_TEST_CLOCK="+p.clock, "SECKILL_SEAL_AFTER=1s", "SECKILL_DRAIN_FOR=300ms")
	if testenv.CanMount() {
		p.disk = testenv.NewSmallDisk(s.t, diskOfProcess)
		env = append(env, "SECKILL_DATA_DIR="+p.disk.Dir, "TMPDIR="+p.disk.Dir)
	}
	o := e2e.ChildOptions{Args: []string{"--roles", role}}
	if alone {
		o.Host, o.Program = s.island.Inside("front"), append(s.island.Within(), e2e.Binary(s.t))
		env = append(env, "SECKILL_DATABASE_URL="+s.overWire("postgres", s.pg.URL), "SECKILL_REDIS_URL="+s.overWire("redis", s.redis.URL))
	} else {
		p.pg, p.redis = testenv.Proxy(s.t, s.pg.URL), testenv.Proxy(s.t, s.redis.URL)
		env = append(env, "SECKILL_DATABASE_URL="+p.pg.URL(), "SECKILL_REDIS_URL="+p.redis.URL())
	}
	switch {
	case s.kafka == nil:
	case alone:
		env = append(env, "SECKILL_KAFKA_BROKERS="+s.kafka.At(s.island.Host("kafka")))
	default:
		addr := s.kafka.Addr
		if door := map[string]int{"relay": 0, "projector": 1}; role == "relay" || role == "projector" {
			p.kafka = s.kafka.Doors[door[role]]
			addr = p.kafka.Addr()
		}
		env = append(env, "SECKILL_KAFKA_BROKERS="+addr)
	}
	o.Env = env
	p.child = e2e.NewChild(s.t, o)
	if role == "api" {
		p.front = testenv.Proxy(s.t, p.child.URL)
	}
	p.child.Start()
	return p
}

// first gives the process of a role that faults are of.
func (s *site) first(role string) *proc {
	for _, p := range s.procs {
		if p.role == role {
			return p
		}
	}
	s.t.Fatalf("there is no process of role %s", role)
	return nil
}

// fronts are where buyers come to.
func (s *site) fronts() (urls []string) {
	for _, p := range s.procs {
		if p.front != nil {
			urls = append(urls, "http://"+p.front.Addr())
		}
	}
	return urls
}

// found notes something that should not be.
func (s *site) found(format string, args ...any) {
	s.findings = append(s.findings, fmt.Sprintf(format, args...))
}

// openSale makes a sale that is open from now on.
func (s *site) openSale(title, strategy string, stock, buckets int) string {
	s.t.Helper()
	now := time.Now()
	body := map[string]any{
		"title": title, "strategy": strategy, "buckets": buckets,
		"opens_at": now.Add(-time.Minute).Format(time.RFC3339), "closes_at": now.Add(time.Hour).Format(time.RFC3339),
		"items": []any{map[string]any{"sku": "item", "title": "Item", "price": "19.90", "currency": "CNY", "stock": stock}},
	}
	var sale string
	testenv.Eventually(s.t, time.Minute, func() error {
		made, err := e2e.NewClient(s.procs[1].child.URL).Call(http.MethodPost, "/api/v1/admin/sales", "operator", "admin", body, "Idempotency-Key", title)
		if err == nil && made.Status != http.StatusCreated {
			err = fmt.Errorf("create a sale: %d %s", made.Status, made.Raw)
		}
		sale = made.Text("id")
		return err
	})
	return sale
}

// writeFile puts a text into a file at once, so that nobody reads half of it.
func writeFile(name, text string) error {
	if err := os.WriteFile(name+".new", []byte(text), 0o644); err != nil {
		return err
	}
	return os.Rename(name+".new", name)
}

// fill fills a disk until it is mended.
func (s *site) fill(d *testenv.SmallDisk) (mend func()) {
	if d == nil {
		s.found("the disk was not filled: mounting one wants root")
		return func() {}
	}
	end := every(100*time.Millisecond, func() {
		if err := d.Fill(); err != nil {
			s.t.Errorf("%v", err)
		}
	})
	return func() {
		end()
		if err := d.Empty(); err != nil {
			s.found("%v", err)
		}
	}
}
