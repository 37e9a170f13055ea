package redisgate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/domain"
	"seckill/infra/redisconn"
)

// server is a Redis, or a cluster, and the pools of connections to it.
type server struct {
	address redisconn.Address
	// sale serves what buyers ask: nothing else waits for its connections, and it
	// waits for nothing else.
	sale redis.UniversalClient
	rest redis.UniversalClient
	// blocking serves reads that wait, so that they take no connection from
	// purchases.
	blocking redis.UniversalClient
	cluster  *redis.ClusterClient // rest on a cluster, else nil
}

// blockingConns bounds the connections of reads that wait.
const blockingConns = 4

func newServer(url string, opt Options) (server, error) {
	address, err := redisconn.Parse(url)
	if err != nil {
		return server{}, fmt.Errorf("the Redis URL %w", err)
	}
	// Nothing is sent again down there: this package must remember which attempts were sent.
	rest := redisconn.Tuning{Dial: time.Second, Read: opt.ReadTimeout, Write: opt.WriteTimeout, Pool: opt.ReadTimeout, Conns: opt.PoolSize}
	sale, blocking := rest, rest
	sale.Read, sale.Write, sale.Pool = opt.SaleTimeout, min(opt.SaleTimeout, opt.WriteTimeout), opt.SaleTimeout
	blocking.Conns = blockingConns
	s := server{address: address, sale: address.Open(sale), rest: address.Open(rest), blocking: address.Open(blocking)}
	s.cluster, _ = s.rest.(*redis.ClusterClient)
	return s, nil
}

// connect makes the servers; nothing is sent yet.
func (g *Gate) connect(url string) error {
	all := append([]LaneRange{{To: domain.Lanes - 1, URL: url}}, g.opt.Elsewhere...)
	for i, r := range all {
		s, err := newServer(r.URL, g.opt)
		if err != nil {
			return errors.Join(err, g.disconnect())
		}
		g.servers = append(g.servers, s)
		for lane := r.From; lane <= r.To; lane++ {
			g.home[lane] = i
		}
	}
	return nil
}

func (g *Gate) disconnect() error {
	var errs []error
	for _, s := range g.servers {
		errs = append(errs, s.sale.Close(), s.rest.Close(), s.blocking.Close())
	}
	return errors.Join(errs...)
}

// at gives where a lane lives.
func (g *Gate) at(lane int) *server { return &g.servers[g.home[lane]] }

func addStats(sum, s *redis.PoolStats) {
	sum.Hits += s.Hits
	sum.Misses += s.Misses
	sum.Timeouts += s.Timeouts
	sum.WaitCount += s.WaitCount
	sum.WaitDurationNs += s.WaitDurationNs
	sum.TotalConns += s.TotalConns
	sum.IdleConns += s.IdleConns
	sum.StaleConns += s.StaleConns
}

// UnfitError says which Redis cannot hold lanes of a gate.
type UnfitError struct {
	// Where names it, without its password.
	Where string
	Err   error
}

// Error is that of the cause: where it happened is for who explains it.
func (e *UnfitError) Error() string { return e.Err.Error() }

// Unwrap gives the cause.
func (e *UnfitError) Unwrap() error { return e.Err }

// node is one process that holds lanes, and one of them.
type node struct {
	client redis.UniversalClient
	lane   int
	where  string
}

// nodes gives the processes that lanes live on: one for a server, of a cluster those
// masters that hold any.
func (g *Gate) nodes(ctx context.Context) ([]node, error) {
	var all []node
	seen := map[string]bool{}
	for lane := range domain.Lanes {
		s := g.at(lane)
		n := node{client: s.rest, lane: lane, where: s.address.String()}
		name := fmt.Sprint(g.home[lane])
		if s.cluster != nil {
			c, err := s.cluster.MasterForKey(ctx, g.keys.lane(lane))
			if err != nil {
				return nil, &UnfitError{n.where, fmt.Errorf("ask the gate's Redis cluster which of its servers holds lane %d: %w", lane, err)}
			}
			n.client = c
			name += " " + c.Options().Addr
		}
		if !seen[name] {
			seen[name] = true
			all = append(all, n)
		}
	}
	return all, nil
}

// Server names the process that a lane lives on, as this one knows it: "" where there is
// but one, or none is known.
func (g *Gate) Server(lane int) string {
	s := g.at(lane)
	if s.cluster == nil && len(g.servers) == 1 {
		return ""
	}
	if s.cluster == nil {
		return s.address.String()
	}
	c, err := s.cluster.MasterForKey(g.base, g.keys.lane(lane))
	if err != nil {
		return ""
	}
	return c.Options().Addr
}
