package e2e

import (
	"flag"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"seckill/domain"
	"seckill/infra/load"
	"seckill/infra/testenv"
)

var (
	strategyBuyers = flag.Int("strategies.buyers", 1500, "buyers of the burst, each of whom gets a unit, and of the crowd that comes after them")
	strategyRate   = flag.Int("strategies.rate", 50, "buyers a second of the calm that answers' times are measured in")
	strategyFor    = flag.Duration("strategies.for", 2*time.Second, "how long the calm is")
	strategyRounds = flag.Int("strategies.rounds", 1, "how often each strategy is driven, in turns")
)

// strategySide is what the rounds of a strategy have shown.
type strategySide struct {
	accepted, refused, placed []float64 // a second
	p50, p99                  []float64 // ms of an accepted purchase in the calm
	answers                   map[string]int
}

// BenchmarkStrategies drives every strategy that the server serves with the same load over
// HTTP, in turns on one installation: a burst of buyers of whom each gets a unit, the
// crowd that finds nothing left, and a calm in which times are measured. It prints the
// table of docs/strategies.md.
func BenchmarkStrategies(b *testing.B) {
	r := NewRig(b)
	child := ServeRig(b, r, "SECKILL_LIMIT_PURCHASES=0", "SECKILL_LIMIT_POLLS=0", "SECKILL_ADMISSION_QUEUE=100000")
	s := &strategies{b: b, rig: r, child: child, client: NewClient(child.URL), sides: map[domain.Strategy]*strategySide{}}
	names := []domain.Strategy{domain.StrategyPostgres, domain.StrategyRedisSync, domain.StrategyRedisAsync}
	for range b.N {
		for range *strategyRounds {
			for _, name := range names {
				s.round(name)
			}
		}
	}
	b.Logf("| strategy | accepted a second | until all are placed, a second | sold out, a second | answer to an accepted purchase at %d/s: p50 · p99 | answers |", *strategyRate)
	for _, name := range names {
		side := s.sides[name]
		if side == nil {
			b.Logf("| `%s` | not served by this version | | | | |", name)
			continue
		}
		b.Logf("| `%s` | %.0f | %.0f | %.0f | %.1f ms · %.1f ms | %s |", name, median(side.accepted), median(side.placed), median(side.refused), median(side.p50), median(side.p99), counted(side.answers))
		b.ReportMetric(median(side.accepted), "accepted/s-"+string(name))
	}
}

func counted(answers map[string]int) string {
	var parts []string
	for _, what := range slices.Sorted(maps.Keys(answers)) {
		parts = append(parts, fmt.Sprintf("%d × %s", answers[what], what))
	}
	return strings.Join(parts, ", ")
}

// strategies is a served installation and what it showed.
type strategies struct {
	b      *testing.B
	rig    *Rig
	child  *Child
	client *Client
	sides  map[domain.Strategy]*strategySide
	made   int
}

// round drives one strategy once; one that the server refuses is left out.
func (s *strategies) round(name domain.Strategy) {
	n := *strategyBuyers
	sale, served := s.sale(name, n)
	if !served {
		return
	}
	side := s.sides[name]
	if side == nil {
		side = &strategySide{answers: map[string]int{}}
		s.sides[name] = side
	}
	began := time.Now()
	seen := s.send(sale, s.buyers(n), make([]time.Duration, n))
	side.accepted = append(side.accepted, float64(seen.OK)/time.Since(began).Seconds())
	for outcome, count := range seen.Outcomes {
		side.answers[outcome] += count
	}
	if seen.OK != n {
		s.b.Fatalf("%s: %d of %d bought: %v", name, seen.OK, n, seen.Outcomes)
	}
	s.awaitPlaced(sale, n)
	side.placed = append(side.placed, float64(n)/time.Since(began).Seconds())

	began = time.Now()
	seen = s.send(sale, s.buyers(n), make([]time.Duration, n))
	if seen.Outcomes["sold_out"] != n {
		s.b.Fatalf("%s: %d of %d were told that nothing is left: %v", name, seen.Outcomes["sold_out"], n, seen.Outcomes)
	}
	side.refused = append(side.refused, float64(n)/time.Since(began).Seconds())
	s.calm(side, name)
}

// calm measures the times of answers at a rate that nobody has to wait for.
func (s *strategies) calm(side *strategySide, name domain.Strategy) {
	n := max(20, int(strategyFor.Seconds()*float64(*strategyRate)))
	sale, _ := s.sale(name, n)
	arrivals := make([]time.Duration, n)
	for i := range arrivals {
		arrivals[i] = time.Duration(i) * time.Second / time.Duration(*strategyRate)
	}
	seen := s.send(sale, s.buyers(n), arrivals)
	var took []time.Duration
	for _, sight := range seen.Sights {
		took = append(took, sight.Latency)
	}
	slices.Sort(took)
	side.p50, side.p99 = append(side.p50, ms(took[n/2])), append(side.p99, ms(took[n*99/100]))
}

// sale makes a sale of a strategy and waits until it sells.
func (s *strategies) sale(name domain.Strategy, stock int) (id string, served bool) {
	body := saleBody(stock + 1)
	body["strategy"] = string(name)
	made, err := s.client.Call(http.MethodPost, "/api/v1/admin/sales", "operator", "admin", body)
	switch {
	case err != nil:
		s.b.Fatal(err)
	case made.Status == http.StatusUnprocessableEntity:
		return "", false
	case made.Status != http.StatusCreated:
		s.b.Fatalf("create a sale of strategy %s: %d %s", name, made.Status, made.Raw)
	}
	id = made.Text("id")
	testenv.Eventually(s.b, time.Minute, func() error { // and takes the one unit that is over
		a, err := s.client.Buy(id, "the-first", "k")
		if err == nil && a.Status/100 != 2 {
			err = errStatus(a)
		}
		return err
	})
	return id, true
}

// buyers gives tokens of buyers who never came before.
func (s *strategies) buyers(n int) []string {
	tokens := make([]string, n)
	for i := range tokens {
		s.made++
		tokens[i] = signed(s.b, fmt.Sprintf("buyer-%d", s.made))
	}
	return tokens
}

// send lets buyers come; who is told to try again does so.
func (s *strategies) send(sale string, tokens []string, arrivals []time.Duration) *load.Measurement {
	s.b.Helper()
	m := &mix{}
	run, err := load.Start(s.b.Context(), load.Attack{
		Addr: strings.TrimPrefix(s.child.URL, "http://"), Arrivals: arrivals, Conns: 128, Timeout: 30 * time.Second,
		Build: func(dst []byte, i int) []byte { return m.request(dst, sale, tokens[i]) },
		Judge: func(_ int, a load.Answer) load.Next {
			switch {
			case a.Err != nil:
				return load.Next{Outcome: a.Err.Error(), Failed: true}
			case a.Status == http.StatusServiceUnavailable, a.Status == http.StatusTooManyRequests:
				return load.Next{Again: 50 * time.Millisecond}
			case a.Status/100 == 2:
				return load.Next{Outcome: fmt.Sprint(a.Status), OK: true}
			case a.Status == http.StatusConflict:
				return load.Next{Outcome: "sold_out"}
			}
			return load.Next{Outcome: fmt.Sprintf("%d %.200s", a.Status, a.Body), Failed: true}
		},
	}, time.Now())
	if err != nil {
		s.b.Fatal(err)
	}
	return run.Wait()
}

// awaitPlaced waits until the log has every order of a sale.
func (s *strategies) awaitPlaced(sale string, orders int) {
	s.b.Helper()
	testenv.Eventually(s.b, 2*time.Minute, func() error {
		var placed int
		err := s.rig.Pool.QueryRow(s.b.Context(), "select count(*) from claims where sale_id = $1", sale).Scan(&placed)
		if err == nil && placed < orders+1 {
			err = fmt.Errorf("%d of %d orders are in the log", placed, orders+1)
		}
		return err
	})
}
