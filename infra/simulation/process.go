package simulation

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"seckill/commands"
)

// process is one process of the installation. What it knows dies with it.
type process struct {
	world *World
	name  string
	ctx   context.Context
	stop  context.CancelFunc
	dead  atomic.Bool
	env   *commands.Env
	dice  *dice

	// Of an API node.
	sales     *commands.Sales
	purchaser *commands.Purchaser
	finder    *commands.Finder
	orders    *commands.Orders
	operator  *commands.Operator
	leveller  *commands.Leveller
	// Of a projector, by shard.
	shards []*shard
}

// roles lists the processes of an installation and how each is put together.
func (w *World) roles() map[string]func(*process) {
	return map[string]func(*process){
		"api-1": (*process).api, "api-2": (*process).api,
		"recorder-1": (*process).recorder, "recorder-2": (*process).recorder,
		"expirer": (*process).expirer, "relay": (*process).relay,
		"projector-1": (*process).projector, "projector-2": (*process).projector,
	}
}

// names are the names of all processes, in the order they are started in.
func (w *World) names() []string {
	return []string{"api-1", "api-2", "recorder-1", "recorder-2", "expirer", "relay", "projector-1", "projector-2"}
}

// revive starts a process unless it runs.
func (w *World) revive(name string) {
	if slices.ContainsFunc(w.procs, func(p *process) bool { return p.name == name }) {
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	p := &process{world: w, name: name, ctx: ctx, stop: stop}
	var seed [32]byte
	for i := range seed {
		seed[i] = byte(w.rng.IntN(256))
	}
	dice := newDice(seed)
	p.dice = dice
	p.env = &commands.Env{
		Store: storeNumber, Node: name, Keys: w.keys, Now: time.Now, Random: dice, Log: w.log,
		NewID: func() uuid.UUID { return uuid.Must(uuid.NewRandomFromReader(dice)) },
	}
	w.tracef("world: %s starts", name)
	w.procs = append(w.procs, p)
	w.roles()[name](p)
}

func (w *World) reviveAll() {
	for _, name := range w.names() {
		w.revive(name)
	}
}

// kill ends a process where it stands. What it had sent to the gate may still arrive,
// and what the log was about to store is stored now or never.
func (w *World) kill(p *process) {
	p.dead.Store(true)
	w.procs = slices.DeleteFunc(w.procs, func(other *process) bool { return other == p })
	w.hangUp(p)
	w.mu.Lock()
	for name, held := range w.locks {
		if held.proc == p {
			held.lose()
			delete(w.locks, name)
		}
	}
	w.mu.Unlock()
	p.stop() // only now: nothing of it was to run meanwhile
	if p.leveller != nil {
		go p.leveller.Close()
	}
}

// hangUp ends the calls of a process that died.
func (w *World) hangUp(p *process) {
	mine := slices.Clone(w.calls)
	mine = slices.DeleteFunc(mine, func(c *call) bool { return c.proc != p })
	for _, c := range mine {
		if c.patient && !c.ran && c.to != toLocks && w.stormy && w.rng.IntN(2) == 0 {
			w.effect(c)
		}
		onItsWay := c.to == toGate && !c.reads && !c.ran && w.stormy && w.rng.IntN(2) == 0
		if !c.told {
			c.tell(unheard)
		}
		if !onItsWay {
			w.calls = slices.DeleteFunc(w.calls, func(other *call) bool { return other == c })
			continue
		}
		w.mu.Lock()
		c.gone = true
		w.mu.Unlock()
	}
}

// anyAPI gives an API node that runs; nil when none does.
func (w *World) anyAPI() *process {
	var all []*process
	for _, p := range w.procs {
		if p.purchaser != nil {
			all = append(all, p)
		}
	}
	if len(all) == 0 {
		return nil
	}
	return all[w.rng.IntN(len(all))]
}

// act lets a process do something for a strand. then is called by the scheduler with
// what came of it; lost instead where the process died before.
func (w *World) act(p *process, strand string, do func(ctx context.Context) (then func()), lost func()) {
	ctx := withStrand(p.ctx, strand)
	w.acting++
	go func() {
		p.dice.belong(strand)
		then := do(ctx)
		w.note(strand, func() {
			w.acting--
			if p.dead.Load() {
				then = lost
			}
			then()
		})
	}()
}

// dice gives the chance of a process. Two goroutines may go on at one moment, so each
// strand has dice of its own, and what belongs to none those of what it asks for, which
// its length tells.
type dice struct {
	seed [32]byte

	mu      sync.Mutex
	strands map[string]string // by goroutine
	all     map[string]*rand.ChaCha8
}

func newDice(seed [32]byte) *dice {
	return &dice{seed: seed, strands: map[string]string{}, all: map[string]*rand.ChaCha8{}}
}

// belong says that this goroutine works for a strand from now on.
func (d *dice) belong(strand string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.strands[goroutine()] = strand
}

func (d *dice) Read(p []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	name, known := d.strands[goroutine()]
	if !known {
		name = fmt.Sprint(len(p))
	}
	if d.all[name] == nil {
		d.all[name] = rand.NewChaCha8(sha256.Sum256(append(d.seed[:], name...)))
	}
	return d.all[name].Read(p)
}

var _ io.Reader = (*dice)(nil)

// goroutine names the goroutine that calls.
func goroutine() string {
	var b [64]byte
	fields := strings.Fields(string(b[:runtime.Stack(b[:], false)])) // "goroutine 7 [running]: …"
	return fields[1]
}

// short is an id as the trace has it: enough of it to tell it from others.
func short(id string) string {
	if len(id) == 45 { // an order id: what is random in it
		return id[16:24]
	}
	if i := strings.LastIndexByte(id, '-'); i >= 0 && len(id)-i == 46 {
		return id[:i+1] + short(id[i+1:])
	}
	return id
}
