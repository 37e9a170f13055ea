package e2e

import (
	"cmp"
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"seckill/infra/figures"
	"seckill/infra/testenv"
)

var (
	profilePurchases = flag.Int("profiles.purchases", 1000, "purchases that go through every stage")
	profileRefusals  = flag.Duration("profiles.refusals", time.Second, "how long purchases are refused")
)

// profiles is an installation whose parts are profiled one after the other.
type profiles struct {
	b    *testing.B
	rig  *Rig
	sale string // whose purchases go through all stages
	sold int    // how many of them were answered
	gone string // in which nothing is left
}

// BenchmarkProfiles takes profiles of every stage of a purchase, each stage a process of
// its own while the others rest: accepted, recorded, projected; and of a refusal.
func BenchmarkProfiles(b *testing.B) {
	for range b.N {
		p := &profiles{b: b, rig: durableRig(b)}
		p.accepted()
		p.recorded()
		p.projected()
		p.refused()
	}
}

// accepted profiles an API process that accepts, and what the gate's script does.
func (p *profiles) accepted() {
	b, n := p.b, *profilePurchases
	node := newProfiled(b, p.rig, "api")
	node.Start()
	node.AwaitReady()
	back := Serve(b, ChildOptions{Env: append(p.rig.Settings(b), gatesOn[:]...), Args: []string{"--roles", backRoles}})
	x := newRushes(b, p.rig, node.Child, n)
	p.sale, p.gone = x.openSale(), soldOutSale(b, x.client)
	back.Stop()
	redis := redisOf(b, p.rig.Redis.URL)
	if err := redis.ConfigResetStat(b.Context()).Err(); err != nil {
		b.Fatal(err)
	}
	node.begin()
	before := p.rig.spentBy(b, node.Child)
	p.sold = x.rush(p.sale).accepted()
	each := p.rig.spentBy(b, node.Child).each(before, p.sold)
	node.end()
	p.tell("accepted", node, p.sold, each)
	stats, err := redis.InfoMap(b.Context(), "commandstats").Result()
	if err != nil {
		b.Fatal(err)
	}
	figures.TellStage(b, figures.Stage{Name: "gate", Count: p.sold, Parts: commandTimes(stats["Commandstats"], p.sold)}, nil)
	node.Stop()
}

// recorded profiles a recorder that finds the journal full.
func (p *profiles) recorded() {
	recorder := newProfiled(p.b, p.rig, "recorder")
	p.throughout(recorder, "recorded", func() { p.rig.awaitRecorded(p.b, p.sale, p.sold) })
}

// projected profiles relay and projector, which find the log full.
func (p *profiles) projected() {
	reader := newProfiled(p.b, p.rig, "relay,projector")
	p.throughout(reader, "projected", func() { p.rig.awaitProjected(p.b, p.sale, p.sold) })
}

// throughout profiles a process from its start until something has happened.
func (p *profiles) throughout(child *profiled, stage string, happened func()) {
	before := spent{redis: float64(processorTime(p.b, p.rig.redisPID(p.b)).Microseconds()), postgres: p.rig.postgresTime(p.b)}
	child.Start(profileAtOnce + "=1")
	happened()
	each := p.rig.spentBy(p.b, child.Child).each(before, p.sold)
	child.end()
	p.tell(stage, child, p.sold, each)
	child.Stop()
}

// refused profiles an API process in whose sale nothing is left.
func (p *profiles) refused() {
	b := p.b
	back := Serve(b, ChildOptions{Env: append(p.rig.Settings(b), gatesOn[:]...), Args: []string{"--roles", backRoles}})
	node := newProfiled(b, p.rig, "api")
	node.Start()
	node.AwaitReady()
	client, path := NewClient(node.URL), "/api/v1/sales/"+p.gone+"/purchases"
	testenv.Eventually(b, time.Minute, func() error {
		a, err := client.Buy(p.gone, "too-late", "k")
		if err == nil && a.Text("code") != "sold_out" {
			err = errStatus(a)
		}
		return err
	})
	tokens := tokenFile(b, *refusalsBuyers)
	node.begin()
	before := p.rig.spentBy(b, node.Child)
	seen := wrk(b, node.URL, path, tokens, *refusalsConns, *profileRefusals)
	each := p.rig.spentBy(b, node.Child).each(before, int(seen.requests))
	node.end()
	if seen.refused != seen.requests {
		b.Fatalf("%d of %d were refused", seen.refused, seen.requests)
	}
	p.tell("refusal", node, int(seen.requests), each)
	node.Stop()
	back.Stop()
}

func (p *profiles) tell(stage string, child *profiled, n int, each spent) {
	figures.TellStage(p.b, figures.Stage{Name: stage, Count: n, Steps: child.steps(p.b, n), Parts: []figures.Detail{
		{Name: "our process", Value: each.node, Unit: "µs"}, {Name: "Redis", Value: each.redis, Unit: "µs"}, {Name: "PostgreSQL", Value: each.postgres, Unit: "µs"},
	}}, child.texts(p.b))
}

// commandTimes reads what Redis spent on commands, a purchase, the dearest first: those
// that come over a connection, and those inside of scripts, which are part of evalsha.
func commandTimes(stats map[string]string, n int) (parts []figures.Detail) {
	for name, text := range stats {
		var calls, micros float64
		if _, err := fmt.Sscanf(strings.ReplaceAll(text, ",", " "), "calls=%f usec=%f", &calls, &micros); err != nil || micros/float64(n) < 0.05 {
			continue
		}
		parts = append(parts, figures.Detail{Name: fmt.Sprintf("`%s`, %.2f calls a purchase", strings.ReplaceAll(strings.TrimPrefix(name, "cmdstat_"), "|", " "), calls/float64(n)), Value: micros / float64(n), Unit: "µs"})
	}
	slices.SortFunc(parts, func(a, b figures.Detail) int { return cmp.Compare(b.Value, a.Value) })
	return parts
}

func TestTimesOfCommandsAreReadOutOfRedis(t *testing.T) {
	parts := commandTimes(map[string]string{
		"cmdstat_hset":    "calls=10,usec=2000,usec_per_call=200.00,rejected_calls=0,failed_calls=0",
		"cmdstat_evalsha": "calls=5,usec=9000,usec_per_call=1800.00,rejected_calls=0,failed_calls=0", "cmdstat_config|get": "calls=1,usec=1,usec_per_call=1.00",
	}, 1000)
	if len(parts) != 2 || parts[0].Value != 9 || !strings.HasPrefix(parts[0].Name, "`evalsha`, 0.01 calls") || parts[1].Value != 2 {
		t.Errorf("got %+v", parts)
	}
}
