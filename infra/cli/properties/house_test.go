package properties

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"seckill/infra/cli/e2e"
	"seckill/infra/testenv"
)

// house is an installation on which programs run one after the other: two processes
// that sell, one that records and keeps lanes, one that carries the log into the
// views, and an observer that nothing befalls. A program that failed leaves it dirty:
// the next one gets a new house, so that it is judged, and shrunk, by itself.
type house struct {
	*floor
	rig      *e2e.Rig
	observer *e2e.Node
	apis     [2]*process
	recorder *process
	views    *process
	programs int
	dirty    bool
	done     map[string]int // what came about in all programs
	buried   sync.WaitGroup // processes that died and have not ended yet
}

// programsOfAHouse is after how many programs a house is left: checks read the whole
// of its log.
const programsOfAHouse = 8

// floor is a testing.TB that ends with a house, not with a test. What its processes
// say is kept for the program that fails on it.
type floor struct {
	testing.TB
	mu       sync.Mutex
	cleanups []func()
	lines    []string
	faults   []string
}

const keptLines = 60

// Cleanup keeps f for the end of the house.
func (f *floor) Cleanup(c func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.cleanups = append(f.cleanups, c)
}

// Logf keeps a line.
func (f *floor) Logf(text string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lines = append(f.lines, fmt.Sprintf(text, args...))
	if len(f.lines) > keptLines {
		f.lines = f.lines[len(f.lines)-keptLines:]
	}
}

// Errorf keeps a fault for the program that runs.
func (f *floor) Errorf(text string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.faults = append(f.faults, fmt.Sprintf(text, args...))
}

// said gives what was kept, and forgets it.
func (f *floor) said() (lines, faults []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	lines, faults = f.lines, f.faults
	f.lines, f.faults = nil, nil
	return lines, faults
}

func (f *floor) end() {
	for {
		f.mu.Lock()
		n := len(f.cleanups)
		if n == 0 {
			f.mu.Unlock()
			return
		}
		last := f.cleanups[n-1]
		f.cleanups = f.cleanups[:n-1]
		f.mu.Unlock()
		last()
	}
}

func newHouse(t testing.TB) *house {
	h := &house{floor: &floor{TB: t}, done: map[string]int{}}
	h.rig = e2e.NewRig(h)
	h.recorder = h.process(e2e.Recorder, e2e.Keeper)
	h.views = h.process(e2e.Projector, e2e.Relay)
	for i := range h.apis {
		h.apis[i] = h.process()
	}
	h.observer = h.rig.Node(h, e2e.NodeOptions{APIOnly: true})
	h.observer.Patience = *patience
	return h
}

// close ends everything of the house.
func (h *house) close() {
	h.buried.Wait()
	h.end()
}

// process is one process of a house, reached by its stores through proxies of its
// own. It dies like one that is killed: at once, and in the middle of whatever it does,
// nothing of it reaches a store any more.
type process struct {
	house     *house
	roles     []e2e.Role
	node      *e2e.Node
	pg, redis *testenv.FaultProxy
	dead      chan struct{}
	once      sync.Once
	mu        sync.Mutex
	armed     string           // the point at which it dies
	told      map[string]int64 // the version of each order that was told here last
}

// process starts one with roles; without any it sells.
func (h *house) process(roles ...e2e.Role) *process {
	p := &process{house: h, roles: roles, dead: make(chan struct{}), told: map[string]int64{}}
	p.pg, p.redis = testenv.Proxy(h, h.rig.URL), testenv.Proxy(h, h.rig.Redis.URL)
	through := *h.rig
	through.URL = p.pg.URL()
	p.node = through.Node(h, e2e.NodeOptions{RedisURL: p.redis.URL(), APIOnly: len(roles) == 0, Roles: roles, Step: p.step, AppendStep: p.step})
	return p
}

// step is called at the named points of the program under test.
func (p *process) step(point string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.armed == point {
		p.die()
	}
}

// die cuts the process off from everything, for ever.
func (p *process) die() {
	p.once.Do(func() {
		p.pg.Cut()
		p.redis.Cut()
		close(p.dead)
		p.house.buried.Go(p.node.Abandon)
	})
}

func (p *process) alive() bool {
	select {
	case <-p.dead:
		return false
	default:
		return true
	}
}

// dieAt lets the process die when it next comes to a point, "" for none.
func (p *process) dieAt(point string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.armed = point
}

// ask calls the process; ok is false where it died before it answered.
func ask[T any](p *process, call func(n *e2e.Node) T) (answer T, ok bool) {
	answered := make(chan T, 1)
	p.house.buried.Go(func() { answered <- call(p.node) })
	select {
	case answer = <-answered:
		return answer, p.alive()
	case <-p.dead:
		return answer, false
	}
}

// awaits is how long something is waited for that only a broken program misses.
func awaits() time.Duration {
	if *patience > 0 {
		return *patience
	}
	return 60 * time.Second
}

// again starts a process in the place of one that died.
func (h *house) again(p **process) {
	if !(*p).alive() {
		*p = h.process((*p).roles...)
	}
}
