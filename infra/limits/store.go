package limits

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/infra/redisconn"
)

//go:embed scripts/take.lua
var takeLua string

// StoreOptions tune a store. Namespace is required; zero values take the defaults.
type StoreOptions struct {
	// Namespace begins every key.
	Namespace string
	// Patience is how long a call may take; longer means that the store is away.
	// Default 50 ms.
	Patience time.Duration
	// ProbeEvery is how often the store is tried, also while nobody asks it. Default
	// 500 ms.
	ProbeEvery time.Duration
	// MaxBatch bounds the attempts in one call. Default 64.
	MaxBatch int
	// OnUp, if set, hears whether the store answers, at the start and at each change.
	OnUp func(up bool, why error)
	// OnCall, if set, hears of every answered call and the attempts in it.
	OnCall func(attempts int)
}

func (o StoreOptions) withDefaults() StoreOptions {
	if o.Patience == 0 {
		o.Patience = 50 * time.Millisecond
	}
	if o.ProbeEvery == 0 {
		o.ProbeEvery = 500 * time.Millisecond
	}
	if o.MaxBatch == 0 {
		o.MaxBatch = 64
	}
	if o.OnUp == nil {
		o.OnUp = func(bool, error) {}
	}
	if o.OnCall == nil {
		o.OnCall = func(int) {}
	}
	return o
}

// Validate reports everything that is wrong with the options.
func (o StoreOptions) Validate() error {
	var bad []error
	if o.Namespace == "" || strings.ContainsAny(o.Namespace, "{} \n") {
		bad = append(bad, fmt.Errorf("namespace %q: want text without braces and spaces", o.Namespace))
	}
	if o.Patience < 0 || o.ProbeEvery < 0 || o.MaxBatch < 0 || o.MaxBatch > 300 {
		bad = append(bad, errors.New("patience and pause must not be negative, and a batch has 1 to 300 attempts"))
	}
	return errors.Join(bad...)
}

// calls is how many calls are under way at most; waiting how many attempts wait
// for one. More than that are not judged together.
const (
	calls   = 2
	waiting = 4096
)

// Store is the Redis on which nodes share their limits. While it is away it
// answers at once that it is. It is safe for concurrent use; Close ends it.
type Store struct {
	client  redis.UniversalClient
	script  *redis.Script
	opt     StoreOptions
	spread  bool // over a cluster
	asks    chan *ask
	up      atomic.Bool
	telling sync.Mutex // orders the news of OnUp
	base    context.Context
	cancel  context.CancelFunc
	running sync.WaitGroup
}

// ask is an attempt on its way. Its answer is the wait, 0 to pass, or away.
type ask struct {
	key, id string
	limit   int
	window  time.Duration
	reports []report
	answer  chan time.Duration
}

// report is an attempt that passed without asking, and its age in µs.
type report struct {
	id  string
	age int64
}

// away is the answer of a store that gives none.
const away time.Duration = -1

// OpenStore opens the Redis at url, in a form that redisconn reads. It need not
// answer: until it does the store is away.
func OpenStore(ctx context.Context, url string, opt StoreOptions) (*Store, error) {
	if err := opt.Validate(); err != nil {
		return nil, fmt.Errorf("open the store of limits: %w", err)
	}
	address, err := redisconn.Parse(url)
	if err != nil {
		return nil, fmt.Errorf("the Redis URL of limits and caches %w", err)
	}
	opt = opt.withDefaults()
	tuning := redisconn.Tuning{Dial: opt.Patience, Read: opt.Patience, Write: opt.Patience, Pool: opt.Patience, Conns: calls + 1}
	s := &Store{script: redis.NewScript(takeLua), opt: opt, spread: address.Cluster(), asks: make(chan *ask, waiting)}
	if s.spread {
		tuning.Conns = calls * tags
	}
	s.client = address.Open(tuning)
	s.base, s.cancel = context.WithCancel(context.WithoutCancel(ctx))
	err = s.probe()
	s.up.Store(err == nil)
	opt.OnUp(err == nil, err)
	for range calls {
		s.running.Go(s.work)
	}
	s.running.Go(s.watch)
	return s, nil
}

// Close ends the calls under way and closes the connections. Later attempts find
// the store away.
func (s *Store) Close() error {
	s.cancel()
	s.running.Wait()
	return s.client.Close()
}

// Stats shows the connections.
func (s *Store) Stats() *redis.PoolStats { return s.client.PoolStats() }

// Up tells whether the store answered when it was last asked.
func (s *Store) Up() bool { return s.up.Load() }

// judge gives the wait of an attempt, or away.
func (s *Store) judge(ctx context.Context, a *ask) time.Duration {
	if !s.up.Load() {
		return away
	}
	select {
	case s.asks <- a:
	default:
		return away
	}
	patience := time.NewTimer(2 * s.opt.Patience) // waiting for a call, and the call
	defer patience.Stop()
	select {
	case wait := <-a.answer:
		return wait
	case <-patience.C:
	case <-ctx.Done():
	case <-s.base.Done():
	}
	return away
}

// work makes calls: while one is under way, attempts gather for the next.
func (s *Store) work() {
	for {
		select {
		case <-s.base.Done():
			return
		case first := <-s.asks:
			s.send(s.gather(first))
		}
	}
}

func (s *Store) gather(first *ask) []*ask {
	batch := []*ask{first}
	for len(batch) < s.opt.MaxBatch {
		select {
		case next := <-s.asks:
			batch = append(batch, next)
		default:
			return batch
		}
	}
	return batch
}

func (s *Store) send(batch []*ask) {
	if !s.up.Load() {
		for _, a := range batch {
			a.answer <- away
		}
		return
	}
	waits, err := s.call(batch)
	s.heard(err)
	for i, a := range batch {
		if err != nil {
			a.answer <- away
			continue
		}
		a.answer <- micros(waits[i])
	}
}

// watch tries the store now and then: no buyer has to wait to find out that it is
// away still, and it is known to be away before somebody asks.
func (s *Store) watch() {
	tick := time.NewTicker(s.opt.ProbeEvery)
	defer tick.Stop()
	for {
		select {
		case <-s.base.Done():
			return
		case <-tick.C:
			s.heard(s.probe())
		}
	}
}

// heard notes whether the store answered. What our own end cut off says nothing.
func (s *Store) heard(err error) {
	if s.base.Err() != nil {
		return
	}
	s.telling.Lock()
	defer s.telling.Unlock()
	if s.up.Swap(err == nil) != (err == nil) {
		s.opt.OnUp(err == nil, err)
	}
}
