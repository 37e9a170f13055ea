package simulation

import (
	"context"
	"time"

	"seckill/commands"
	"seckill/eventstore"
	"seckill/infra/bus"
)

// run starts a part of a process.
func (p *process) run(part func(context.Context) error) {
	ctx := p.ctx
	go func() { _ = part(ctx) }() // its error is nil, or that of a process that died
}

// follow makes what every process has: its own picture of the sales, and a follower.
func (p *process) follow(log logPort, gate gatePort) *commands.Follower {
	// Staleness that would let one purchase wait for another's question under a mutex
	// is left out: a goroutine that waits so is not at rest for synctest.
	p.sales = commands.NewSales(log, p.env.Now, commands.SalesOptions{News: log, Stale: time.Hour})
	f := commands.NewFollower(p.env, log, gate)
	f.Gateless = p.sales.Gateless
	return f
}

// api puts an API node together, as infra/cli does.
func (p *process) api() {
	log, gate := logPort{p: p}, gatePort{p}
	follow := p.follow(log, gate)
	lost := &commands.Lost{Env: p.env, Gate: gate, Log: log}
	kept := commands.NewKept(p.env, gate, log, lost)
	p.leveller = commands.NewLeveller(p.env, gate, log, follow, commands.LevellerOptions{})
	kept.Sales, kept.Buckets = p.sales, p.leveller
	p.finder = &commands.Finder{
		Env: p.env, View: viewPort{p}, Changes: noChanges{}, Log: log, Gate: gate, Journal: gate, Lost: lost, Holds: kept.Holds,
	}
	p.orders = &commands.Orders{Env: p.env, Log: log, Follow: follow, Finder: p.finder}
	p.purchaser = commands.NewPurchaser(p.env, p.sales, gate, p.finder, kept, commands.PurchaserOptions{
		Buckets: p.leveller, BringBudget: time.Second,
	})
	keeper := commands.NewKeeper(p.env, p.sales, gate, log, follow, lockPort{p}, commands.KeeperOptions{})
	p.operator = &commands.Operator{
		Env: p.env, Sales: p.sales, Log: log, Gate: gate, Follow: follow, Buckets: p.leveller, Turns: lockPort{p}, Preheat: keeper.Preheat,
	}
	p.run(kept.Run)
	if p.name == "api-1" && p.world.terms.Buckets > 1 {
		p.run(func(ctx context.Context) error { return p.leveller.Sweep(ctx, p.sales) })
	}
}

// recorder puts a process together that records, and keeps the lanes.
func (p *process) recorder() {
	log, gate := logPort{p: p}, gatePort{p}
	follow := p.follow(log, gate)
	keeper := commands.NewKeeper(p.env, p.sales, gate, log, follow, lockPort{p}, commands.KeeperOptions{})
	own := log
	if p.world.cfg.Variant == NoFence {
		own.believed = map[int]eventstore.Cursor{}
	}
	recorder := commands.NewRecorder(p.env, gate, own, follow, commands.RecorderOptions{Suspect: keeper.Suspect})
	p.run(recorder.Run)
	p.run(keeper.Run)
}

// expirer puts the process together that ends what nobody paid.
func (p *process) expirer() {
	log, gate := logPort{p: p}, gatePort{p}
	follow := p.follow(log, gate)
	orders := &commands.Orders{Env: p.env, Log: log, Follow: follow, Finder: &commands.Finder{
		Env: p.env, View: viewPort{p}, Changes: noChanges{}, Log: log, Gate: gate, Journal: gate,
		Lost: &commands.Lost{Env: p.env, Gate: gate, Log: log},
	}}
	p.run(commands.NewExpirer(p.env, orders, viewPort{p}, commands.ExpirerOptions{}).Run)
}

// relay puts the process together that publishes the log.
func (p *process) relay() {
	source := bus.Source{Store: storeNumber, Log: logPort{p: p}, Place: viewPort{p}}
	relay, err := bus.NewRelay(source, busPort{p}, bus.RelayOptions{Shards: shards, Page: 50, MaxEvents: 7, Log: p.env.Log})
	if err != nil {
		panic(err) // the options are constant
	}
	p.run(relay.Run)
}

// projector puts the process together that keeps the views.
func (p *process) projector() {
	for i := range shards {
		s := &shard{p: p, number: i, inbox: make(chan []byte, 4096)}
		p.shards = append(p.shards, s)
		p.run(s.run)
	}
}

// noChanges hears of no change: a poll looks for itself.
type noChanges struct{}

func (noChanges) Watch(string) (<-chan struct{}, func(), bool) { return nil, func() {}, true }
