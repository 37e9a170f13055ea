package plan

import (
	"fmt"
	"math"

	"seckill/domain"
	"seckill/eventstore"
)

// Plan is what a wish needs.
type Plan struct {
	Wish Wish `json:"wish"`
	// PeakPerSecond is the requests a second that are expected, SizedPerSecond with
	// headroom: what everything below is for.
	PeakPerSecond  float64 `json:"peak_requests_per_s"`
	SizedPerSecond float64 `json:"sized_requests_per_s"`
	// Accepted is the purchases that take a unit; BusiestAccepted those of the busiest
	// second.
	Accepted        int64   `json:"accepted"`
	BusiestAccepted float64 `json:"accepted_in_busiest_s"`

	Strategy string   `json:"strategy"`
	Reasons  []string `json:"reasons"`

	API     API     `json:"api"`
	Gate    Gate    `json:"gate"`
	Buckets int     `json:"buckets"`
	Log     Log     `json:"log"`
	Bus     Bus     `json:"bus"`
	Conns   int     `json:"postgres_connections"`
	Set     Set     `json:"settings"`
	Seconds Seconds `json:"seconds"`
	Wire    Wire    `json:"bandwidth"`

	Warnings []string `json:"warnings"`
	Costs    []Cost   `json:"unit_costs"`
	// CostsFrom is set by whoever chose the costs.
	CostsFrom Source `json:"unit_costs_from"`
}

// Wire is what goes through the balancer at the peak, in both directions: purchases and
// looks at orders, which no CDN can answer.
type Wire struct {
	IngressMbit float64 `json:"ingress_mbit_per_s"`
	EgressMbit  float64 `json:"egress_mbit_per_s"`
}

// API is the processes that serve HTTP.
type API struct {
	Cores float64 `json:"cores"`
	Nodes int     `json:"nodes"` // of CoresPerNode each, at three quarters of their time
	// CoresPerNode is what a node is taken to have.
	CoresPerNode int `json:"cores_per_node"`
}

// Gate is Redis.
type Gate struct {
	// Load is the part of one core of Redis that is busy in the busiest second; above
	// 1 one Redis is not enough.
	Load    float64 `json:"load"`
	Servers int     `json:"servers"`
	// Megabytes of memory until clean-up.
	Megabytes int64 `json:"megabytes"`
}

// Log is PostgreSQL.
type Log struct {
	PurchasesPerSecond float64 `json:"purchases_per_s"`
	Megabytes          int64   `json:"megabytes"`
}

// Bus is the way from log to views.
type Bus struct {
	// Partitions of Kafka are the shards of the views, fixed in this version.
	Partitions int `json:"kafka_partitions"`
	// Projectors is how many processes bring the views up as fast as the log grows.
	Projectors int  `json:"projectors"`
	Kafka      bool `json:"kafka_needed"`
}

// Set is what to set, on each node.
type Set struct {
	LimitEndpoint  int64 `json:"SECKILL_LIMIT_ENDPOINT"`
	AdmissionCap   int64 `json:"SECKILL_ADMISSION_CAP"`
	AdmissionQueue int64 `json:"SECKILL_ADMISSION_QUEUE"`
	LimitPurchases int64 `json:"SECKILL_LIMIT_PURCHASES"`
}

// Seconds is when what is over, counted from the opening.
type Seconds struct {
	SoldOut   float64 `json:"sold_out"`
	Recorded  float64 `json:"recorded"`
	Projected float64 `json:"projected"`
	// Drain is from the last unit taken, or from the last buyer where some stay, until
	// all is in the views.
	Drain float64 `json:"drain"`
	// ReturnsFrom and ReturnsUntil is when units that nobody pays for go back on sale: the
	// first after the payment window, the last when every order was given up.
	ReturnsFrom  float64 `json:"returns_from"`
	ReturnsUntil float64 `json:"returns_until"`
}

const (
	coresPerNode = 4
	// busy is the part of a core that is planned to be used.
	busy = 0.75
	// eventsPerPurchase is what a placed purchase of one line adds to the log.
	eventsPerPurchase = 2
	// pollsPerBuyer is how often who has bought looks at the order until it is placed.
	pollsPerBuyer = 2
	micros        = 1e-6
)

// Make computes a plan; the wish must be valid.
func Make(w Wish, c Costs) Plan {
	if w.PaymentWindow == 0 {
		w.PaymentWindow = DefaultPaymentWindow
	}
	p := Plan{Wish: w, Costs: c.All()}
	p.PeakPerSecond = float64(w.Participants) * w.Share / w.Seconds
	p.SizedPerSecond = p.PeakPerSecond * w.Headroom
	p.Accepted = min(w.Stock, w.Participants)
	p.BusiestAccepted = math.Min(float64(p.Accepted), p.SizedPerSecond)
	p.Seconds.SoldOut = p.soldOut()
	p.gate(c)
	p.api(c)
	p.log(c)
	p.choose(c)
	p.Seconds.Drain = math.Max(p.Seconds.Projected-p.lastTaken(), 0)
	p.returns(c)
	p.wire(c)
	p.set()
	p.warn(c)
	return p
}

// soldOut is when the last unit is taken, 0 where it never is. Those who do not come
// in the peak are taken to come as long again after it.
func (p *Plan) soldOut() float64 {
	w := p.Wish
	inPeak := float64(w.Participants) * w.Share
	switch {
	case w.Stock > w.Participants:
		return 0
	case float64(w.Stock) <= inPeak:
		return float64(w.Stock) / inPeak * w.Seconds
	}
	rest := float64(w.Participants) - inPeak
	return w.Seconds + (float64(w.Stock)-inPeak)/rest*w.Seconds
}

// lastTaken is when the last unit is taken, or where some stay the last buyer has come.
func (p *Plan) lastTaken() float64 {
	if p.Seconds.SoldOut == 0 {
		return 2 * p.Wish.Seconds
	}
	return p.Seconds.SoldOut
}

// returns is when unpaid units come back: an order that expires is recorded as one
// that was placed, so all of them take as long to give up as they took to record.
func (p *Plan) returns(c Costs) {
	p.Seconds.ReturnsFrom = p.Wish.PaymentWindow
	lastDue := p.Seconds.Recorded + p.Wish.PaymentWindow
	p.Seconds.ReturnsUntil = math.Max(lastDue, p.Wish.PaymentWindow+float64(p.Accepted)/c.Recorded.Value)
}

func (p *Plan) gate(c Costs) {
	refused := p.SizedPerSecond - p.BusiestAccepted
	p.Gate.Load = (p.BusiestAccepted*c.GateAccepted.Value + refused*c.GateRefused.Value) * micros
	p.Gate.Servers = max(1, int(math.Ceil(p.Gate.Load/busy)))
	p.Gate.Megabytes = megabytes(float64(p.Accepted) * c.GateBytes.Value)
	// A bucket's purchases and looks go to one master: there are as many as masters.
	p.Buckets = min(p.Gate.Servers, domain.Lanes)
}

func (p *Plan) api(c Costs) {
	refused := p.SizedPerSecond - p.BusiestAccepted
	spent := p.BusiestAccepted*(c.APIAccepted.Value+pollsPerBuyer*c.APIPoll.Value) + refused*c.APIRefused.Value
	p.API.Cores = math.Round(spent*micros/busy*100) / 100
	p.API.CoresPerNode = coresPerNode
	p.API.Nodes = int(math.Ceil(p.API.Cores / coresPerNode))
	if p.API.Nodes < 2 {
		p.API.Nodes = 2 // one may die
	}
}

func (p *Plan) log(c Costs) {
	p.Log.PurchasesPerSecond = c.Recorded.Value
	p.Log.Megabytes = megabytes(float64(p.Accepted) * c.LogBytes.Value)
	recorded := float64(p.Accepted) / c.Recorded.Value
	p.Seconds.Recorded = math.Max(p.Seconds.SoldOut, recorded)
	projected := float64(p.Accepted) * eventsPerPurchase / c.Projected.Value
	p.Bus.Partitions = eventstore.DefaultShards
	p.Bus.Projectors = max(1, int(math.Ceil(math.Min(p.BusiestAccepted, c.Recorded.Value)*eventsPerPurchase/c.Projected.Value)))
	p.Bus.Kafka = p.Bus.Projectors > 1
	p.Seconds.Projected = math.Max(p.Seconds.Recorded, projected/float64(p.Bus.Projectors))
	// API nodes, a recorder and its stand-by, projectors, a scheduler.
	p.Conns = (p.API.Nodes + 2 + p.Bus.Projectors + 1) * int(c.NodeConns.Value)
}

// onTheWire is what TCP, IP, TLS and acknowledgements add to HTTP, as a factor.
const onTheWire = 1.3

func (p *Plan) wire(c Costs) {
	answers := p.SizedPerSecond + p.BusiestAccepted*pollsPerBuyer
	mbit := func(bytes float64) float64 { return math.Ceil(bytes*8*onTheWire/1e5) / 10 }
	p.Wire = Wire{IngressMbit: mbit(answers * c.RequestBytes.Value), EgressMbit: mbit(answers * c.AnswerBytes.Value)}
}

// Least bounds of what is set: the program's defaults.
const (
	leastCap   = 1024
	leastQueue = 2000
	queueWait  = 0.3 // seconds, SECKILL_QUEUE_TIMEOUT
)

func (p *Plan) set() {
	perNode := p.SizedPerSecond / float64(p.API.Nodes)
	p.Set = Set{
		LimitEndpoint:  int64(math.Ceil(perNode * 1.2)),
		AdmissionCap:   leastCap,
		AdmissionQueue: max(leastQueue, int64(math.Ceil(perNode*queueWait))),
		LimitPurchases: 5,
	}
}

func megabytes(bytes float64) int64 { return int64(math.Ceil(bytes / (1 << 20))) }

// Bounds beyond which a plan warns.
const (
	longRecording = 60.0 // seconds
	manyConns     = 100  // PostgreSQL's default
	muchMemory    = 16 << 10
)

func (p *Plan) warn(c Costs) {
	p.Warnings = []string{}
	say := func(when bool, format string, args ...any) {
		if when {
			p.Warnings = append(p.Warnings, fmt.Sprintf(format, args...))
		}
	}
	say(p.Wish.Stock > p.Wish.Participants, "There are more units than people: %d of them stay unsold.", p.Wish.Stock-p.Wish.Participants)
	say(p.Strategy != strategyDirect && p.Gate.Load > busy,
		"One Redis is not enough: its core would be %.0f %% busy in the busiest second. Take a Redis Cluster of at least %d masters and %d buckets; a bucket lives on one master.", 100*p.Gate.Load, p.Gate.Servers, p.Buckets)
	say(p.Gate.Servers > domain.Lanes, "The gate of one event store spreads over %d lanes at most, and %d masters would be needed: offer several items, or several sales.", domain.Lanes, p.Gate.Servers)
	say(p.Strategy != strategyDirect && p.Gate.Megabytes > muchMemory, "The gate keeps %d MB until clean-up: give Redis twice as much, since it copies while it rewrites its append-only file.", p.Gate.Megabytes)
	say(p.Seconds.Recorded-p.Seconds.SoldOut > longRecording,
		"One PostgreSQL records %.0f purchases a second: the last buyer hears after %.0f s that the order is placed. Spread the stock over several sales on several databases, or let buyers wait.", c.Recorded.Value, p.Seconds.Recorded)
	say(p.Conns > manyConns, "The nodes open up to %d connections to PostgreSQL, more than its default of %d: raise max_connections.", p.Conns, manyConns)
	say(p.SizedPerSecond > 1e6, "A million requests a second and more were never measured here: these figures only multiply what one core does.")
}
