package cli

import (
	"context"
	"fmt"
	"net"
	"slices"
	"time"

	"seckill/api"
	"seckill/domain"
	"seckill/infra/lifecycle"
)

type demoCmd struct {
	Stock    *int64 `placeholder:"N" help:"Units there are. Default: 10,000, on an imitated Redis 1,000."`
	Buyers   *int   `placeholder:"N" help:"Distinct buyers. Default: 50,000, on an imitated Redis 5,000."`
	Strategy string `default:"redis-async" complete:"postgres,redis-sync,redis-async" placeholder:"NAME" help:"Strategy of the sale. Default: ${default}."`
	Buckets  int    `default:"1" placeholder:"N" help:"Parts of the stock, each in a lane of its own (docs/buckets.md). Default: ${default}."`
	Exit     bool   `help:"Stop when the result is printed."`
	JSON     bool   `name:"json" help:"Print the result as JSON."`
}

// Sizes of a demo that nobody chose, and the bounds of one that somebody did.
const (
	demoStock, demoBuyers   = 10_000, 50_000
	smallStock, smallBuyers = 1_000, 5_000
	maxDemoBuyers           = 2_000_000
)

// opensIn is how long before its opening the sale is scheduled: time enough for
// the gate to be made ready, and for the crowd to stand at the door.
const opensIn = 700 * time.Millisecond

func (d *demoCmd) check() error {
	switch {
	case !slices.Contains([]domain.Strategy{domain.StrategyPostgres, domain.StrategyRedisSync, domain.StrategyRedisAsync}, domain.Strategy(d.Strategy)):
		return usage("there is no strategy %q: want postgres, redis-sync or redis-async", d.Strategy)
	case d.Buckets < 1 || d.Buckets > domain.MaxBuckets:
		return usage("--buckets must be 1 to %d", domain.MaxBuckets)
	case d.Buckets > 1 && domain.Strategy(d.Strategy) == domain.StrategyPostgres:
		return usage("--buckets must be 1 with the strategy postgres, which has no gate to spread")
	case d.Stock != nil && (*d.Stock < 1 || *d.Stock > domain.MaxQuantity):
		return usage("--stock must be 1 to %d", domain.MaxQuantity)
	case d.Buyers != nil && (*d.Buyers < 1 || *d.Buyers > maxDemoBuyers):
		return usage("--buyers must be 1 to %d", maxDemoBuyers)
	}
	return nil
}

// Run plays a whole sale. When it does not exit it stays up until a signal.
func (d *demoCmd) Run(c console) error {
	if err := d.check(); err != nil {
		return err
	}
	ctx, done := c.stoppable()
	defer done()
	ctx, end := context.WithCancel(ctx)
	defer end()
	began := time.Now()
	counter, settings, err := c.counter(ctx)
	if err != nil {
		return err
	}
	defer counter.Close()
	c.settings = settings
	c.settings.AdminAddr = "" // a demo has one address
	return c.serve(ctx, warnings(c), allRoles(), func(a *app, f front) lifecycle.Entry {
		d.size(c, a)
		s := &stage{demo: d, console: c, app: a, address: f.operators(), links: f.links, counter: counter, began: began}
		return lifecycle.Entry{Name: "demo", Part: lifecycle.NewLoop(func(ctx context.Context) error {
			err := s.play(ctx)
			if err == nil && !d.Exit {
				<-ctx.Done() // orders can be paid until then
			}
			if s.till != nil {
				s.till.close()
			}
			end()
			return err
		})}
	})
}

// size chooses what was left open. An imitated Redis is for a first look only.
func (d *demoCmd) size(c console, a *app) {
	stock, buyers := int64(demoStock), demoBuyers
	if a.stores.miniredis {
		stock, buyers = smallStock, smallBuyers
		if d.Stock == nil && d.Buyers == nil {
			c.say("The demo is a tenth of its size, for the imitated Redis; --stock and --buyers choose another.")
		}
	}
	if d.Stock == nil {
		d.Stock = &stock
	}
	if d.Buyers == nil {
		d.Buyers = &buyers
	}
}

// dialable gives an address on this machine for one that is listened on.
func dialable(address string) string {
	host, port, err := net.SplitHostPort(address)
	if ip := net.ParseIP(host); err == nil && ip != nil && ip.IsUnspecified() {
		return net.JoinHostPort("127.0.0.1", port)
	}
	return address
}

// stage is a demo under way.
type stage struct {
	demo    *demoCmd
	console console
	app     *app
	address string
	links   *api.Links
	counter net.Listener // where orders are paid
	began   time.Time

	till   *till
	secret []byte
	sale   string
	opens  time.Time
}

// play schedules the sale, sends the crowd, waits until all is recorded and
// projected, and tells how it went.
func (s *stage) play(ctx context.Context) error {
	var err error
	if s.secret, err = signingSecret(s.console.settings); err != nil {
		return err
	}
	tokens, err := s.signTokens(ctx)
	if err != nil {
		return err
	}
	if err := s.schedule(ctx); err != nil {
		return err
	}
	s.console.say("Sale %s opens at %s: %s buyers for %s units, over http://%s.",
		s.sale, s.opens.Local().Format("15:04:05.000"), grouped(int64(*s.demo.Buyers)), grouped(*s.demo.Stock), s.address)
	crowd, err := s.send(ctx, tokens)
	if err != nil {
		return err
	}
	result, err := s.settle(ctx, crowd)
	if err != nil {
		return err
	}
	if err := s.openTill(); err != nil {
		return err
	}
	if err := s.liveOn(ctx, crowd, result); err != nil {
		return err
	}
	if err := s.tell(result); err != nil {
		return err
	}
	return s.goodbye(result)
}

// tell prints the result.
func (s *stage) tell(r *result) error {
	if s.demo.JSON {
		return s.console.json(r.outcome)
	}
	if err := s.console.print(r.table()); err != nil {
		return err
	}
	return s.console.print(r.lifeTable())
}

// goodbye says what is broken, or where to look now.
func (s *stage) goodbye(r *result) error {
	if broken := r.broken(); broken != "" {
		s.console.say("An invariant is broken: %s. The data is kept.", broken)
		return errFound
	}
	if s.demo.Exit {
		return nil
	}
	s.console.say("Still serving; stop with Ctrl-C. Have a look:")
	visitor, err := api.SignToken(s.secret, "visitor", "", "", time.Hour)
	if err != nil {
		return err
	}
	s.console.say("  http://%s%s is the console, signed in once, within %s", s.address, s.links.Path("demo-operator"), api.LinkFor)
	for _, path := range []string{"/s/" + s.sale + "#token=" + visitor, "/api/v1/sales/" + s.sale, "/readyz", "/metrics", "/openapi.yaml"} {
		s.console.say("  http://%s%s", s.address, path)
	}
	if r.life.open != "" {
		s.console.say("  http://%s/pay?order=%s&amount=%s&currency=%s pays one of the orders", s.counter.Addr(), r.life.open, demoPrice, demoCurrency)
	}
	s.console.say("  seckill reconcile --sale %s", s.sale)
	s.console.say("  seckill replay --sale %s", s.sale)
	return nil
}

// grouped writes a number with its thousands apart.
func grouped(n int64) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
