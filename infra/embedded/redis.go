package embedded

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// privateRedis makes a private Redis out of a found redis-server.
type privateRedis struct {
	setting   string // as Options.RedisBin
	dir       string
	ephemeral bool
}

// redisServer is the private Redis of a data folder. Its program is looked for
// only when it has to be started: one that runs can be joined without.
func redisServer(_ context.Context, o Options) (server, error) {
	dir := redisDir(o)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return server{}, fmt.Errorf("make folder for Redis: %w", err)
	}
	r := privateRedis{setting: o.RedisBin, dir: dir, ephemeral: o.Ephemeral}
	return server{name: "Redis", dir: dir, signal: "TERM", prepare: r.prepare, ping: pingRedis}, nil
}

func redisDir(o Options) string { return filepath.Join(o.DataDir, "redis") }

func (r privateRedis) prepare(context.Context) (launch, error) {
	if r.setting == InProcessRedis {
		return launch{}, &NotFoundError{Server: "Redis"} // it is not to be started
	}
	bin, err := FindRedis(r.setting)
	if err != nil {
		return launch{}, err
	}
	version, err := exec.Command(bin, "--version").Output()
	if err != nil {
		return launch{}, fmt.Errorf("ask %s for its version: %w", bin, err)
	}
	data := filepath.Join(r.dir, "data")
	if r.ephemeral {
		if err := os.RemoveAll(data); err != nil {
			return launch{}, fmt.Errorf("remove data of an earlier run: %w", err)
		}
	}
	if err := os.MkdirAll(data, 0o700); err != nil {
		return launch{}, fmt.Errorf("make data folder of Redis: %w", err)
	}
	port, err := freePort()
	if err != nil {
		return launch{}, err
	}
	password := randomText()
	// In a file, where ps does not show the password.
	file := filepath.Join(r.dir, "redis.conf")
	if err := os.WriteFile(file, []byte(r.config(port, password, data)), 0o600); err != nil {
		return launch{}, fmt.Errorf("write configuration of Redis: %w", err)
	}
	run := running{URL: redisURL(port, password), Port: port, Version: firstNumber.FindString(string(version))}
	ready := func(ctx context.Context) error { return pingRedis(ctx, run.URL) }
	return launch{argv: []string{bin, file}, run: run, ready: ready}, nil
}

func (r privateRedis) config(port int, password, data string) string {
	appendOnly := "yes"
	if r.ephemeral {
		appendOnly = "no"
	}
	return fmt.Sprintf(`bind 127.0.0.1
port %d
requirepass %s
dir %s
appendonly %s
appendfsync everysec
save ""
maxmemory-policy noeviction
daemonize no
logfile ""
`, port, password, redisQuoted(data), appendOnly)
}

// redisQuoted writes a text as one word of Redis' configuration.
func redisQuoted(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if c := text[i]; c < ' ' || c == '"' || c == '\\' {
			fmt.Fprintf(&b, "\\x%02x", c)
		} else {
			b.WriteByte(c)
		}
	}
	return `"` + b.String() + `"`
}

func redisURL(port int, password string) string {
	u := url.URL{Scheme: "redis", User: url.UserPassword("default", password),
		Host: net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), Path: "0"}
	return u.String()
}

func pingRedis(ctx context.Context, url string) error {
	o, err := redis.ParseURL(url)
	if err != nil {
		return fmt.Errorf("parse URL of the private Redis: %w", err)
	}
	// Tried first by hand: the client would log each refusal of a server that starts.
	probe, err := new(net.Dialer).DialContext(ctx, "tcp", o.Addr)
	if err != nil {
		return fmt.Errorf("reach the private Redis: %w", err)
	}
	probe.Close()
	o.MaxRetries, o.DialerRetries = -1, 1
	c := redis.NewClient(o)
	return errors.Join(c.Ping(ctx).Err(), c.Close())
}
