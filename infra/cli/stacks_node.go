package cli

import (
	"time"

	"seckill/api"
	"seckill/infra/stacks"
)

// nodeStacks tells what the goroutines of this process wait for.
type nodeStacks struct {
	node  string
	taker *stacks.Taker
}

func newNodeStacks(node string, now func() time.Time) nodeStacks {
	return nodeStacks{node, stacks.NewTaker(now)}
}

// Stacks gives a dump that is at most a second old.
func (n nodeStacks) Stacks() api.StacksView {
	d := n.taker.Take()
	view := api.StacksView{Node: n.node, At: d.At, TookUS: d.Took.Microseconds(), Goroutines: int64(d.Goroutines), WaitsKnown: d.Waits, Groups: make([]api.StacksGroup, len(d.Groups))}
	for i, g := range d.Groups {
		to := api.StacksGroup{WaitsFor: g.Kind.Name, Says: g.Kind.Says, Idle: g.Kind.Idle, Goroutines: int64(g.Goroutines), IDs: append([]int64{}, g.IDs...)}
		if d.Waits {
			oldest := g.Oldest.Milliseconds()
			to.OldestMS = &oldest
		}
		for _, s := range g.Sites {
			to.Sites = append(to.Sites, api.StacksSite{Goroutines: int64(s.Goroutines), Stack: append([]string{}, s.Stack...)})
		}
		view.Groups[i] = to
	}
	return view
}
