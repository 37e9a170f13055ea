package memgate

import (
	"maps"
	"slices"
	"sync"
	"time"

	"seckill/commands"
	"seckill/domain"
	"seckill/eventstore"
)

// Gate is a gate in memory. It is safe for concurrent use.
type Gate struct {
	store uint8
	clock func() time.Time

	mu     sync.Mutex
	server string
	lanes  [domain.Lanes]lane
	// written is closed and replaced when a journal grows.
	written chan struct{}
}

// Gate offers every port of the gate.
var (
	_ commands.Gate       = (*Gate)(nil)
	_ commands.Journal    = (*Gate)(nil)
	_ commands.Applier    = (*Gate)(nil)
	_ commands.Lanes      = (*Gate)(nil)
	_ commands.Hashes     = (*Gate)(nil)
	_ commands.Preheater  = (*Gate)(nil)
	_ commands.Holder     = (*Gate)(nil)
	_ commands.Scanner    = (*Gate)(nil)
	_ commands.Cleaner    = (*Gate)(nil)
	_ commands.TicketLook = (*Gate)(nil)
	_ commands.Inspector  = (*Gate)(nil)
)

// New makes an empty gate for the lanes of an event store. clock is the gate's
// clock; it answers with microseconds.
func New(store uint8, clock func() time.Time) *Gate {
	return &Gate{store: store, clock: clock, server: "memory", written: make(chan struct{})}
}

// SetServer lets another process answer from the same data: lanes that were
// opened before sell nothing until they are opened again.
func (g *Gate) SetServer(name string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.server = name
}

// Snapshot is a copy of everything a gate held.
type Snapshot struct{ lanes [domain.Lanes]lane }

// Snapshot copies everything the gate holds.
func (g *Gate) Snapshot() *Snapshot {
	g.mu.Lock()
	defer g.mu.Unlock()
	return &Snapshot{lanes: copyLanes(&g.lanes)}
}

// Restore puts a copy back, as a failover to an older copy does, and lets
// another process answer. A nil snapshot is an empty server.
func (g *Gate) Restore(s *Snapshot, server string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if s == nil {
		s = &Snapshot{}
	}
	g.lanes = copyLanes(&s.lanes)
	g.server = server
}

// lane is the unit of recording, epoch and recovery.
type lane struct {
	exists, open bool
	epoch, n     int64
	digest       string
	server       string // it was opened on
	openedAt     time.Time
	journal      []commands.JournalEntry
	cut          commands.JournalCut
	sales        map[domain.Place]*sale
	stocks       map[domain.StockKey]*stock
}

// sale is the record of a sale in a bucket; its orders live and die with it.
type sale struct {
	state   commands.HashState
	applied eventstore.Mark
	token   string
	hold    domain.Outcome // Reserved: none
	fold    domain.Sale
	orders  map[string]order
	buyers  map[string][]string // in the order of entries
	keys    map[string]keyed
	tickets map[string]string // order that used it
}

type order struct {
	state commands.GateOrderState
	entry domain.EntryID
	buyer string
}

type keyed struct{ order, body string }

// stock is the hash of a stock stream.
type stock struct {
	state   commands.HashState
	applied eventstore.Mark
	token   string
	units   *domain.Stock
}

func newSale(token string) *sale {
	return &sale{state: commands.HashStub, token: token, hold: domain.Reserved,
		orders: map[string]order{}, buyers: map[string][]string{}, keys: map[string]keyed{}, tickets: map[string]string{}}
}

func newStock(key domain.StockKey, token string) *stock {
	return &stock{state: commands.HashStub, token: token, units: domain.NewStock(key)}
}

func stockKey(p domain.Place, sku string) domain.StockKey {
	return domain.StockKey{Sale: p.Sale, SKU: sku, Bucket: p.Bucket}
}

// isOpen tells whether purchases of the sale are judged at all.
func (s *sale) isOpen() bool { return s != nil && s.state == commands.HashOpen }

func (s *stock) isOpen() bool { return s != nil && s.state == commands.HashOpen }

func (g *Gate) laneOf(p domain.Place) *lane { return &g.lanes[p.Lane()] }

func (l *lane) stockOf(p domain.Place, sku string) *stock { return l.stocks[stockKey(p, sku)] }

// selling tells whether the lane was opened on the process that answers.
func (g *Gate) selling(l *lane) bool { return l.exists && l.open && l.server == g.server }

func (l *lane) put(p domain.Place, s *sale) {
	if l.sales == nil {
		l.sales = map[domain.Place]*sale{}
	}
	l.sales[p] = s
}

func (l *lane) putStock(key domain.StockKey, s *stock) {
	if l.stocks == nil {
		l.stocks = map[domain.StockKey]*stock{}
	}
	l.stocks[key] = s
}

func copyLanes(from *[domain.Lanes]lane) [domain.Lanes]lane {
	var to [domain.Lanes]lane
	for i := range from {
		to[i] = from[i]
		to[i].journal = slices.Clone(from[i].journal)
		to[i].sales, to[i].stocks = nil, nil
		for p, s := range from[i].sales {
			c := *s
			c.orders, c.keys, c.tickets = maps.Clone(s.orders), maps.Clone(s.keys), maps.Clone(s.tickets)
			c.buyers = make(map[string][]string, len(s.buyers))
			for b, list := range s.buyers {
				c.buyers[b] = slices.Clone(list)
			}
			to[i].put(p, &c)
		}
		for key, s := range from[i].stocks {
			c := *s
			units := *s.units
			units.Holds = maps.Clone(units.Holds)
			c.units = &units
			to[i].putStock(key, &c)
		}
	}
	return to
}

// Lose forgets a stock hash, or a sale's record where sku is "".
func (g *Gate) Lose(place domain.Place, sku string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	l := g.laneOf(place)
	if sku == "" {
		delete(l.sales, place)
		return
	}
	delete(l.stocks, stockKey(place, sku))
}
