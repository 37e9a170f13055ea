package redisconn

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Tuning is what users of Redis choose. Times are required.
type Tuning struct {
	Dial, Read, Write, Pool time.Duration
	// Conns bounds the connections, on a cluster to each of its servers.
	Conns int
	// Again is how often a command that may have been carried out is sent again: 0
	// unless a second time does no harm.
	Again int
}

// lookEvery is how old what a client knows of a cluster gets without a fault.
const lookEvery = 5 * time.Second

// Open makes a client; nothing is sent yet. The caller closes it.
func (a Address) Open(t Tuning) redis.UniversalClient {
	retries := t.Again
	if retries == 0 {
		retries = -1
	}
	switch {
	case a.one != nil:
		o := *a.one
		o.MaxRetries, o.DialerRetries = retries, 1
		o.DialTimeout, o.ReadTimeout, o.WriteTimeout, o.PoolTimeout, o.PoolSize = t.Dial, t.Read, t.Write, t.Pool, t.Conns
		o.ContextTimeoutEnabled, o.DisableIdentity, o.Protocol = true, true, 2
		o.MaintNotificationsConfig = quiet()
		return redis.NewClient(&o)
	case a.master != "":
		return a.openMaster(t, retries)
	}
	c := redis.NewClusterClient(&redis.ClusterOptions{
		Addrs: a.hosts, Username: a.user, Password: a.password, TLSConfig: a.tlsConfig(),
		MaxRedirects: retries, MaxRetries: -1, DialerRetries: 1, ClusterStateReloadInterval: lookEvery, DisableRoutingPolicies: true,
		DialTimeout: t.Dial, ReadTimeout: t.Read, WriteTimeout: t.Write, PoolTimeout: t.Pool, PoolSize: t.Conns,
		ContextTimeoutEnabled: true, DisableIdentity: true, Protocol: 2, MaintNotificationsConfig: quiet(),
	})
	c.AddHook(lookAgain{c})
	return c
}

func (a Address) openMaster(t Tuning, retries int) *redis.Client {
	c := redis.NewFailoverClient(&redis.FailoverOptions{
		MasterName: a.master, SentinelAddrs: a.hosts, SentinelUsername: a.sentinelUser, SentinelPassword: a.sentinelPassword,
		Username: a.user, Password: a.password, DB: a.db, TLSConfig: a.tlsConfig(), MaxRetries: retries, DialerRetries: 1,
		DialTimeout: t.Dial, ReadTimeout: t.Read, WriteTimeout: t.Write, PoolTimeout: t.Pool, PoolSize: t.Conns,
		ContextTimeoutEnabled: true, DisableIdentity: true, Protocol: 2,
	})
	c.AddHook(dialFaults{})
	return c
}

func quiet() *maintnotifications.Config {
	return &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
}

// tlsConfig names no server: each is verified by the name it is dialled by.
func (a Address) tlsConfig() *tls.Config {
	if !a.tls {
		return nil
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: a.unchecked}
}

// lookAgain makes a client of a cluster look where the masters are, soon, when a
// command met a fault that a move or a failover explains: by itself it does so on MOVED
// and ASK alone, and goes on asking a dead master.
type lookAgain struct{ c *redis.ClusterClient }

func (lookAgain) DialHook(next redis.DialHook) redis.DialHook { return next }

func (l lookAgain) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		l.heard(ctx, err)
		return err
	}
}

func (l lookAgain) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := next(ctx, cmds)
		l.heard(ctx, err)
		for _, cmd := range cmds {
			if cmd.Err() != nil && cmd.Err() != err {
				l.heard(ctx, cmd.Err())
			}
		}
		return err
	}
}

func (l lookAgain) heard(ctx context.Context, err error) { LookAgain(ctx, l.c, err) }

// LookAgain tells a client of the error of a command that went past it, straight to one
// of its servers.
func LookAgain(ctx context.Context, client redis.UniversalClient, err error) {
	if c, ok := client.(*redis.ClusterClient); ok && explained(err) {
		c.ReloadState(ctx)
	}
}

// explained tells whether another master may be the cause of an error.
func explained(err error) bool {
	var reply redis.Error
	switch {
	case err == nil, errors.Is(err, context.Canceled), errors.Is(err, redis.ErrPoolTimeout):
		return false
	case errors.As(err, &reply):
		word, _, _ := strings.Cut(reply.Error(), " ")
		switch word {
		case "MOVED", "ASK", "READONLY", "CLUSTERDOWN", "MASTERDOWN", "LOADING":
			return true
		}
		return false
	}
	return true
}

// dialFaults says of a master that cannot be reached, or that no sentinel names, that
// it was not dialled.
type dialFaults struct{}

func (dialFaults) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := next(ctx, network, addr)
		var op *net.OpError
		if err != nil && (!errors.As(err, &op) || op.Op != "dial") {
			err = &net.OpError{Op: "dial", Net: network, Err: err}
		}
		return conn, err
	}
}

func (dialFaults) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

func (dialFaults) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}
