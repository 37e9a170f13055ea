package redisgate

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/infra/redisconn"
)

// errBlind refuses a server whose restarts nobody would notice.
var errBlind = errors.New("this Redis does not let the gate read INFO, so nobody would notice that it was restarted " +
	"and forgot purchases: allow the command INFO to the gate's user")

// ErrSentinel is that of an address where a sentinel answers, which holds no keys.
var ErrSentinel = errors.New("this is a sentinel and no server that holds keys: name the master that it watches")

// Check runs a real script with a write and looks at the server's settings, on a
// cluster at every master that holds a lane. It fails, with a sentence for an operator,
// when a server cannot be reached, refuses writes, is too old, may evict keys, or hides
// from scripts which process it is.
func (g *Gate) Check(ctx context.Context) error {
	nodes, err := g.nodes(ctx)
	if err != nil {
		return err
	}
	for _, n := range nodes {
		if err := g.checkNode(ctx, n); err != nil {
			return &UnfitError{n.where, err}
		}
	}
	return nil
}

// openPatience is how long a server that says nothing is asked again before a process
// gives up its start: one may have just begun itself, or share a busy machine.
const openPatience = 5 * time.Second

// checkFirst is Check that asks a silent server again.
func (g *Gate) checkFirst(ctx context.Context) error {
	for until := time.Now().Add(openPatience); ; {
		err := g.Check(ctx)
		if err == nil || !silent(err) || ctx.Err() != nil || !time.Now().Before(until) {
			return err
		}
	}
}

// silent tells whether err is of a server that did not answer in time, and said nothing
// against us.
func silent(err error) bool {
	var slow net.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &slow) && slow.Timeout()
}

func (g *Gate) checkNode(ctx context.Context, n node) error {
	if g.opt.ProcessToken == "" {
		version, err := checkServer(ctx, n.client)
		if err != nil {
			return err
		}
		g.waitAOF.Store(atLeast(version, 7, 2))
	}
	named, err := g.runFlag(ctx, call{
		script: g.scripts.check, batch: 1, keys: []string{g.keys.check(n.lane)}, args: []any{g.opt.ProcessToken},
	})
	if err != nil {
		return fmt.Errorf("check the gate's Redis: %w", err)
	}
	if !named {
		return errBlind
	}
	return nil
}

// checkServer gives the server's version.
func checkServer(ctx context.Context, c redis.UniversalClient) (version string, err error) {
	server, err := info(ctx, c, "server")
	if err != nil {
		return "", err
	}
	if server["redis_mode"] == "sentinel" {
		return "", ErrSentinel
	}
	version = server["redis_version"]
	if !atLeast(server["redis_version"], 6, 2) {
		return "", fmt.Errorf("this Redis has version %q: the gate needs 6.2 or later", version)
	}
	memory, err := info(ctx, c, "memory")
	if err != nil {
		return "", err
	}
	if policy := memory["maxmemory_policy"]; policy != "noeviction" {
		return "", fmt.Errorf("this Redis has maxmemory-policy %q and may throw stock and orders away: set maxmemory-policy noeviction", policy)
	}
	return version, nil
}

func info(ctx context.Context, c redis.UniversalClient, section string) (map[string]string, error) {
	fields, err := redisconn.Info(ctx, c, section)
	if err != nil && strings.HasPrefix(err.Error(), "NOPERM") {
		return nil, errBlind
	}
	if err != nil {
		return nil, fmt.Errorf("ask the gate's Redis for INFO %s: %w", section, err)
	}
	return fields, nil
}

func atLeast(version string, major, minor int) bool {
	parts := strings.SplitN(version, ".", 3)
	if len(parts) < 2 {
		return false
	}
	a, err1 := strconv.Atoi(parts[0])
	b, err2 := strconv.Atoi(parts[1])
	return err1 == nil && err2 == nil && (a > major || (a == major && b >= minor))
}
