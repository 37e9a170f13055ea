package e2e

import (
	"context"

	"github.com/jackc/pgx/v5/pgxpool"

	"seckill/commands"
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
