package stacks

import (
	"cmp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

// MostWithWaits is up to how many goroutines are looked at one by one.
const MostWithWaits = 500

// Bounds of what is told of a group.
const (
	mostText  = 4 << 20
	mostSites = 3
	mostNames = 16
	mostIDs   = 500
)

// Dump is what all goroutines waited for at one moment.
type Dump struct {
	At   time.Time
	Took time.Duration // of taking it; where Waits, the process stood still for most of it
	// Goroutines is how many there were. Waits: for how long and which they are is known.
	Goroutines int
	Waits      bool
	Groups     []Group // most goroutines first
}

// Group is those that wait for the same.
type Group struct {
	Kind       Kind
	Goroutines int
	// Oldest is the longest wait that the runtime counted, in whole minutes; 0 where all
	// are shorter, or none is known.
	Oldest time.Duration
	// IDs are of the oldest goroutines of the group, up to 500, in ascending order.
	IDs   []int64
	Sites []Site // where they wait, most first, up to 3
}

// Site is one place where goroutines wait: functions from the innermost out.
type Site struct {
	Goroutines int
	Stack      []string
}

// Taker takes dumps, one at a time and at most one a second: who asks sooner is given
// the last.
type Taker struct {
	now  func() time.Time
	most int // with waits

	mu   sync.Mutex
	last *Dump
}

// NewTaker makes a Taker by a clock.
func NewTaker(now func() time.Time) *Taker { return &Taker{now: now, most: MostWithWaits} }

// freshFor is how long a dump is given to others.
const freshFor = time.Second

// Take gives a dump that is not older than a second.
func (t *Taker) Take() Dump {
	t.mu.Lock()
	defer t.mu.Unlock()
	began := t.now()
	if t.last != nil && began.Sub(t.last.At) < freshFor && !began.Before(t.last.At) {
		return *t.last
	}
	dump := Dump{At: began, Waits: runtime.NumGoroutine() <= t.most}
	var all []goroutine
	if dump.Waits {
		text := make([]byte, mostText)
		text = text[:runtime.Stack(text, true)]
		dump.Took = t.now().Sub(began)
		all = parse(text)
	} else {
		all = profiled()
		dump.Took = t.now().Sub(began)
	}
	dump.Groups = group(all)
	for _, g := range dump.Groups {
		dump.Goroutines += g.Goroutines
	}
	t.last = &dump
	return dump
}

// group sorts goroutines by what they wait for.
func group(all []goroutine) []Group {
	list := kinds()
	groups := make([]Group, len(list))
	sites := make([]map[string]*Site, len(list))
	for _, g := range all {
		i := slices.IndexFunc(list, func(k Kind) bool { return k.is(g.stack) })
		to := &groups[i]
		to.Kind = list[i]
		to.Goroutines += g.count
		to.Oldest = max(to.Oldest, time.Duration(g.minutes)*time.Minute)
		if g.id > 0 {
			to.IDs = append(to.IDs, g.id)
		}
		names := g.names[:min(len(g.names), mostNames)]
		key := strings.Join(names, "\n")
		if sites[i] == nil {
			sites[i] = map[string]*Site{}
		}
		if sites[i][key] == nil {
			sites[i][key] = &Site{Stack: names}
		}
		sites[i][key].Goroutines += g.count
	}
	for i := range groups {
		groups[i].told(sites[i])
	}
	groups = slices.DeleteFunc(groups, func(g Group) bool { return g.Goroutines == 0 })
	slices.SortStableFunc(groups, func(a, b Group) int { return cmp.Compare(b.Goroutines, a.Goroutines) })
	return groups
}

// told cuts a group to what is told of it.
func (g *Group) told(sites map[string]*Site) {
	slices.Sort(g.IDs)
	g.IDs = g.IDs[:min(len(g.IDs), mostIDs)]
	for _, s := range sites {
		g.Sites = append(g.Sites, *s)
	}
	slices.SortFunc(g.Sites, func(a, b Site) int {
		return cmp.Or(cmp.Compare(b.Goroutines, a.Goroutines), slices.Compare(a.Stack, b.Stack))
	})
	g.Sites = g.Sites[:min(len(g.Sites), mostSites)]
}
