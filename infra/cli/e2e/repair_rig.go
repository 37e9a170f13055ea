package e2e

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"seckill/commands"
	"seckill/domain"
	"seckill/infra/cli"
	"seckill/projections"
)

func (n *Node) newRepairer(pool *pgxpool.Pool, r *Rig, source projections.Source) *commands.Repairer {
	locks := cli.Locks{Pool: pool, Namespace: r.Namespace}
	read := cli.ReadRepairs{DB: pool, Source: source, Locks: locks}
	return &commands.Repairer{
		Reconciler: n.Reconciler, Keeper: n.Keeper, Follow: n.Follower, Journal: n.Gate, Locks: locks,
		Rebuild: read.Rebuild, Retry: read.Retry,
		Expire: func(ctx context.Context, order string) error {
			return n.Orders.Expire(ctx, order, commands.Actor{By: "repair"})
		},
		Resume: n.Operator.Resume,
	}
}

// BuyByTicket asks for one unit of the test item with an idempotency key and a ticket.
func (n *Node) BuyByTicket(sale, buyer string) (commands.PurchaseResult, error) {
	ticket, err := domain.NewTicket(n.Env.Keys, sale, buyer, time.Now().Add(time.Hour))
	if err != nil {
		return commands.PurchaseResult{}, err
	}
	lines := []domain.Line{{SKU: "item", Quantity: 1}}
	return n.Purchaser.Purchase(context.Background(), commands.PurchaseRequest{
		Buyer: buyer, Sale: sale, Lines: lines, IdempotencyKey: "key-" + buyer, Route: "purchase", BodyHash: bodyOf(lines), TraceID: "trace-" + buyer, Ticket: ticket,
	})
}
