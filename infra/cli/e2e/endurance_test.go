package e2e

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/domain"
)

var (
	soakFor     = flag.Duration("soak.for", 10*time.Second, "how long mixed load goes on; from ten minutes on, what grows fails the test")
	soakEvery   = flag.Duration("soak.every", 0, "how often everything is looked at; a hundredth of the whole, a second at least, by default")
	soakRestart = flag.Duration("soak.restart", 0, "how often a process is killed or stopped; a fiftieth of the whole, two seconds at least and a minute at most, by default")
	soakSale    = flag.Duration("soak.sale", 0, "how long a sale is open; a twentieth of the whole, three seconds at least and two minutes at most, by default")
	soakRate    = flag.Int("soak.rate", 40, "things that buyers do in a second")
	soakSeed    = flag.Uint64("soak.seed", 0, "seed; 0 draws one")
	soakFile    = flag.String("soak.file", "", "a file for all samples, with tabs between")
)

// soakJudges is how long a soak must be for its courses to say something.
const soakJudges = 10 * time.Minute

// endurance is an installation under mixed load for a long time. Of each kind of process
// one lives all the time, so that what it loses adds up, and one dies again and again,
// so that what the dead leave behind adds up.
type endurance struct {
	t       *testing.T
	rig     *Rig
	redis   *redis.Client
	oldAPI  *Child
	oldBack *Child
	young   []*Child // an API process and one that records, projects and looks after sales
	clients []*Client
	seed    uint64
	began   time.Time // the load

	courses  courses
	restarts int
	did      atomic.Int64 // things that buyers did
	sold     sync.WaitGroup
	cleaned  atomic.Int64
}

// TestHoursOfMixedLoadLeaveEverythingFlat sells sale after sale to buyers who buy, pay,
// cancel, let expire, look and come too late, while processes are killed and stopped in
// turn; each sale is closed, must pass its books, and is cleaned up. Memory, goroutines,
// files, connections, keys and tables must not grow. `make soak`.
func TestHoursOfMixedLoadLeaveEverythingFlat(t *testing.T) {
	x := newEndurance(t)
	t.Logf("seed %d, for %s", x.seed, *soakFor)
	x.began = time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), *soakFor)
	defer cancel()
	var running sync.WaitGroup
	running.Go(func() { x.sellOn(ctx) })
	running.Go(func() { x.restartOn(ctx) })
	x.sampleOn(ctx)
	running.Wait()
	x.sold.Wait()
	x.judge()
}

func newEndurance(t *testing.T) *endurance {
	x := &endurance{t: t, rig: durableRig(t), seed: *soakSeed}
	if x.seed == 0 {
		x.seed = rand.Uint64()
	}
	x.redis = redisOf(t, x.rig.Redis.URL)
	env := append(withBank(t, x.rig), "SECKILL_RECONCILE_EVERY=1m")
	start := func(roles string) *Child { return Serve(t, ChildOptions{Env: env, Args: []string{"--roles", roles}}) }
	x.oldAPI, x.oldBack = start("api"), start(backRoles)
	x.young = []*Child{start("api"), start(backRoles)}
	transport := &http.Transport{MaxIdleConnsPerHost: 64}
	for _, c := range []*Child{x.oldAPI, x.young[0]} {
		client := NewClient(c.URL)
		client.http.Transport = transport
		x.clients = append(x.clients, client)
	}
	return x
}

// every gives a flag's time, or by default a part of the whole within bounds.
func every(set time.Duration, part time.Duration, least, most time.Duration) time.Duration {
	if set > 0 {
		return set
	}
	return min(max(*soakFor/part, least), most)
}

// sampleOn looks at everything until ctx ends.
func (x *endurance) sampleOn(ctx context.Context) {
	tick := time.NewTicker(every(*soakEvery, 100, time.Second, time.Minute))
	defer tick.Stop()
	for {
		if err := x.sample(context.WithoutCancel(ctx)); err != nil {
			x.t.Errorf("sample: %v", err)
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// restartOn kills or stops the young processes in turn.
func (x *endurance) restartOn(ctx context.Context) {
	tick := time.NewTicker(every(*soakRestart, 50, 2*time.Second, time.Minute))
	defer tick.Stop()
	for ; ; x.restarts++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		child := x.young[x.restarts%len(x.young)]
		if x.restarts/len(x.young)%2 == 0 {
			child.Kill()
		} else {
			child.Stop()
		}
		child.Start()
	}
}

// sellOn holds one sale after the other. Its closing goes on beside the next.
func (x *endurance) sellOn(ctx context.Context) {
	for sale := uint64(0); ctx.Err() == nil && !x.t.Failed(); sale++ {
		a, err := x.openSale(x.seed + sale<<32)
		if err != nil {
			x.t.Errorf("open a sale: %v", err)
			return
		}
		within, done := context.WithTimeout(ctx, every(*soakSale, 20, 3*time.Second, 2*time.Minute))
		x.buyers(within, a)
		done()
		x.sold.Go(func() { x.close(a) })
	}
}

// openSale makes a sale of little stock and a short time to pay, at the process that
// nobody ends: a sale of which nobody hears would not be cleaned up.
func (x *endurance) openSale(seed uint64) (*accounts, error) {
	a := &accounts{t: x.t, seed: seed, rig: x.rig, clients: x.clients, stock: 100, promised: map[string]string{}, paid: map[string]bool{}}
	a.deadline = time.Now().Add(*soakFor + 5*time.Minute)
	body := saleBody(a.stock)
	body["limit_per_buyer"], body["rebuy"], body["payment_window"] = 2, true, 3
	body["closes_at"] = time.Now().Add(24 * time.Hour).Format(time.RFC3339)
	answer, err := x.clients[0].Call(http.MethodPost, "/api/v1/admin/sales", "operator", "admin", body)
	if err = statusOf(answer, err); err != nil {
		return nil, err
	}
	a.sale = answer.Text("id")
	return a, nil
}

// buyers let things happen to a sale, so many a second, until ctx ends, and waits for
// whoever has begun.
func (x *endurance) buyers(ctx context.Context, a *accounts) {
	var busy sync.WaitGroup
	defer busy.Wait()
	pace := time.NewTicker(time.Second / time.Duration(max(1, *soakRate)))
	defer pace.Stop()
	chance := rand.New(rand.NewPCG(a.seed, 2))
	for i := 0; ; i++ {
		select {
		case <-ctx.Done():
			return
		case <-pace.C:
		}
		own := rand.New(rand.NewPCG(a.seed, uint64(i)+3))
		what := chance.IntN(10)
		busy.Go(func() {
			if what < 7 {
				a.live(own, i)
			} else {
				x.strays(a, own, i)
			}
			x.did.Add(1)
		})
	}
}

// strays are those who look, press twice, and ask for what is not there. Whatever they
// are told, only a fault of ours is wrong.
func (x *endurance) strays(a *accounts, chance *rand.Rand, i int) {
	buyer, sale := fmt.Sprintf("stray-%d-%d", a.seed, i), "/api/v1/sales/"+a.sale
	calls := []struct{ method, path string }{
		{http.MethodGet, sale}, {http.MethodGet, "/s/" + a.sale}, {http.MethodGet, "/api/v1/sales"},
		{http.MethodGet, "/api/v1/orders/no-order-" + buyer}, {http.MethodGet, "/api/v1/sales/" + domain.SaleNumber(1<<39+i).ID()},
		{http.MethodPost, sale + "/purchases"}, {http.MethodPost, sale + "/tickets"},
	}
	one := calls[chance.IntN(len(calls))]
	var body any
	if one.method == http.MethodPost {
		body = `{"sku":"no-such-item","quantity":1}`
	}
	answer, err := a.clients[chance.IntN(len(a.clients))].Call(one.method, one.path, buyer, "", body)
	if err == nil && answer.Status >= 500 && answer.Status != http.StatusServiceUnavailable {
		x.t.Errorf("%s %s: %d %s", one.method, one.path, answer.Status, answer.Raw)
	}
}

// close ends a sale and cleans it up, which is refused until every order has its end and
// the books are without a finding.
func (x *endurance) close(a *accounts) {
	for _, step := range []string{"/close", "/cleanup"} {
		for {
			err := statusOf(x.clients[0].Call(http.MethodPost, "/api/v1/admin/sales/"+a.sale+step, "operator", "admin", map[string]any{"note": "soak"}))
			if err == nil {
				break
			}
			if time.Now().After(a.deadline) {
				x.t.Errorf("%s of sale %s: %v", step, a.sale, err)
				return
			}
			<-time.After(500 * time.Millisecond) // each try goes through the books
		}
	}
	x.cleaned.Add(1)
}

// judge compares the thirds, and audits the log.
func (x *endurance) judge() {
	t := x.t
	for _, c := range x.young {
		if !c.Alive() {
			c.Start()
		}
	}
	n := x.rig.Node(t, NodeOptions{APIOnly: true})
	checkAudit(t, n)
	t.Logf("%d things done, %d sales sold, closed and cleaned up, %d restarts, %d samples, %.0f events\n%s",
		x.did.Load(), x.cleaned.Load(), x.restarts, len(x.courses.at), x.courses.events[len(x.courses.events)-1], x.courses.summary())
	if *soakFile != "" {
		if err := os.WriteFile(*soakFile, []byte(x.courses.table()), 0o644); err != nil {
			t.Errorf("write the samples: %v", err)
		}
	}
	if x.did.Load() == 0 || x.cleaned.Load() == 0 || x.restarts == 0 || len(x.courses.at) < 3 {
		t.Errorf("%d things were done, %d sales cleaned up, %d processes restarted, %d samples taken: this was no soak", x.did.Load(), x.cleaned.Load(), x.restarts, len(x.courses.at))
	}
	for _, one := range x.courses.all {
		if len(one.values) != len(x.courses.at) {
			t.Errorf("%s: %d samples of %d", one.name, len(one.values), len(x.courses.at))
		}
	}
	if *soakFor < soakJudges {
		t.Logf("not judged: that takes %s", soakJudges)
		return
	}
	for _, grown := range x.courses.grown() {
		t.Errorf("grows: %s", grown)
	}
}
