package e2e

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"seckill/infra/pg/pgtest"
	"seckill/infra/testenv"
)

// fleet is an installation with every role in processes of its own.
type fleet struct {
	apis, recorders, projectors, backs []*Child
}

// newFleet starts three API nodes, two recorders, two projectors, and two that relay
// and schedule, on a Redis Cluster and Kafka.
func newFleet(t *testing.T) (*Rig, *fleet) {
	t.Helper()
	Binary(t)
	pool, url, namespace := pgtest.New(t)
	cluster := testenv.PrivateRedisCluster(t, 0)
	r := &Rig{Pool: pool, URL: url, Namespace: namespace, Redis: &testenv.RedisServer{URL: cluster.URL}}
	env := append(r.Settings(t), "SECKILL_KAFKA_BROKERS="+testenv.Kafka(t), "SECKILL_DRAIN_FOR=500ms")
	start := func(n int, roles string) (all []*Child) {
		for range n {
			c := NewChild(t, ChildOptions{Env: env, Args: []string{"--roles", roles}})
			c.Start()
			all = append(all, c)
		}
		return all
	}
	f := &fleet{apis: start(3, "api"), recorders: start(2, "recorder"), projectors: start(2, "projector"), backs: start(2, "relay,scheduler")}
	for _, c := range f.all() {
		c.AwaitReady()
	}
	return r, f
}

func (f *fleet) all() (all []*Child) {
	for _, role := range [][]*Child{f.apis, f.recorders, f.projectors, f.backs} {
		all = append(all, role...)
	}
	return all
}

// impatient is what buyers see while nodes die under their requests, through a
// balancer: a request for patience, or the balancer's own word that a node broke off.
func impatient(a Answer, err error) bool {
	return polite(a, err) || err == nil && a.Status == http.StatusBadGateway
}

// Every role dies in turn in the middle of a sale: API nodes, recorders, projectors, and
// who relays and schedules, of whom one is frozen and wakes when another has gone on.
func TestASaleOverKafkaAndAClusterWhileEveryRoleDiesInTurn(t *testing.T) {
	r, f := newFleet(t)
	b := newBalancer(t, f.apis)
	client := NewClient(b.url)
	client.http.Transport = &http.Transport{MaxIdleConnsPerHost: 64}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	crowds := crowdsOf(ctx, t, client, 2, impatient)
	goesOn := func(after string) {
		t.Helper()
		for strategy, crowd := range crowds {
			const more = 5
			want := crowd.followed.Load() + more
			testenv.Eventually(t, 60*time.Second, func() error {
				if n := crowd.followed.Load(); n < want {
					return fmt.Errorf("%s died, and of the sale by %s %d of %d orders were placed since", after, strategy, n+more-want, more)
				}
				return nil
			})
		}
	}
	f.tellsItsRoles(t)
	goesOn("nobody")
	for name, role := range map[string][]*Child{"an API node": f.apis, "a recorder": f.recorders, "a projector": f.projectors} {
		for _, c := range role {
			c.Kill()
			goesOn(name)
			c.Restart()
		}
	}
	f.backs[0].Kill() // so that the other leads
	goesOn("a relay")
	f.backs[1].Freeze()
	f.backs[0].Restart()
	awaitPublished(t, f.apis[0], "while the relay that led is frozen")
	f.backs[1].Thaw()
	goesOn("a relay, and rose")
	f.backs[1].Restart()
	stop()
	for _, crowd := range crowds {
		crowd.home()
	}
	f.check(t, r, crowds)
}

// A rollout as docs/deployment.md has it, readers before writers, each process told to
// stop and started again while buyers buy: nobody sees more than a request for patience.
func TestAFleetOverKafkaIsRolledOutUnderLoad(t *testing.T) {
	r, f := newFleet(t)
	b := newBalancer(t, f.apis)
	client := NewClient(b.url)
	client.http.Transport = &http.Transport{MaxIdleConnsPerHost: 64}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	crowds := crowdsOf(ctx, t, client, 2, polite)
	for _, role := range [][]*Child{f.recorders, f.projectors, f.backs, f.apis} {
		for _, c := range role {
			if code := c.Stop(); code != 0 {
				t.Errorf("%v ends with %d when it is told to stop", c.args, code)
			}
			c.Start()
			c.AwaitReady()
		}
	}
	stop()
	for _, crowd := range crowds {
		crowd.home()
	}
	if n := b.broken.Load(); n > 0 {
		t.Errorf("%d requests broke", n)
	}
	f.check(t, r, crowds)
}

// tellsItsRoles looks at what each process says at /readyz.
func (f *fleet) tellsItsRoles(t *testing.T) {
	t.Helper()
	for c, want := range map[*Child]string{
		f.apis[0]: "event_store log_tables gate", f.recorders[0]: "event_store log_tables gate recorder",
		f.projectors[0]: "event_store log_tables projections", f.backs[0]: "event_store log_tables gate relay scheduler",
	} {
		answer, err := NewClient(c.URL).Call(http.MethodGet, "/readyz", "", "", nil)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		checks, _ := answer.Body["checks"].([]any)
		for _, check := range checks {
			names = append(names, fmt.Sprint(check.(map[string]any)["name"]))
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%v is ready for %q, want %q", c.args, got, want)
		}
	}
}

// awaitPublished waits until everything that the log has now is published.
func awaitPublished(t *testing.T, node *Child, when string) {
	t.Helper()
	head := metric(t, node.URL, "seckill_log_position")
	testenv.Eventually(t, 60*time.Second, func() error {
		if at := metric(t, node.URL, "seckill_relay_position"); at < head {
			return fmt.Errorf("%s the log is published up to %d of %d", when, at, head)
		}
		return nil
	})
}

// check looks at everything when the sale is quiet.
func (f *fleet) check(t *testing.T, r *Rig, crowds map[string]*shoppers) {
	t.Helper()
	checkCrowds(t, r, crowds)
	awaitPublished(t, f.apis[0], "at the end")
	awaitProjected(t, r)
	var lanes int64
	for _, c := range f.recorders {
		lanes += metric(t, c.URL, "seckill_recorder_lanes")
	}
	if lanes != 64 {
		t.Errorf("the recorders record %d lanes, want 64", lanes)
	}
	for _, args := range [][]string{{"reconcile"}, {"audit", "verify"}} {
		if done := Run(t, r.Settings(t), args...); done.Code != 0 {
			t.Errorf("%v: exit code %d, %s%s", args, done.Code, done.Stdout, done.Stderr)
		}
	}
	for _, c := range f.all() {
		if code := c.Stop(); code != 0 {
			t.Errorf("a process that is told to stop ends with %d:\n%s", code, c.log.tail(2000))
		}
	}
}
