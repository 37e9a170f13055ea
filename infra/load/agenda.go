package load

import (
	"container/heap"
	"sync"
	"time"
)

// agenda holds who is to ask when, the earliest first. One goroutine takes out of it,
// any may put into it.
type agenda struct {
	mu   sync.Mutex
	all  dues
	wake chan struct{} // rings when something earlier than everything else came in
}

// due is an arrival and the moment after the start at which it asks.
type due struct {
	at time.Duration
	i  int
}

func newAgenda() *agenda { return &agenda{wake: make(chan struct{}, 1)} }

func (a *agenda) add(d due) {
	a.mu.Lock()
	heap.Push(&a.all, d)
	first := a.all[0] == d
	a.mu.Unlock()
	if !first {
		return
	}
	select {
	case a.wake <- struct{}{}:
	default: // it is awake already
	}
}

// first tells who is next; false: nobody is.
func (a *agenda) first() (due, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.all) == 0 {
		return due{}, false
	}
	return a.all[0], true
}

// take removes the earliest one.
func (a *agenda) take() due {
	a.mu.Lock()
	defer a.mu.Unlock()
	return heap.Pop(&a.all).(due)
}

// dues is a heap.
type dues []due

func (d dues) Len() int           { return len(d) }
func (d dues) Less(i, j int) bool { return d[i].at < d[j].at }
func (d dues) Swap(i, j int)      { d[i], d[j] = d[j], d[i] }
func (d *dues) Push(x any)        { *d = append(*d, x.(due)) }
func (d *dues) Pop() any {
	last := len(*d) - 1
	x := (*d)[last]
	*d = (*d)[:last]
	return x
}
