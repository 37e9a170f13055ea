package cli

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"

	"seckill/api"
	"seckill/infra/bench"
	"seckill/infra/config"
)

type stacksCmd struct {
	URL   string        `name:"url" placeholder:"URL" help:"The node to ask. Default: the one at --http-addr on this machine, or at --admin-addr where operators have an address of their own."`
	Token config.Secret `name:"operator-token" env:"SECKILL_OPERATOR_TOKEN" placeholder:"TOKEN" help:"An operator's token. Default: signed by the secret."`
	Every time.Duration `default:"5s" placeholder:"D" help:"Between two dumps. Default: ${default}."`
	Dumps int           `default:"3" placeholder:"N" help:"How many. Default: ${default}."`
	JSON  bool          `name:"json" help:"Print JSON."`
}

// Bounds of what is asked for. The node takes a dump at most once a second.
const (
	leastBetweenDumps = time.Second
	mostBetweenDumps  = time.Hour
	mostDumps         = 100
)

// Validate refuses what cannot be asked.
func (s *stacksCmd) Validate() error {
	if s.Every < leastBetweenDumps || s.Every > mostBetweenDumps {
		return fmt.Errorf("--every must be %s to %s", leastBetweenDumps, mostBetweenDumps)
	}
	if s.Dumps < 1 || s.Dumps > mostDumps {
		return fmt.Errorf("--dumps must be 1 to %d", mostDumps)
	}
	if u, err := url.Parse(s.URL); s.URL != "" && (err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "") {
		return fmt.Errorf("--url must be the address of a node such as http://127.0.0.1:8080, not %q", s.URL)
	}
	return nil
}

// Run asks a node several times what its goroutines wait for. It asks no store.
func (s *stacksCmd) Run(c console) error {
	node, err := c.operatorsNode(s.URL)
	if err != nil {
		return err
	}
	as, err := c.operatorOf(node, s.Token)
	if err != nil {
		return err
	}
	ctx, done := c.stoppable()
	defer done()
	report := stacksReport{URL: node}
	for i := range s.Dumps {
		if i > 0 {
			c.say("Dump %d of %d in %s.", i+1, s.Dumps, s.Every)
			select {
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-time.After(s.Every):
			}
		}
		dump, err := as.Stacks(ctx)
		if err != nil {
			return nodeAway(node, fmt.Errorf("ask %s what its goroutines wait for: %w", node, err))
		}
		report.Dumps = append(report.Dumps, dump)
	}
	report.sum()
	if s.JSON {
		return c.json(report)
	}
	return c.tellStacks(&report)
}

// stacksReport is the result as --json prints it.
type stacksReport struct {
	URL   string           `json:"url"`
	Dumps []api.StacksView `json:"dumps"`
	// Groups are those of all dumps together: most goroutines of whom somebody waits for
	// first, and those that hold nobody up last.
	Groups []stacksGroup `json:"groups"`
}

// stacksGroup is one thing that is waited for, over all dumps.
type stacksGroup struct {
	WaitsFor string `json:"waits_for"`
	Says     string `json:"says"`
	Idle     bool   `json:"idle"`
	// Goroutines are how many in each dump.
	Goroutines []int64 `json:"goroutines"`
	// OldestMS is the longest wait that is known of: what the runtime counted in minutes,
	// or from the first to the last of the dumps in a row that have the same goroutine
	// there, where it may have gone and come back between. Left out where neither is known.
	OldestMS *int64 `json:"oldest_ms,omitempty"`
	// Stack is where most of them wait.
	Stack []string `json:"stack"`
}

// sum puts the dumps together.
func (r *stacksReport) sum() {
	at := map[string]int{}
	most := map[string]int64{}
	first := map[string]map[int64]time.Time{}
	for i, d := range r.Dumps {
		for _, g := range d.Groups {
			n, ok := at[g.WaitsFor]
			if !ok {
				n, at[g.WaitsFor] = len(r.Groups), len(r.Groups)
				r.Groups = append(r.Groups, stacksGroup{WaitsFor: g.WaitsFor, Says: g.Says, Idle: g.Idle, Goroutines: make([]int64, len(r.Dumps)), Stack: []string{}})
			}
			to := &r.Groups[n]
			to.Goroutines[i] = g.Goroutines
			if len(g.Sites) > 0 && g.Sites[0].Goroutines > most[g.WaitsFor] {
				most[g.WaitsFor], to.Stack = g.Sites[0].Goroutines, g.Sites[0].Stack
			}
			first[g.WaitsFor] = to.waited(d, g, first[g.WaitsFor])
		}
	}
	slices.SortStableFunc(r.Groups, func(a, b stacksGroup) int {
		if a.Idle != b.Idle {
			return map[bool]int{true: 1, false: -1}[a.Idle]
		}
		return int(slices.Max(b.Goroutines) - slices.Max(a.Goroutines))
	})
}

// waited takes in how long goroutines have waited, by when each was seen there first in
// this row of dumps, which it gives for the next.
func (g *stacksGroup) waited(d api.StacksView, now api.StacksGroup, seen map[int64]time.Time) map[int64]time.Time {
	if now.OldestMS == nil {
		return nil
	}
	oldest := *now.OldestMS
	here := map[int64]time.Time{}
	for _, id := range now.IDs {
		since, ok := seen[id]
		if !ok {
			since = d.At
		}
		here[id] = since
		oldest = max(oldest, d.At.Sub(since).Milliseconds())
	}
	if g.OldestMS == nil || oldest > *g.OldestMS {
		g.OldestMS = &oldest
	}
	return here
}

// tellStacks prints the groups for people.
func (c console) tellStacks(r *stacksReport) error {
	headers := []any{"waits for", ""}
	for _, d := range r.Dumps {
		headers = append(headers, d.At.Local().Format("15:04:05"))
	}
	t := newTable(append(headers, "oldest wait", "where most of them wait")...)
	last := r.Dumps[len(r.Dumps)-1]
	t.SetTitle(fmt.Sprintf("Node %s · %s goroutines · a dump took %s", last.Node, grouped(last.Goroutines), short(time.Duration(last.TookUS)*time.Microsecond)))
	var columns []int
	for i := range r.Dumps {
		columns = append(columns, 3+i)
	}
	numbers(t, append(columns, 3+len(r.Dumps))...)
	for _, g := range r.Groups {
		row := table.Row{g.WaitsFor, g.Says}
		for _, n := range g.Goroutines {
			row = append(row, grouped(n))
		}
		t.AppendRow(append(row, g.oldest(), strings.Join(tellingFrames(g.Stack), "\n")))
	}
	return c.print(t)
}

// oldest says the longest wait.
func (g *stacksGroup) oldest() string {
	switch {
	case g.OldestMS == nil:
		return "not known"
	case *g.OldestMS == 0:
		return "not twice the same"
	}
	return "≥ " + short(time.Duration(*g.OldestMS)*time.Millisecond)
}

// tellingFrames are at most four functions of a stack: how it waits, and who of ours
// made it wait.
func tellingFrames(stack []string) []string {
	const innermost, all = 2, 4
	var told []string
	for _, name := range stack {
		if strings.HasPrefix(name, "internal/") || strings.HasPrefix(name, "net.") {
			continue
		}
		if len(told) < innermost || len(told) < all && strings.Contains(name, "seckill/") {
			told = append(told, name[strings.LastIndexByte(name, '/')+1:])
		}
	}
	return told
}

// operatorsNode gives the address where operators are answered: the one that is named, or
// the one that the settings have on this machine.
func (c console) operatorsNode(named string) (string, error) {
	if named != "" {
		return strings.TrimRight(named, "/"), nil
	}
	address := c.settings.HTTPAddr
	if c.settings.AdminAddr != "" {
		address = c.settings.AdminAddr
	}
	if _, port, err := net.SplitHostPort(address); err == nil && port == "0" {
		return "", usage("the port of the node is not known here: name the node with --url")
	}
	return "http://" + dialable(address), nil
}

// operatorOf is an operator at a node, by a token that is given or signed here.
func (c console) operatorOf(node string, token config.Secret) (bench.Operator, error) {
	as := bench.Operator{URL: node, Token: string(token), Client: bench.NewClient(nil)}
	if as.Token != "" {
		return as, nil
	}
	secret, err := signingSecret(c.settings)
	if err != nil {
		return as, err
	}
	as.Token, err = api.SignToken(secret, operatorName(), api.RoleAdmin, "", tokenLife)
	return as, err
}
