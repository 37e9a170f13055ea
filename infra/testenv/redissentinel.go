package testenv

import (
	"fmt"
	"net/url"
	"strconv"
	"testing"
	"time"
)

// SentinelRedis is a master with a replica, watched by a sentinel of one test.
type SentinelRedis struct {
	// URL names the sentinel and the master by its name.
	URL      string
	Sentinel *RedisServer
	// Servers are the master as it was at the start, and its replica.
	Servers [2]*RedisServer
}

// sentinelMaster is the name that the sentinel knows the master by.
const sentinelMaster = "gate"

// PrivateSentinel starts a master, its replica, and one sentinel that decides alone. All
// end with the test, or with its process.
func PrivateSentinel(t testing.TB) *SentinelRedis {
	t.Helper()
	var r SentinelRedis
	r.Servers[0] = PrivateRedis(t, RedisOptions{})
	port := strconv.Itoa(r.Servers[0].port)
	r.Servers[1] = PrivateRedis(t, RedisOptions{Config: []string{"replicaof 127.0.0.1 " + port, "repl-diskless-sync-delay 0"}})
	r.Sentinel = newRedis(t, "--sentinel")
	r.Sentinel.run([]string{
		"sentinel monitor " + sentinelMaster + " 127.0.0.1 " + port + " 1", "sentinel down-after-milliseconds " + sentinelMaster + " 2000",
		"sentinel failover-timeout " + sentinelMaster + " 10000",
	})
	r.URL = "redis://" + hostOf(r.Sentinel) + "?" + url.Values{"master_name": {sentinelMaster}}.Encode()
	Eventually(t, ready, func() error {
		if err := wants(r.Servers[1], "INFO replication", "master_link_status:up"); err != nil {
			return err
		}
		known, err := ask(r.Sentinel, "SENTINEL", "REPLICAS", sentinelMaster)
		if err == nil && len(known.([]any)) != 1 {
			err = fmt.Errorf("the sentinel knows %d replicas, want 1", len(known.([]any)))
		}
		return err
	})
	return &r
}

// Master is the server that the sentinel names.
func (r *SentinelRedis) Master() (*RedisServer, error) {
	at, err := ask(r.Sentinel, "SENTINEL", "GET-MASTER-ADDR-BY-NAME", sentinelMaster)
	if err != nil {
		return nil, err
	}
	for _, s := range r.Servers {
		if at.([]any)[1] == strconv.Itoa(s.port) {
			return s, nil
		}
	}
	return nil, fmt.Errorf("the sentinel names %v, which is none of ours", at)
}

// Fail kills the master and waits until the sentinel names its replica.
func (r *SentinelRedis) Fail(t testing.TB) {
	t.Helper()
	dead, err := r.Master()
	if err != nil {
		t.Fatal(err)
	}
	dead.Kill()
	Eventually(t, ready+time.Minute, func() error {
		now, err := r.Master()
		if err != nil {
			return err
		}
		if now == dead {
			return fmt.Errorf("the sentinel still names the dead master")
		}
		return wants(now, "INFO replication", "role:master")
	})
}
