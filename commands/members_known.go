package commands

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"seckill/domain"
)

// KnownMembersOptions tune a KnownMembers; zero values take the defaults.
type KnownMembersOptions struct {
	// MaxBuyers bounds the buyers of all lists in memory, 16 bytes each (4,000,000:
	// 64 MB). Beyond it the list that was not asked for the longest goes.
	MaxBuyers int64
	// Every is how often sales are looked at for lists to load ahead (2 s).
	Every time.Duration
	// Ahead is how long before the opening a list is loaded (10 minutes).
	Ahead time.Duration
	// Budget bounds reading one list (30 s).
	Budget time.Duration
	// Await is how long Await waits for a small list (100 ms).
	Await time.Duration
	// Alarm, if set, hears once of each list that cannot be read or is wrong.
	Alarm func(Alarm)
}

func (o KnownMembersOptions) withDefaults() KnownMembersOptions {
	if o.MaxBuyers == 0 {
		o.MaxBuyers = 4 * domain.MaxMembers
	}
	if o.Every == 0 {
		o.Every = 2 * time.Second
	}
	if o.Ahead == 0 {
		o.Ahead = 10 * time.Minute
	}
	if o.Budget == 0 {
		o.Budget = 30 * time.Second
	}
	if o.Await == 0 {
		o.Await = 100 * time.Millisecond
	}
	return o
}

// KnownMembers holds lists of buyers in memory, whole and by their ids, so that a
// purchase is judged by exactly the list that its sale names, without asking a
// store. A list that does not hold what the log says is not used. Run must run.
type KnownMembers struct {
	env    *Env
	sales  *Sales
	lists  MemberLists
	opts   KnownMembersOptions
	wanted chan domain.MemberList

	loading sync.Mutex                           // held while a list is read
	sets    atomic.Pointer[map[string]*knownSet] // replaced whole, under loading

	mu     sync.Mutex
	faults map[string]memberFault // by list
	tried  chan struct{}          // closed and replaced whenever a list was tried to be read
}

// knownSet is a list in memory; used is when it was asked for last.
type knownSet struct {
	domain.MemberSet
	used atomic.Int64
}

// maxWantedLists bounds how many lists wait to be read; one that found no room is
// wanted again by the next purchase.
const maxWantedLists = 64

// NewKnownMembers makes an empty one.
func NewKnownMembers(env *Env, sales *Sales, lists MemberLists, opts KnownMembersOptions) *KnownMembers {
	k := &KnownMembers{env: env, sales: sales, lists: lists, opts: opts.withDefaults(), wanted: make(chan domain.MemberList, maxWantedLists), faults: map[string]memberFault{}, tried: make(chan struct{})}
	k.sets.Store(&map[string]*knownSet{})
	return k
}

// Has tells whether a buyer is on a list. known is false while the list is not in
// memory; then it is read, which takes about a second for a million buyers.
func (k *KnownMembers) Has(list domain.MemberList, buyer string) (has, known bool) {
	set, ok := (*k.sets.Load())[list.ID]
	if !ok {
		k.want(list)
		return false, false
	}
	set.used.Store(k.env.Now().UnixNano())
	return set.Has(buyer), true
}

// Run reads lists that are wanted, and those of sales that open soon or are open,
// until ctx ends.
func (k *KnownMembers) Run(ctx context.Context) error {
	tick := time.NewTicker(k.opts.Every)
	defer tick.Stop()
	k.ahead(ctx)
	for {
		select {
		case <-ctx.Done():
			return nil
		case list := <-k.wanted:
			k.load(ctx, list)
		case <-tick.C:
			k.ahead(ctx)
		}
	}
}

// ahead loads the lists of sales that are about to be asked for.
func (k *KnownMembers) ahead(ctx context.Context) {
	sales, err := k.sales.List(ctx)
	if err != nil {
		if ctx.Err() == nil {
			k.env.Log.Warn("member lists not looked for", "error", err)
		}
		return
	}
	now := k.env.Now()
	for _, sale := range sales {
		t := sale.Terms
		if sale.Members != nil && !sale.Cleaned && !sale.Closed && now.Before(t.ClosesAt) && !now.Before(t.OpensAt.Add(-k.opts.Ahead)) {
			k.load(ctx, *sale.Members)
		}
	}
}

// load reads a list, unless it is there.
func (k *KnownMembers) load(ctx context.Context, list domain.MemberList) {
	if _, ok := (*k.sets.Load())[list.ID]; ok || k.wrongLately(list.ID) {
		return
	}
	k.loading.Lock()
	defer k.loading.Unlock()
	_, _ = k.fetch(ctx, list) // it is noted, and read again
}

// read gives a list; with errWrongList what is stored of it.
func (k *KnownMembers) read(ctx context.Context, list domain.MemberList) (*knownSet, error) {
	ctx, cancel := context.WithTimeout(ctx, k.opts.Budget)
	defer cancel()
	set := &knownSet{}
	if err := k.lists.Read(ctx, list.ID, func(buyers []string) {
		for _, b := range buyers {
			set.Add(b)
		}
	}); err != nil {
		return nil, fmt.Errorf("read member list: %w", err)
	}
	set.Seal()
	if count, digest := set.Count(), set.Digest(); count != list.Count || digest != list.Digest {
		return set, fmt.Errorf("read member list: %w: %d buyers with digest %s are stored, the log says %d with %s", errWrongList, count, digest, list.Count, list.Digest)
	}
	return set, nil
}

// put adds a list; those that were not asked for the longest make room for it.
func (k *KnownMembers) put(id string, set *knownSet) {
	sets, total := map[string]*knownSet{id: set}, set.Count()
	for other, s := range *k.sets.Load() {
		sets[other] = s
		total += s.Count()
	}
	for total > k.opts.MaxBuyers && len(sets) > 1 {
		oldest := ""
		for other, s := range sets {
			if other != id && (oldest == "" || s.used.Load() < sets[oldest].used.Load()) {
				oldest = other
			}
		}
		total -= sets[oldest].Count()
		delete(sets, oldest)
	}
	k.sets.Store(&sets)
}
