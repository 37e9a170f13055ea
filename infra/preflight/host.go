package preflight

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"syscall"
)

// leastFiles is the number of open files below which a node cannot hold a crowd.
const leastFiles = 4096

// filesSuffice looks at how many files a process started from here may have open, which
// bounds the connections of its listener.
func filesSuffice(_ context.Context, s *Site) []Row {
	const name = "host.files"
	want := fmt.Sprintf("%d or more, where the nodes run", leastFiles)
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return []Row{unseen(name, want, err)}
	}
	need := s.Settings.Admission.Cap + s.Settings.Admission.Queue
	good := limit.Cur >= leastFiles && uint64(max(need, 0)) <= limit.Cur*3/4
	return []Row{row(name, unless(good, Warning), fmt.Sprintf("%d for a process started here: %d connections, %d purchases at once and waiting", limit.Cur, limit.Cur*3/4, need),
		want, "ulimit -n, LimitNOFILE= of the unit, or the container's ulimits; beyond it idle connections are closed and new ones refused")}
}

// nodesAreReady asks every node that is named whether it is ready.
func nodesAreReady(ctx context.Context, s *Site) []Row {
	const name, want = "node.ready", "200 at /readyz"
	nodes := s.Nodes
	if len(nodes) == 0 {
		if !servesNear(ctx, s.Near) {
			return []Row{unseen(name, want+" (name each with --url)", nil)}
		}
		nodes = []string{s.Near}
	}
	var rows []Row
	for _, node := range nodes {
		status, text, err := get(ctx, node+"/readyz")
		switch {
		case err != nil:
			rows = append(rows, row(name, NoGo, node+" does not answer: "+err.Error(), want, "start it, or name the right address with --url"))
		default:
			rows = append(rows, row(name, unless(status == http.StatusOK, NoGo), fmt.Sprintf("%s answers %d %s", node, status, short(text)), want, "its answer names what fails; see docs/runbook.md"))
		}
	}
	return rows
}

// servesNear tells whether a node answers there, and not some other program.
func servesNear(ctx context.Context, address string) bool {
	if address == "" {
		return false
	}
	status, _, err := get(ctx, address+"/readyz")
	return err == nil && (status == http.StatusOK || status == http.StatusServiceUnavailable)
}

// get reads an answer of some server.
func get(ctx context.Context, address string) (status int, text string, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return 0, "", err
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = answer.Body.Close() }() // it was read as far as it is wanted
	const most = 1 << 20
	raw, err := io.ReadAll(io.LimitReader(answer.Body, most))
	return answer.StatusCode, string(raw), err
}

// short cuts what a server said to what fits a row.
func short(text string) string {
	const most = 160
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}
