package redisgate

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/domain"
	"seckill/infra/redisconn"
)

// clients are the pools of connections of a gate.
type clients struct {
	sale, rest, blocking redis.UniversalClient
	cluster              *redis.ClusterClient // rest on a cluster, else nil
}

// blockingConns bounds the connections of reads that wait.
const blockingConns = 4

func connect(url string, opt Options) (clients, error) {
	address, err := redisconn.Parse(url)
	if err != nil {
		return clients{}, fmt.Errorf("the Redis URL %w", err)
	}
	// Nothing is sent again down there: this package must remember which attempts were sent.
	rest := redisconn.Tuning{Dial: time.Second, Read: opt.ReadTimeout, Write: opt.WriteTimeout, Pool: opt.ReadTimeout, Conns: opt.PoolSize}
	sale, blocking := rest, rest
	sale.Read, sale.Write, sale.Pool = opt.SaleTimeout, min(opt.SaleTimeout, opt.WriteTimeout), opt.SaleTimeout
	blocking.Conns = blockingConns
	c := clients{sale: address.Open(sale), rest: address.Open(rest), blocking: address.Open(blocking)}
	c.cluster, _ = c.rest.(*redis.ClusterClient)
	return c, nil
}

// node is a server that holds lanes, and one of them.
type node struct {
	client redis.UniversalClient
	lane   int
}

// nodes gives the servers that lanes live on: one, or those masters of a cluster that
// hold any.
func (g *Gate) nodes(ctx context.Context) ([]node, error) {
	if g.cluster == nil {
		return []node{{client: g.client}}, nil
	}
	var all []node
	seen := map[string]bool{}
	for lane := range domain.Lanes {
		c, err := g.cluster.MasterForKey(ctx, g.keys.lane(lane))
		if err != nil {
			return nil, fmt.Errorf("ask the gate's Redis cluster which of its servers holds lane %d: %w", lane, err)
		}
		if addr := c.Options().Addr; !seen[addr] {
			seen[addr] = true
			all = append(all, node{client: c, lane: lane})
		}
	}
	return all, nil
}

// Server names the server that a lane lives on as this process knows it: "" where there
// is but one, or none is known.
func (g *Gate) Server(lane int) string {
	if g.cluster == nil {
		return ""
	}
	c, err := g.cluster.MasterForKey(g.base, g.keys.lane(lane))
	if err != nil {
		return ""
	}
	return c.Options().Addr
}
