package limits

import (
	"math/bits"
	"sync"
)

// ways is how many places a buyer may take.
const ways = 16

// shards is how many locks there are.
const shards = 64

// places remember the attempts of a bounded number of buyers: what passed within
// the window. Nothing in them is a pointer.
type places struct {
	limit  int
	window int64 // µs
	sets   uint64
	shards [shards]shard
}

// shard is a part of the places under one lock. Place i has its hash, its newest
// stamp, until when it is refused, and its stamps.
//
// A stamp is a time in µs shifted by one; its last bit says that the attempt has
// surely passed.
type shard struct {
	mu        sync.Mutex
	hashes    []uint64
	newest    []int64
	until     []int64
	stamps    []int64
	forgotten uint64
	_         [40]byte // locks of two shards share no cache line
}

const settled = 1

func newPlaces(o Options) *places {
	each := max(o.Capacity/shards, ways)
	each = 1 << bits.Len(uint(each-1)) // up to a power of two
	p := &places{limit: o.Limit, window: o.Window.Microseconds(), sets: uint64(each / ways)}
	for i := range p.shards {
		p.shards[i].hashes = make([]uint64, each)
		p.shards[i].newest = make([]int64, each)
		p.shards[i].until = make([]int64, each)
		p.shards[i].stamps = make([]int64, each*o.Limit)
	}
	return p
}

// entered is what the places say of an attempt.
type entered struct {
	wait  int64 // µs; 0: it may pass as far as this node knows
	stamp int64 // µs, of its own among the buyer's
	now   int64
	ask   bool    // others have to be asked
	sure  []int64 // with ask: stamps of the window that have surely passed
}

// enter takes a stamp for an attempt, or says how long to wait. The first free
// ones of a window pass for sure; of others it wants to hear by leave.
func (p *places) enter(hash uint64, now int64, free int) entered {
	s := &p.shards[hash%shards]
	s.mu.Lock()
	defer s.mu.Unlock()
	i := p.place(s, hash, now)
	// Who keeps asking keeps the place, refused or not.
	newest := s.newest[i]
	s.newest[i] = max(now, newest)
	if s.until[i] > now {
		return entered{wait: s.until[i] - now}
	}
	stamps := s.stamps[i*p.limit : (i+1)*p.limit]
	live, oldest, spare := 0, int64(0), 0
	for at, stamp := range stamps {
		switch {
		case stamp>>1 <= now-p.window:
			spare = at
		case live == 0 || stamp < oldest:
			live, oldest = live+1, stamp
		default:
			live++
		}
	}
	if live == p.limit {
		return entered{wait: oldest>>1 + p.window - now}
	}
	got := entered{stamp: max(now, newest+1), now: now, ask: live >= free}
	s.newest[i] = got.stamp
	stamps[spare] = got.stamp << 1
	if !got.ask {
		stamps[spare] |= settled
		return got
	}
	for _, stamp := range stamps {
		if stamp>>1 > now-p.window && stamp&settled != 0 {
			got.sure = append(got.sure, stamp>>1)
		}
	}
	return got
}

// leave settles a stamp, or takes it back and refuses the buyer until then.
func (p *places) leave(hash uint64, stamp, until int64) {
	s := &p.shards[hash%shards]
	s.mu.Lock()
	defer s.mu.Unlock()
	i, ok := p.find(s, hash)
	if !ok {
		return
	}
	stamps := s.stamps[i*p.limit : (i+1)*p.limit]
	for at, own := range stamps {
		if own>>1 != stamp {
			continue
		}
		stamps[at] |= settled
		if until > 0 {
			stamps[at], s.until[i] = 0, max(s.until[i], until)
		}
		return
	}
}

// place finds the place of a buyer, or gives the one that was quiet for longest.
func (p *places) place(s *shard, hash uint64, now int64) int {
	if i, ok := p.find(s, hash); ok {
		return i
	}
	first := p.first(hash)
	quiet := first
	for i := first; i < first+ways; i++ {
		if s.newest[i] < s.newest[quiet] {
			quiet = i
		}
	}
	if s.newest[quiet] > now-p.window {
		s.forgotten++
	}
	s.hashes[quiet], s.newest[quiet], s.until[quiet] = hash, 0, 0
	clear(s.stamps[quiet*p.limit : (quiet+1)*p.limit])
	return quiet
}

func (p *places) find(s *shard, hash uint64) (int, bool) {
	first := p.first(hash)
	for i, h := range s.hashes[first : first+ways] {
		if h == hash {
			return first + i, true
		}
	}
	return 0, false
}

func (p *places) first(hash uint64) int { return int(hash/shards%p.sets) * ways }

// lost is how many buyers were forgotten too early.
func (p *places) lost() uint64 {
	var n uint64
	for i := range p.shards {
		p.shards[i].mu.Lock()
		n += p.shards[i].forgotten
		p.shards[i].mu.Unlock()
	}
	return n
}

// size is the memory of the places in bytes.
func (p *places) size() int {
	return shards * len(p.shards[0].hashes) * (24 + 8*p.limit)
}
