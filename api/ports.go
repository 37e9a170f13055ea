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
	// LookAhead may look whether a purchase is sold out while its body is on its way.
	LookAhead(ctx context.Context, req *commands.PurchaseRequest)
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
	List(ctx context.Context, q commands.SaleQuery) (commands.SaleList, error)
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

// Databases are the several that sales live on.
type Databases interface {
	// Operator schedules sales on the database of a name; ok is false where there is none.
	Operator(name string) (o Operator, ok bool)
	// Of names the database of a sale, "" where it is not known.
	Of(ctx context.Context, sale string) string
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

// Spans is told of purchases for a trace: of every one that was accepted, and of as many
// refused ones as are logged. It is on the hot path and must not block.
type Spans interface{ Purchase(PurchaseSpan) }

// PurchaseSpan is a purchase as it was asked for and answered; Order is "" where it was
// refused, and Parent is the traceparent that came with it, "" where none did.
type PurchaseSpan struct {
	Trace, Parent, Buyer, Sale, Order, Outcome string
	Start, End                                 time.Time
}

// Receipts signs what refusals of purchases were told by.
type Receipts interface {
	// Append appends the receipt of a refusal to dst, and fills in its time where that is
	// zero; ok is false where there can be none. It is on the hot path and must not block.
	Append(dst []byte, of *domain.Refusal) (text []byte, ok bool)
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
	// Database names the one of several that it is about; "" where it is about the node.
	Database string
	// Ready gives nil when it holds. It is given two seconds.
	Ready func(ctx context.Context) error
}
