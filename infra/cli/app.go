package cli

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/redis/go-redis/v9"

	"seckill/api"
	"seckill/commands"
	"seckill/eventstore"
	"seckill/eventstore/pgstore"
	"seckill/infra/config"
	"seckill/infra/crash"
	"seckill/infra/obs"
	"seckill/infra/pg"
	"seckill/infra/redisgate"
	"seckill/infra/skew"
	"seckill/infra/tracing"
	"seckill/projections"
)

// app is the application, put together over opened stores. Nothing of it runs
// by itself but the event store's appender; parts.go runs the roles.
type app struct {
	settings config.Settings
	house    *house // nil where this is the only database of its process
	log      *slog.Logger
	metrics  *obs.Metrics
	stores   addresses

	pool *pgxpool.Pool
	gate *redisgate.Gate
	// sale is what buyers' questions go through.
	sale saleSide
	// view is where buyers' looks at orders are answered from.
	view    commands.OrderView
	replica *replica // nil where that is the database
	sink    *pgstore.Store
	// stored rings when this process has stored events.
	stored bell
	clock  *commands.GateClock
	spans  *tracing.Tracer // nil where nobody wants spans
	// receipts signs what refusals were told by.
	receipts *commands.Receipts
	// direct judges the sales that have no gate.
	direct *commands.Direct

	uuid         string // of the event store
	env          *commands.Env
	sales        *commands.Sales
	views        *Views
	projector    *projections.Projector
	progress     projections.Progress
	keeper       *commands.Keeper
	follower     *commands.Follower
	leveller     *commands.Leveller
	finder       *commands.Finder
	orders       *commands.Orders
	kept         *commands.Kept
	tally        *commands.Tally
	purchaser    *commands.Purchaser
	placed       *commands.Placed
	shower       *commands.Shower
	queue        *commands.Queue
	queueLanes   []int // of the look at the journal
	watching     *watching
	overview     *overview
	lastRound    atomic.Pointer[commands.DriftRound] // over all sales, of this process
	operator     *commands.Operator
	reconciler   *commands.Reconciler
	closer       *commands.Closer
	repairer     *commands.Repairer
	cleanup      *commands.Cleanup
	preheats     *commands.Preheats
	members      *commands.Members
	knownMembers *commands.KnownMembers
	tickets      *commands.Tickets
	limits       *limiting // nil without the api role
	switches     *commands.Switchboard

	// working are the checks of this process's workers: see ready.go.
	working []api.Check

	// broken are lanes whose journal broke: see settleBroken.
	broken *commands.BrokenLanes

	// watchTicketWork warns where another node asks for another proof of work.
	watchTicketWork func(context.Context) error

	closers []func(context.Context) error
}

// appConns bounds the readers' connections of a process.
const appConns = 16

// openApp opens the stores and puts everything together. When it fails, nothing
// of it is left open.
func (c console) openApp(ctx context.Context, log *slog.Logger) (_ *app, err error) {
	a := &app{settings: c.settings, house: c.house, log: log, metrics: newMetrics(), broken: commands.NewBrokenLanes()}
	defer func() {
		if err != nil {
			err = errors.Join(err, a.close(ctx))
		}
	}()
	if a.stores, err = c.addresses(ctx, needDatabase|needGate); err != nil {
		return nil, err
	}
	a.onClose(a.stores.stop)
	if a.pool, err = openDatabase(ctx, a.stores, c.settings, appConns); err != nil {
		return nil, err
	}
	a.onClose(func(context.Context) error { a.pool.Close(); return nil })
	id, err := pg.LoadIdentity(ctx, a.pool)
	if err != nil {
		return nil, err
	}
	a.env = &commands.Env{
		Node: nodeName(c.settings.Node), Store: uint8(id.Store), Keys: OrderKeys(id), Now: skew.Now, Random: rand.Reader,
		NewID: func() uuid.UUID { return uuid.Must(uuid.NewV7()) }, Log: log, Step: crash.At,
	}
	a.metrics.Node(a.env.Node)
	a.uuid = id.UUID.String()
	if err := a.openSpans(ctx); err != nil {
		return nil, err
	}
	if err := a.openLog(); err != nil {
		return nil, err
	}
	if err := a.openGate(ctx); err != nil {
		return nil, err
	}
	if err := a.openSaleSide(ctx); err != nil {
		return nil, err
	}
	if err := a.assemble(); err != nil {
		return a, err
	}
	a.watching = newWatching(a)
	if a.house == nil {
		a.settings.Node = a.env.Node
		a.overview = newOverview(a.settings, a.metrics, func() []named { return []named{{app: a}} })
		a.overview.log = a.log
	}
	return a, nil
}

func (a *app) openLog() error {
	sink, err := pgstore.New(a.pool, a.settings.Namespace, pgstore.Options{
		Logger: a.log, Step: crash.At, OnStored: a.onStored, StatementTimeout: a.settings.Deadlines.Recorder,
		OnBatch: func(s pgstore.BatchStats) { a.metrics.Appended(s.Events, s.Tries, s.Locked) },
	})
	if err != nil {
		return err
	}
	a.sink = sink
	a.onClose(sink.Close)
	return nil
}

// onStored takes in what this process has stored.
func (a *app) onStored(records []eventstore.Record) {
	a.sales.Heard(records)
	a.placed.Heard(records)
	a.projector.Changes().Stored(records)
	a.spans.Stored(records)
	a.stored.ring(records)
}

func (a *app) openGate(ctx context.Context) error {
	redis.SetLogger(redisLog{a.log}) // it writes to stderr otherwise, in a form of its own
	elsewhere, err := lanesElsewhere(a.settings)
	if err != nil {
		return err
	}
	gate, err := redisgate.Open(ctx, string(a.stores.redis), redisgate.Options{
		Elsewhere: elsewhere,
		Namespace: a.settings.Namespace, Store: a.env.Store, ProcessToken: a.stores.token, OnCall: a.metrics.Script,
		SaleTimeout: a.settings.Deadlines.Redis, CallTimeout: callTimeout(a.settings),
	})
	if err != nil {
		return explainRedis(a.stores.redis, err)
	}
	a.gate = gate
	a.onClose(func(context.Context) error { return gate.Close() })
	return nil
}

// lanesElsewhere gives the lanes that have a Redis of their own.
func lanesElsewhere(s config.Settings) ([]redisgate.LaneRange, error) {
	ranges, err := s.RedisLanes.Ranges()
	if err != nil {
		return nil, fmt.Errorf("SECKILL_REDIS_LANES %w", err)
	}
	all := make([]redisgate.LaneRange, len(ranges))
	for i, r := range ranges {
		all[i] = redisgate.LaneRange{From: r.From, To: r.To, URL: string(r.URL)}
	}
	return all, nil
}

// assemble makes the commands over the opened stores.
func (a *app) assemble() error {
	var err error
	source := projections.Source{Store: int16(a.env.Store), Log: a.sink}
	a.projector, err = projections.NewProjector(a.pool, source, projections.All(), projections.Options{
		Log: a.log, Step: crash.At, Alarm: a.metrics.Alarm, Doubt: len(a.settings.KafkaBrokers) > 0, Paused: a.noncorePaused, OnApplied: a.onApplied(),
	})
	if err != nil {
		return err
	}
	a.progress = projections.Progress{DB: a.pool, Source: source, Projections: projections.All(), Projector: a.projector}
	a.views = NewViews(a.pool, int16(a.env.Store))
	a.sales = commands.NewSales(a.sale.database, a.env.Now, commands.SalesOptions{Budget: a.settings.Deadlines.Spare(), News: a.sale.database})
	if err := a.sale.admit(a); err != nil {
		return err
	}
	a.direct = commands.NewDirect(a.env, a.sales, a.sink, commands.DirectOptions{})
	a.onClose(a.direct.Close)
	inside, buyers := a.byStrategy(a.gate), a.byStrategy(a.sale.gate)
	a.follower = commands.NewFollower(a.env, a.sink, a.gate)
	a.follower.Gateless = a.sales.Gateless
	lanes := pg.NewHolder(a.pool, a.settings.Namespace)
	a.onClose(func(context.Context) error { lanes.Close(); return nil })
	a.keeper = commands.NewKeeper(a.env, a.sales, a.gate, a.sink, a.follower, LaneLocks{lanes},
		commands.KeeperOptions{Alarm: a.alarm, Broken: a.broken.Add})
	a.leveller = a.newLeveller()
	lost := &commands.Lost{Env: a.env, Gate: inside, Log: a.sink}
	a.kept = commands.NewKept(a.env, inside, a.sink, lost)
	a.kept.Sales, a.kept.Buckets = a.sales, a.leveller
	a.kept.Promises = &commands.Promises{Env: a.env, Sales: a.sales, Gate: a.gate, Log: a.sink, Follow: a.follower}
	a.finder = &commands.Finder{
		Env: a.env, View: a.view, ViewGoesBack: a.replica != nil, Changes: a.projector.Changes(), Log: a.sale.database, Gate: buyers, Journal: a.gate, Lost: lost, Holds: a.kept.Holds,
	}
	a.clock = commands.NewGateClock(a.env, a.gate)
	a.receipts = commands.NewReceipts(a.env, a.clock)
	a.newMembers()
	if err := a.newTickets(); err != nil {
		return err
	}
	a.tally = commands.NewTally(a.env, a.sales, a.sink, commands.TallyOptions{})
	a.orders = &commands.Orders{Env: a.env, Log: a.sink, Follow: a.follower, Finder: a.finder}
	a.placed = commands.NewPlaced(a.env, a.sale.database, commands.PlacedOptions{Budget: a.settings.Deadlines.Handler})
	a.purchaser = commands.NewPurchaser(a.env, a.sales, buyers, a.finder, a.kept, a.purchaserOptions())
	a.queue = &commands.Queue{Env: a.env, Journal: a.gate, Log: a.sink, Kept: a.kept, Alarm: a.alarm}
	a.closer = newCloser(a.env, a.sink, a.uuid, a.settings)
	a.shower = &commands.Shower{Env: a.env, Sales: a.sales, Gate: a.sale.gate, Guards: a.sale.database}
	a.operator = &commands.Operator{Env: a.env, Sales: a.sales, Log: a.sink, Gate: a.gate, Follow: a.follower, Buckets: a.leveller, Turns: LaneLocks{lanes}, Preheat: a.keeper.Preheat, Strengths: a.gate}
	a.switches = a.newSwitchboard()
	a.reconciler = &commands.Reconciler{Env: a.env, Sales: a.sales, Log: a.sink, Gate: a.gate, Views: a.views}
	a.repairer = a.newRepairer()
	a.cleanup = a.newCleanup()
	a.cleanup.After(a.members)
	a.preheats = a.newPreheats()
	return nil
}

func (a *app) locks() Locks { return Locks{Pool: a.pool, Namespace: a.settings.Namespace} }

// newRecorder makes a recorder of some lanes; each runs once.
func (a *app) newRecorder(lanes []int) *commands.Recorder {
	return commands.NewRecorder(a.env, a.gate, a.sink, a.follower, commands.RecorderOptions{
		Lanes:    lanes,
		Recorded: func(_, purchases int) { a.metrics.Recorded(purchases) },
		Alarm:    a.alarm,
		Suspect:  a.keeper.Suspect,
	})
}

// redisLog keeps what the Redis client says about its connections for those who
// look for it: its faults come back as errors too.
type redisLog struct{ log *slog.Logger }

// Printf logs one line.
func (r redisLog) Printf(ctx context.Context, format string, args ...any) {
	r.log.DebugContext(ctx, "Redis client", "detail", fmt.Sprintf(format, args...))
}

func (a *app) onClose(f func(context.Context) error) { a.closers = append(a.closers, f) }

// close closes what was opened, last first. Calling it again does nothing more.
func (a *app) close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 40*time.Second)
	defer cancel()
	var errs []error
	for i := len(a.closers) - 1; i >= 0; i-- {
		errs = append(errs, a.closers[i](ctx))
	}
	a.closers = nil
	return errors.Join(errs...)
}
