package cli

import (
	"strings"
	"testing"
)

// The secrets of this test; each appears in a setting that a command gets.
const (
	hiddenDatabase = "database-password-7f3a"
	hiddenRedis    = "redis-password-91bc"
	hiddenTokens   = "token-secret-e00d-token-secret-e00d"
	hiddenPayments = "payment-secret-55aa-payment-secret"
)

func TestNoCommandTellsASecret(t *testing.T) {
	settings := func(database, redis string) []string {
		return []string{
			"--database-url", database, "--redis-url", redis, "--jwt-secret", hiddenTokens, "--data", t.TempDir(),
			"--payment-providers", "acme=https://pay.example/{order}", "--payment-secrets", "acme=" + hiddenPayments,
			"--http-addr", "127.0.0.1:0",
		}
	}
	away := settings("postgres://app:"+hiddenDatabase+"@127.0.0.1:1/seckill?connect_timeout=1", "redis://:"+hiddenRedis+"@127.0.0.1:1/0")
	crooked := settings("postgres://app:"+hiddenDatabase+"@127.0.0.1:port/seckill", "redis://:"+hiddenRedis+"@[::1/0")
	foreign := settings("mysql://app:"+hiddenDatabase+"@127.0.0.1/seckill", "http://:"+hiddenRedis+"@127.0.0.1/0")
	for name, with := range map[string][]string{"away": away, "crooked": crooked, "foreign": foreign} {
		for _, command := range [][]string{
			{"serve"}, {"migrate", "status"}, {"sale", "list"}, {"switch", "list"}, {"reconcile"}, {"audit", "verify"}, {"checkpoints"},
			{"replay"}, {"version"}, {"nonsense"}, {"token", "--buyer", "b b"}, {"token", "--buyer", "alice", "--role", "king"},
		} {
			_, out, errs := try(t, append(command, with...)...)
			for _, secret := range []string{hiddenDatabase, hiddenRedis, hiddenTokens, hiddenPayments} {
				if strings.Contains(out+errs, secret) {
					t.Errorf("stores %s, %v: %s is told:\n%s%s", name, command, secret, out, errs)
				}
			}
		}
	}
}
