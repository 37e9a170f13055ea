package redisgate

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// ServerSeen is one Redis process of the gate a moment ago.
type ServerSeen struct {
	// Server names it, without its password.
	Server string
	// Err is why nothing is known of it.
	Err error
	// Connected and Blocked are its clients; Max is 0 where it does not tell.
	Connected, Blocked, Max int64
	// SlowLength is the length of its slow log, and SlowNew how many commands came to it
	// since the look before.
	SlowLength, SlowNew int64
	// SlowHidden: it does not show its slow log.
	SlowHidden bool
	Slow       []SlowCommand // the newest first
}

// SlowCommand is a command of a slow log.
type SlowCommand struct {
	At      time.Time
	Took    time.Duration
	Command string // without arguments; a script of the gate by its name
}

// Watcher looks at the servers of a gate again and again, and remembers up to where it
// has read each slow log. It is not safe for concurrent use.
type Watcher struct {
	gate   *Gate
	names  map[string]string // of scripts, by SHA
	newest map[string]int64  // id in the slow log, by server; -1: it was empty
}

// slowRead bounds the commands that are read of one slow log.
const slowRead = 32

// NewWatcher makes a watcher.
func (g *Gate) NewWatcher() *Watcher {
	w := &Watcher{gate: g, names: map[string]string{}, newest: map[string]int64{}}
	for _, s := range g.scripts.all() {
		w.names[s.sha] = s.name
	}
	return w
}

// Look gives every process that holds lanes. It fails where none answers.
func (w *Watcher) Look(ctx context.Context) ([]ServerSeen, error) {
	if w.gate.opt.ProcessToken != "" { // the imitation has neither clients to count nor a slow log
		return []ServerSeen{{Server: "inside the process", SlowHidden: true}}, nil
	}
	nodes, err := w.gate.nodes(ctx)
	if err != nil {
		return nil, err
	}
	seen := make([]ServerSeen, len(nodes))
	errs := make([]error, len(nodes))
	for i, n := range nodes {
		seen[i] = w.server(ctx, n)
		errs[i] = seen[i].Err
	}
	if !slices.Contains(errs, nil) {
		return nil, errors.Join(errs...)
	}
	return seen, nil
}

func (w *Watcher) server(ctx context.Context, n node) ServerSeen {
	s := ServerSeen{Server: n.where}
	if c, ok := n.client.(*redis.Client); ok && w.gate.at(n.lane).cluster != nil {
		s.Server = c.Options().Addr
	}
	clients, err := info(ctx, n.client, "clients")
	if err != nil {
		s.Err = err
		return s
	}
	count := func(name string) int64 {
		value, err := strconv.ParseInt(clients[name], 10, 64)
		if err != nil {
			return 0 // a version that does not tell
		}
		return value
	}
	s.Connected, s.Blocked, s.Max = count("connected_clients"), count("blocked_clients"), count("maxclients")
	s.Err = w.slowLog(ctx, n.client, &s)
	return s
}

// slowLog reads what came to the slow log.
func (w *Watcher) slowLog(ctx context.Context, c redis.UniversalClient, s *ServerSeen) error {
	length, err := c.SlowLogLen(ctx).Result()
	var entries []redis.SlowLog
	if err == nil {
		entries, err = c.SlowLogGet(ctx, slowRead).Result()
	}
	var reply redis.Error
	if errors.As(err, &reply) && (strings.HasPrefix(reply.Error(), "NOPERM") || strings.HasPrefix(reply.Error(), "ERR unknown")) {
		s.SlowHidden = true
		return nil
	}
	if err != nil {
		return err
	}
	s.SlowLength = length
	newest, known := w.newest[s.Server]
	for _, e := range entries {
		s.Slow = append(s.Slow, SlowCommand{At: e.Time, Took: e.Duration, Command: w.command(e.Args)})
	}
	if len(entries) > 0 {
		last := entries[0].ID
		if known && last < newest { // it was started anew
			newest = -1
		}
		if known {
			s.SlowNew = last - newest
		}
		w.newest[s.Server] = last
	} else if !known {
		w.newest[s.Server] = -1
	}
	return nil
}

// command names a command without its arguments, which name buyers.
func (w *Watcher) command(args []string) string {
	if len(args) == 0 {
		return ""
	}
	name := strings.ToUpper(args[0])
	if len(args) > 1 && (name == "EVALSHA" || name == "EVALSHA_RO") {
		if script, ok := w.names[args[1]]; ok {
			return name + " " + script
		}
	}
	return name
}
