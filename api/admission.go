package api

import (
	"context"
	"net/http"
	"time"

	"seckill/domain"
)

// Admission bounds how many purchases are worked on at once.
type Admission interface {
	// Ready tells whether a purchase that came now would be let in; nothing is taken.
	Ready(sale string) bool
	// Enter lets a purchase in, perhaps after a short wait. Who was let in must
	// Leave.
	Enter(ctx context.Context, sale string) bool
	Leave()
}

// allIn is used where nothing bounds.
type allIn struct{}

func (allIn) Ready(string) bool                  { return true }
func (allIn) Enter(context.Context, string) bool { return true }
func (allIn) Leave()                             {}

// room refuses a purchase for which there is no room, before its body is read.
func (s *Server) room(sale string) error {
	if !s.Admission.Ready(sale) {
		return refuse(domain.CodeBusy)
	}
	return nil
}

// enter takes the place of a purchase whose body is here, and starts its deadline.
// A body on a slow line holds no place. The caller must end it where there is no
// error.
func (s *Server) enter(ctx context.Context, admission Admission, sale string) (*placeTaken, error) {
	p := &placeTaken{admission: admission}
	p.budget.begin(ctx, s.opts.PurchaseBudget)
	if !admission.Enter(&p.budget, sale) {
		p.budget.end()
		return nil, refuse(domain.CodeBusy)
	}
	return p, nil
}

// placeTaken is the place of one purchase. One goroutine uses it.
type placeTaken struct {
	admission Admission
	budget    budgeted
	left      bool
}

// leave gives the place back, once, while the deadline goes on: who only waits to be
// recorded keeps nobody from the gate.
func (p *placeTaken) leave() {
	if !p.left {
		p.left = true
		p.admission.Leave()
	}
}

// end gives the place back, if that is not done, and ends the deadline.
func (p *placeTaken) end() {
	p.leave()
	p.budget.end()
}

// bounded gives a context that ends after a budget; 0: none.
func bounded(ctx context.Context, budget time.Duration) (context.Context, context.CancelFunc) {
	if budget == 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, budget)
}

// readBudget is the budget of a typed route: what a buyer reads has one, a long
// poll waits as long as it was asked to, and what changes something goes on until
// its outcome is known.
func (s *Server) readBudget(r *route) time.Duration {
	if r.Method != http.MethodGet || r.access == admin || r.Path == pathOrder {
		return 0
	}
	return s.opts.ReadBudget
}
