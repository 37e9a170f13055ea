package testenv

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// clusterMasters is how many masters a cluster of a test has, and slots how many slots
// they share.
const (
	clusterMasters = 3
	slots          = 16384
)

// ready bounds how long a cluster may take to become one, or to get over a death.
const ready = 60 * time.Second

// RedisCluster is a Redis Cluster of one test. A master that dies has its slots out of
// service, and no others, until a replica has taken its place.
type RedisCluster struct {
	// URL names all its servers.
	URL string
	// Servers are the masters as they were at the start, and then their replicas.
	Servers []*RedisServer

	t   testing.TB
	ids []string // of the servers
}

// PrivateRedisCluster starts three masters and replicas for each of them. It ends with
// the test, or with its process. config is lines of redis.conf of every server.
func PrivateRedisCluster(t testing.TB, replicas int, config ...string) *RedisCluster {
	t.Helper()
	c := &RedisCluster{t: t}
	var hosts []string
	for range clusterMasters * (1 + replicas) {
		s := PrivateRedis(t, RedisOptions{Config: append([]string{
			"cluster-enabled yes", "cluster-port " + strconv.Itoa(FreePort(t)), "cluster-node-timeout 2000",
			"cluster-require-full-coverage no", "cluster-replica-validity-factor 0", "repl-diskless-sync-delay 0",
		}, config...)})
		c.Servers = append(c.Servers, s)
		c.ids = append(c.ids, c.do(s, "CLUSTER", "MYID").(string))
		hosts = append(hosts, hostOf(s))
	}
	c.URL = "redis://" + strings.Join(hosts, ",")
	c.meet()
	for i, s := range c.Servers {
		if i < clusterMasters {
			c.do(s, "CLUSTER", "ADDSLOTSRANGE", i*slots/clusterMasters, (i+1)*slots/clusterMasters-1)
		} else {
			c.do(s, "CLUSTER", "REPLICATE", c.ids[i%clusterMasters])
		}
	}
	c.AwaitReady()
	return c
}

// AwaitReady waits until the cluster is whole.
func (c *RedisCluster) AwaitReady() {
	c.t.Helper()
	Eventually(c.t, ready, c.complete)
}

// meet makes every server know every other.
func (c *RedisCluster) meet() {
	c.t.Helper()
	for i, s := range c.Servers {
		c.do(s, "CLUSTER", "SET-CONFIG-EPOCH", i+1)
	}
	for _, s := range c.Servers[1:] {
		bus := c.do(s, "CONFIG", "GET", "cluster-port").([]any)[1]
		c.do(c.Servers[0], "CLUSTER", "MEET", "127.0.0.1", s.port, bus)
	}
	Eventually(c.t, ready, func() error {
		for _, s := range c.Servers {
			if err := wants(s, "CLUSTER INFO", "cluster_known_nodes:"+strconv.Itoa(len(c.Servers))); err != nil {
				return err
			}
		}
		return nil
	})
}

// complete tells whether every living server takes the cluster for whole, and every
// replica follows its master.
func (c *RedisCluster) complete() error {
	for _, s := range c.Servers {
		if !s.Alive() {
			continue
		}
		if err := wants(s, "CLUSTER INFO", "cluster_state:ok", "cluster_slots_ok:"+strconv.Itoa(slots)); err != nil {
			return err
		}
		role, err := ask(s, "ROLE")
		if err != nil {
			return err
		}
		if r := role.([]any); r[0] != "master" && r[3] != "connected" {
			return fmt.Errorf("the replica at %s is %v", hostOf(s), r[3])
		}
	}
	return nil
}

// Master is the living server that the cluster has as the master of a key's slot, nil
// while it has none.
func (c *RedisCluster) Master(key string) *RedisServer {
	c.t.Helper()
	at := slices.IndexFunc(c.Servers, (*RedisServer).Alive)
	slot := c.do(c.Servers[at], "CLUSTER", "KEYSLOT", key).(int64)
	for _, one := range c.do(c.Servers[at], "CLUSTER", "SLOTS").([]any) {
		r := one.([]any)
		if r[0].(int64) > slot || r[1].(int64) < slot {
			continue
		}
		id := r[2].([]any)[2].(string)
		if s := c.Servers[slices.Index(c.ids, id)]; s.Alive() {
			return s
		}
	}
	return nil
}

// Fail kills the master of a key and waits until a replica has taken its place.
func (c *RedisCluster) Fail(key string) {
	c.t.Helper()
	c.Master(key).Kill()
	Eventually(c.t, ready, func() error {
		if c.Master(key) == nil {
			return errors.New("no replica has taken the place of a dead master")
		}
		return c.complete()
	})
}

// CutOff keeps the replica of a key's master from hearing anything more of it, before
// any failover. It can still take the master's place.
func (c *RedisCluster) CutOff(key string) {
	c.t.Helper()
	master := c.Master(key)
	replica := c.Servers[slices.Index(c.Servers, master)+clusterMasters]
	c.do(replica, "CONFIG", "SET", "masteruser", "nobody", "masterauth", "wrong")
	c.do(master, "CLIENT", "KILL", "TYPE", "replica")
	Eventually(c.t, ready, func() error { return wants(replica, "INFO replication", "master_link_status:down") })
}

// MoveSlot moves the slot of a key to another master while it is in use, and tells of how
// many keys.
func (c *RedisCluster) MoveSlot(key string) (keys int) {
	c.t.Helper()
	from, slot := c.Master(key), c.do(c.Servers[0], "CLUSTER", "KEYSLOT", key)
	at := slices.Index(c.Servers, from)
	to := c.Servers[(at+1)%clusterMasters]
	c.do(to, "CLUSTER", "SETSLOT", slot, "IMPORTING", c.ids[at])
	c.do(from, "CLUSTER", "SETSLOT", slot, "MIGRATING", c.ids[(at+1)%clusterMasters])
	for {
		some := c.do(from, "CLUSTER", "GETKEYSINSLOT", slot, 2).([]any)
		if len(some) == 0 {
			break
		}
		c.do(from, append([]any{"MIGRATE", "127.0.0.1", to.port, "", 0, 30_000, "KEYS"}, some...)...)
		keys += len(some)
	}
	for _, s := range append([]*RedisServer{to, from}, c.Servers[:clusterMasters]...) {
		c.do(s, "CLUSTER", "SETSLOT", slot, "NODE", c.ids[(at+1)%clusterMasters])
	}
	return keys
}

func (c *RedisCluster) do(s *RedisServer, args ...any) any {
	c.t.Helper()
	answer, err := ask(s, args...)
	if err != nil {
		c.t.Fatalf("ask the Redis at %s: %v", hostOf(s), err)
	}
	return answer
}

func hostOf(s *RedisServer) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)) }

// ask sends one command on a connection of its own.
func ask(s *RedisServer, args ...any) (any, error) {
	c := redis.NewClient(&redis.Options{Addr: hostOf(s), Protocol: 2, DialerRetries: 1, DisableIdentity: true})
	defer c.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	answer, err := c.Do(ctx, args...).Result()
	if err != nil {
		return nil, fmt.Errorf("%v %v: %w", args[0], args[1:min(2, len(args))], err)
	}
	return answer, nil
}

// wants tells which of some lines the answer to a command lacks.
func wants(s *RedisServer, command string, lines ...string) error {
	var args []any
	for _, word := range strings.Fields(command) {
		args = append(args, word)
	}
	answer, err := ask(s, args...)
	if err != nil {
		return err
	}
	for _, line := range lines {
		if !strings.Contains(answer.(string), line+"\r\n") {
			return fmt.Errorf("the Redis at %s does not say %s", hostOf(s), line)
		}
	}
	return nil
}
