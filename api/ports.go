package api

import (
	"context"
	"time"

	"seckill/commands"
	"seckill/domain"
)

// Purchaser buys. Refusals are outcomes; errors a person may see are
// *domain.Problem.
type Purchaser interface {
	Purchase(ctx context.Context, req commands.PurchaseRequest) (commands.PurchaseResult, error)
}

// Finder finds the orders of a buyer.
type Finder interface {
	Find(ctx context.Context, buyer, id string) (commands.OrderAnswer, error)
	Wait(ctx context.Context, buyer, id string, after int64, wait time.Duration) (commands.OrderAnswer, error)
	List(ctx context.Context, sale, buyer string, limit int, cursor string) (commands.OrderPage, error)
}

// Orders changes what becomes of orders after they were won, and looks them up
// for operators.
type Orders interface {
	Look(ctx context.Context, order string) (commands.OrderAnswer, error)
	Cancel(ctx context.Context, buyer, order, trace string) (commands.OrderAnswer, error)
	CancelFor(ctx context.Context, order string, c domain.Cancellation, actor commands.Actor) (commands.OrderAnswer, error)
	Settle(ctx context.Context, p commands.Payment, actor commands.Actor) (commands.OrderAnswer, error)
}

// Providers knows the payment providers by name.
type Providers interface {
	Knows(provider string) bool
	// Verify gives nil if the provider signed body not long before or after now.
	Verify(provider, signature string, body []byte, now time.Time) error
	// Pages gives, by the provider's name, where an order can be paid.
	Pages(order string, amount domain.Money) map[string]string
}

// Shower shows sales as buyers see them.
type Shower interface {
	Show(ctx context.Context, id string) (commands.SaleAnswer, error)
	// Look is Show as the log has the sale now.
	Look(ctx context.Context, id string) (commands.SaleAnswer, error)
	List(ctx context.Context) ([]commands.SaleAnswer, error)
	// Units tells where the items of a sale stand, by SKU; what nobody could say is left
	// out.
	Units(ctx context.Context, sale domain.Sale) map[string]commands.ItemUnits
}

// Operator schedules and steers sales.
type Operator interface {
	Schedule(ctx context.Context, terms domain.SaleTerms, actor commands.Actor) (commands.FoldedSale, error)
	Pause(ctx context.Context, sale string, reason domain.PauseReason, actor commands.Actor) (commands.FoldedSale, error)
	Resume(ctx context.Context, sale string, reason domain.PauseReason, actor commands.Actor) (commands.FoldedSale, error)
	Close(ctx context.Context, sale string, actor commands.Actor) (commands.FoldedSale, error)
	Release(ctx context.Context, r commands.Release, actor commands.Actor) (commands.Released, error)
}

// Reviser changes what a sale says, and lets one open that waits for that.
type Reviser interface {
	Revise(ctx context.Context, r commands.Revision, actor commands.Actor) (commands.FoldedSale, error)
	Confirm(ctx context.Context, sale string, actor commands.Actor) (commands.FoldedSale, error)
}

// Preheats make the gate ready for a sale, and say whether it is.
type Preheats interface {
	Full(ctx context.Context, sale string, actor commands.Actor) (commands.PreheatReport, error)
	Verify(ctx context.Context, sale string) (commands.PreheatReport, error)
}

// Rehydrator builds the gate of a sale again from the log.
type Rehydrator interface {
	Rehydrate(ctx context.Context, sale string, tell func(commands.RehydrateProgress)) (commands.Rehydration, error)
}

// Metrics is told what was answered. Labels come from PurchaseOutcomes and
// Routes. Both methods are called on the hot path and must not block.
type Metrics interface {
	// Purchase: how one purchase ended, and how long the answer took.
	Purchase(outcome string, took time.Duration)
	// Request: one answer of a route.
	Request(route string, status int, took time.Duration)
}

// noMetrics is used where nobody counts.
type noMetrics struct{}

func (noMetrics) Purchase(string, time.Duration)     {}
func (noMetrics) Request(string, int, time.Duration) {}

// Check is one thing that must hold before this node takes requests.
type Check struct {
	Name string
	// Ready gives nil when it holds. It is given two seconds.
	Ready func(ctx context.Context) error
}
