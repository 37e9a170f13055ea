package cli

import (
	"slices"
	"strings"
	"time"

	"seckill/api"
	"seckill/commands"
	"seckill/infra/lookout"
	"seckill/infra/obs"
)

// seenOf says how fresh a part is.
func seenOf[T any](s lookout.Seen[T]) api.OverviewSeen {
	if s.Known {
		return api.OverviewSeen{At: &s.At}
	}
	return api.OverviewSeen{UnknownSince: &s.At}
}

// slowShown and slowFor bound what is shown of slow logs, statementsShown of statements.
const (
	slowShown       = 20
	slowFor         = 10 * time.Minute
	statementsShown = 10
)

// redisView is the gate's Redis.
func (w *watching) redisView() api.OverviewRedis {
	seen := w.servers.Seen()
	v := api.OverviewRedis{OverviewSeen: seenOf(seen), Servers: []api.OverviewServer{}, Slow: []api.OverviewSlow{}, Pools: w.poolsView("redis")}
	told := false
	for _, s := range seen.Value {
		one := api.OverviewServer{Server: s.Server}
		if s.Err != nil {
			last := w.redis.lastSeen(s.Server)
			one.UnknownSince = &last
			v.Servers = append(v.Servers, one)
			continue
		}
		told = told || !s.SlowHidden
		one.ConnectedClients, one.BlockedClients, one.MaxClients = &s.Connected, &s.Blocked, s.Max
		one.SlowLogLength, one.SlowLogHidden = &s.SlowLength, s.SlowHidden
		if s.SlowHidden {
			one.SlowLogLength = nil
		}
		v.Servers = append(v.Servers, one)
		for _, c := range s.Slow {
			if w.app.env.Now().Sub(c.At) < slowFor {
				v.Slow = append(v.Slow, api.OverviewSlow{Server: s.Server, At: c.At.UTC(), Seconds: c.Took.Seconds(), Command: c.Command})
			}
		}
	}
	slices.SortStableFunc(v.Slow, func(x, y api.OverviewSlow) int { return y.At.Compare(x.At) })
	v.Slow = v.Slow[:min(len(v.Slow), slowShown)]
	if told {
		v.SlowPerMinute = w.redis.slowPerMinute()
	}
	return v
}

// poolsView gives the pools of one kind of store: those whose names begin so.
func (w *watching) poolsView(store string) []api.OverviewPool {
	pools := []api.OverviewPool{}
	now := w.app.metrics.PoolsNow()
	w.mu.Lock()
	defer w.mu.Unlock()
	rates, ok := w.pools.PerSecond()
	for i, name := range w.names {
		if !strings.HasPrefix(name, store) {
			continue
		}
		p := api.OverviewPool{Pool: name, InUse: now[name].InUse, Idle: now[name].Idle}
		if ok {
			p.WaitPerSecond = rates[i]
		}
		pools = append(pools, p)
	}
	return pools
}

// backlogView is what waits, from the gate to the views.
func (w *watching) backlogView(database string) []api.OverviewStage {
	stages := []api.OverviewStage{w.journalView(w.journal.Seen())}
	seen := w.views.Seen()
	relay := api.OverviewStage{OverviewSeen: seenOf(seen), Stage: obs.StageRelay, Unit: "events"}
	if seen.Known {
		waiting := seen.Value.Head.Number - seen.Value.Relay.At.Number
		relay.Waiting, relay.GrowthPerSecond = &waiting, w.growth(obs.StageRelay)
	}
	stages = append(stages, relay)
	for _, p := range w.app.progress.Projections {
		stage := api.OverviewStage{OverviewSeen: seenOf(seen), Stage: p.Name, Unit: "events"}
		for _, d := range seen.Value.Projections {
			if d.Projection == p.Name {
				place := placeOf(seen.Value, d, seen.At)
				lag, parked, oldest := place.Lag.Seconds(), place.Parked, place.OldestParked.Seconds()
				stage.Waiting, stage.GrowthPerSecond, stage.LagSeconds = &place.LagEvents, w.growth(p.Name), &lag
				stage.Parked, stage.ParkedSeconds = &parked, &oldest
			}
		}
		stages = append(stages, stage)
	}
	for i := range stages {
		stages[i].Database = database
	}
	return stages
}

func (w *watching) journalView(seen lookout.Seen[commands.Queued]) api.OverviewStage {
	stage := api.OverviewStage{OverviewSeen: seenOf(seen), Stage: obs.StageJournal, Unit: "entries"}
	if seen.Known {
		q := seen.Value
		oldest := q.Oldest.Seconds()
		stage.Waiting, stage.Orders, stage.AtMost, stage.LagSeconds = &q.Entries, &q.Orders, q.AtMost, &oldest
		stage.GrowthPerSecond = w.growth(obs.StageJournal)
	}
	return stage
}

// postgresView is the database of the log.
func (w *watching) postgresView(database string) api.OverviewPostgres {
	seen := w.activity.Seen()
	v := api.OverviewPostgres{
		OverviewSeen: seenOf(seen), Database: database, SlowOverSeconds: w.app.settings.SlowStatement.Seconds(),
		Statements: []api.OverviewStatement{}, Pools: w.poolsView("postgres"),
	}
	if !seen.Known {
		return v
	}
	a := seen.Value
	v.Connections = &api.OverviewSessions{Active: a.Active, Idle: a.Idle, IdleInTransaction: a.IdleInTransaction, Other: a.Other, WaitingForLocks: a.WaitingForLocks, Max: a.Max}
	slow, oldest := len(a.Slow), a.Oldest.Seconds()
	v.SlowStatements, v.OldestTransactionSeconds = &slow, &oldest
	for _, s := range a.Slow[:min(slow, statementsShown)] {
		v.Statements = append(v.Statements, api.OverviewStatement{PID: s.PID, Application: s.Application, Seconds: s.Took.Seconds(), Wait: s.Wait, Query: strings.Join(strings.Fields(s.Query), " ")})
	}
	return v
}

// salesView adds the sales of a database, and what reconciliations found in it. Where one
// of several is unknown, so is the whole: since the earliest of these times.
func (w *watching) salesView(v *api.Overview) {
	sales, listed := w.sales.Seen(), w.listed.Seen()
	v.Sales.OverviewSeen, v.Drift.OverviewSeen = lessKnown(v.Sales.OverviewSeen, seenOf(sales)), lessKnown(v.Drift.OverviewSeen, seenOf(listed))
	if v.Sales.Sales == nil {
		v.Sales.Sales, v.Drift.PausedSales = []api.OverviewSale{}, []string{}
	}
	v.Sales.Sales = append(v.Sales.Sales, sales.Value.sales...)
	v.Sales.More += sales.Value.more
	if listed.Known {
		v.Drift.PausedSales = append(v.Drift.PausedSales, sales.Value.drift...)
	}
	round := w.app.lastRound.Load()
	if round == nil {
		return
	}
	closed := round.Closed
	if v.Drift.NotCompared != nil {
		closed += *v.Drift.NotCompared
	}
	v.Drift.NotCompared = &closed
	if v.Drift.CheckedAt == nil || round.At.Before(*v.Drift.CheckedAt) {
		v.Drift.CheckedAt = &round.At
	}
	for kind, n := range round.Findings {
		if v.Drift.Findings == nil {
			v.Drift.Findings = map[string]int{}
		}
		v.Drift.Findings[kind] += n
	}
}

// lessKnown gives the one of two that says more against what is shown.
func lessKnown(a, b api.OverviewSeen) api.OverviewSeen {
	switch {
	case a.At == nil && a.UnknownSince == nil:
		return b
	case a.UnknownSince == nil && b.UnknownSince == nil:
		if b.At.Before(*a.At) {
			return b
		}
		return a
	case a.UnknownSince == nil || b.UnknownSince != nil && b.UnknownSince.Before(*a.UnknownSince):
		return b
	}
	return a
}
