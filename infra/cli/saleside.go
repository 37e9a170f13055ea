package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/redis/go-redis/v9"

	"seckill/commands"
	"seckill/eventstore/pgstore"
	"seckill/infra/admission"
	"seckill/infra/config"
	"seckill/infra/guard"
	"seckill/infra/obs"
	"seckill/infra/pg"
)

// saleSide is what buyers' questions go through: connections of their own, short
// deadlines, a breaker before each store, and the admission of purchases. What
// records, recovers and repairs goes past it.
type saleSide struct {
	pool     *pgxpool.Pool
	database *guard.Database
	gate     *guard.Gate
	limiter  *admission.Limiter
}

// saleConns bounds the connections to PostgreSQL of what buyers ask.
const saleConns = 8

// openSaleSide opens what buyers' questions go through, over the opened stores.
func (a *app) openSaleSide(ctx context.Context) error {
	d := a.settings.Deadlines
	pool, err := pg.Open(ctx, string(a.stores.database), pg.Options{
		Namespace: a.settings.Namespace, MaxConns: saleConns, AppName: "seckill sale",
		ConnectTimeout: d.Gateway, StatementTimeout: d.Statement, LockTimeout: d.Lock,
	})
	if err != nil {
		return fmt.Errorf("open the database for buyers: %w", err)
	}
	a.sale.pool = pool
	a.onClose(func(context.Context) error { pool.Close(); return nil })
	a.sale.database = guard.NewDatabase(pgstore.NewReads(pool), NewViews(pool, int16(a.env.Store)), a.log)
	a.sale.gate = guard.NewGate(a.gate, a.log, func(took time.Duration) { a.sale.limiter.Observe(took) })
	a.sale.gate.Server = a.gate.Server
	a.metrics.Breaker("postgres", a.sale.database.State)
	a.metrics.Breaker("redis", a.sale.gate.State)
	a.metrics.Pool("postgres_sale", postgresStats(pool))
	a.metrics.Pool("postgres", postgresStats(a.pool))
	a.metrics.Pool("redis_sale", func() obs.PoolStats { sale, _ := a.gate.Pools(); return redisStats(sale) })
	a.metrics.Pool("redis", func() obs.PoolStats { _, rest := a.gate.Pools(); return redisStats(rest) })
	a.view, err = a.viewOfBuyers(ctx)
	return err
}

// openingFor is how long after its opening a sale has a queue.
const openingFor = 2 * time.Second

// admit makes the admission; a sale that nobody here has asked for has no queue.
func (s *saleSide) admit(a *app) (err error) {
	known := a.sales.Known
	if a.house != nil {
		if s.limiter = a.house.limiter; s.limiter != nil {
			return nil // all databases have one: it is the process that is full
		}
		known = a.house.knownSale
	}
	set := a.settings.Admission
	s.limiter, err = admission.New(admission.Options{
		Floor: int(set.Floor), Cap: int(set.Cap), Queue: int(set.Queue), Wait: a.settings.Deadlines.Queue,
		Target: a.settings.Deadlines.Gate * 2 / 5,
		Opening: func(id string) bool {
			sale, ok := known(id)
			since := a.env.Now().Sub(sale.Terms.OpensAt)
			return ok && since >= 0 && since < openingFor
		},
	})
	if err != nil {
		return fmt.Errorf("set up the admission of purchases: %w", err)
	}
	if a.house != nil {
		a.house.limiter = s.limiter
	}
	a.metrics.Admission(func() obs.AdmissionStats {
		now := s.limiter.Stats()
		return obs.AdmissionStats{Ceiling: now.Ceiling, Inside: now.Inside, Waiting: now.Waiting, Refused: now.Refused, Outdated: now.Outdated}
	})
	return nil
}

// purchaserOptions are the budgets of a purchase, out of its chain of deadlines.
func (a *app) purchaserOptions() commands.PurchaserOptions {
	d := a.settings.Deadlines
	return commands.PurchaserOptions{GateBudget: d.Gate, DirectBudget: d.Gate + d.Spare()/2, ResolveBudget: d.Spare(), FindBudget: d.Statement, Members: a.knownMembers, Holders: a.tickets, Tally: a.tally,
		Clock: a.clock, Shortages: a.sale.gate, Buckets: a.leveller, BringBudget: d.Spare(), Placed: a.placed, OnKnown: a.metrics.Known, OnAccepted: a.onAccepted()}
}

// callTimeout ends a call of many purchases a little before those who wait for it
// give up: so they hear that nothing happened where that is so.
func callTimeout(s config.Settings) time.Duration { return s.Deadlines.Gate * 4 / 5 }

func postgresStats(pool *pgxpool.Pool) func() obs.PoolStats {
	return func() obs.PoolStats {
		s := pool.Stat()
		return obs.PoolStats{InUse: int(s.AcquiredConns()), Idle: int(s.IdleConns()), Waited: s.EmptyAcquireWaitTime()}
	}
}

func redisStats(s redis.PoolStats) obs.PoolStats {
	return obs.PoolStats{InUse: int(s.TotalConns - s.IdleConns), Idle: int(s.IdleConns), Waited: time.Duration(s.WaitDurationNs)}
}
