package chaos

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"seckill/infra/cli/e2e"
)

// check runs the standing checks; what they find are findings.
func (s *site) check(l *load, accepted map[string]string) {
	w := &witness{TB: s.t}
	defer func() {
		if stopped := recover(); stopped != nil && stopped != any(w) {
			panic(stopped)
		}
		s.findings = append(s.findings, w.said...)
	}()
	node := s.rig.Node(w, e2e.NodeOptions{APIOnly: true})
	defer node.Stop()
	var sales []string
	for _, sale := range l.sales {
		sales = append(sales, sale.id)
	}
	e2e.StandingChecksOf(w, node, sales, accepted)
}

// witness is a test that keeps what it would have failed with.
type witness struct {
	testing.TB

	mu   sync.Mutex // the parts of a node speak from goroutines of their own
	said []string
}

// Errorf keeps a finding.
func (w *witness) Errorf(format string, args ...any) { w.keep(fmt.Sprintf(format, args...)) }

// Error keeps a finding.
func (w *witness) Error(args ...any) { w.keep(fmt.Sprint(args...)) }

func (w *witness) keep(finding string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.said = append(w.said, finding)
}

// Fatalf keeps a finding and ends the checks.
func (w *witness) Fatalf(format string, args ...any) {
	w.Errorf(format, args...)
	panic(w)
}

// Fatal keeps a finding and ends the checks.
func (w *witness) Fatal(args ...any) {
	w.Error(args...)
	panic(w)
}

const selectOrders = `select order_id, buyer_id, status, reason, units from order_view where sale_id = $1`

// account compares what buyers were told with the orders that there are: each order of a
// sale is known to somebody, what was acknowledged is there and, where somebody saw that it
// was accepted, not rejected, nobody has two, and of a scarce sale all units are sold and
// none is sold twice.
func (s *site) account(l *load, accepted map[string]string, r *result) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	there, seen := map[string]bool{}, map[string]bool{}
	for _, t := range l.answers() {
		seen[t.order] = seen[t.order] || t.seen
	}
	for _, sale := range l.sales {
		rows, err := s.rig.Pool.Query(ctx, selectOrders, sale.id)
		if err != nil {
			s.found("look at the orders: %v", err)
			return
		}
		live, units := map[string]int{}, 0
		for rows.Next() {
			var order, buyer, status, reason string
			var n int
			if err := rows.Scan(&order, &buyer, &status, &reason, &n); err != nil {
				s.found("look at the orders: %v", err)
			}
			there[order] = true
			_, known := accepted[order]
			if status != "rejected" {
				live[buyer]++
				units += n
				if !known {
					s.found("order %s of %s is %s, and nobody was told of it", order, buyer, status)
				}
			} else if known {
				r.refuse(sale.strategy + " " + reason)
				if seen[order] {
					s.found("order %s of %s was seen to be accepted, and is rejected: %s", order, buyer, reason)
				}
			}
		}
		if err := rows.Err(); err != nil {
			s.found("look at the orders: %v", err)
		}
		for buyer, n := range live {
			if n > 1 {
				s.found("%s has %d orders of the sale by %s", buyer, n, sale.strategy)
			}
		}
		if units > sale.stock || sale.scarce() && units != sale.stock {
			s.found("%d units of the sale by %s are sold, there are %d", units, sale.strategy, sale.stock)
		}
	}
	for order, buyer := range accepted {
		if !there[order] {
			if r.Lost++; r.Lost == 1 {
				s.found("order %s of %s was acknowledged and is nowhere", order, buyer)
			}
		}
	}
}
