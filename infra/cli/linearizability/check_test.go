package linearizability

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

// decideWithin bounds a check. A history that is not decided by then is no good one.
const decideWithin = 60 * time.Second

// check looks for one order in time that explains the histories of some sales.
func check(histories ...*history) (porcupine.CheckResult, porcupine.LinearizationInfo) {
	var ops []porcupine.Operation
	for _, h := range histories {
		ops = append(ops, h.ops...)
	}
	return porcupine.CheckOperationsVerbose(model(), ops, decideWithin)
}

// want fails the test unless one shop can have given these answers. A history that is
// not good is drawn into a file.
func want(t testing.TB, name string, histories ...*history) {
	t.Helper()
	result, info := check(histories...)
	if result == porcupine.Ok {
		return
	}
	path, err := draw(filepath.Join(os.TempDir(), "seckill-histories"), name, info)
	t.Errorf("no single shop gives these answers: porcupine says %s; the history is drawn in %s (%v)", result, path, err)
}

// draw writes porcupine's picture of a history into a folder, and gives its path.
func draw(dir, name string, info porcupine.LinearizationInfo) (string, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	path := filepath.Join(dir, fmt.Sprintf("%s-%d.html", name, os.Getpid()))
	return path, porcupine.VisualizePath(model(), info, path)
}

// counts are how often what was answered, so that a test knows that its histories had
// something in them.
type counts map[string]int

// of counts the operations of a history.
func (c counts) of(h *history, asked int) {
	back := h.back()
	for _, op := range h.ops {
		q, a := op.Input.(request), op.Output.(answer)
		name := map[kind]string{opens: "sales", buys: a.outcome.String(), cancels: "cancels", pays: "payments", reads: "looks", comesBack: "returns", arrives: "releases", withdraws: "withdrawals"}[q.kind]
		if q.kind == withdraws && a.outcome == short {
			name = "withdrawals of too many"
		}
		if q.kind == buys && a.outcome == soldOut && op.Call > back {
			c["sold out after units came back"]++
		}
		if op.Return > 0 && op.Return == int64(h.ending.rested) {
			c["found out in the end"]++
		}
		c[name]++
	}
	c["requests"] += asked
}

// back is when units surely had come back for the first time.
func (h *history) back() int64 {
	first := int64(math.MaxInt64)
	for _, op := range h.ops {
		if k := op.Input.(request).kind; k == comesBack || k == arrives {
			first = min(first, op.Return)
		}
	}
	return first
}

// expect fails the test where something never happened.
func (c counts) expect(t testing.TB, names ...string) {
	t.Helper()
	for _, name := range names {
		if c[name] == 0 {
			t.Errorf("not one %q in all histories: %v", name, c)
		}
	}
}
