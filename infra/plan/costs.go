package plan

// Cost is what one thing costs or how much of it one unit does in a second.
type Cost struct {
	Key     string  `json:"key"` // in measurements
	Name    string  `json:"name"`
	Value   float64 `json:"value"`
	Unit    string  `json:"unit"`
	Command string  `json:"command"` // that measures it
}

// Costs is the table of unit costs. Microseconds are processor time of one core.
type Costs struct {
	// APIRefused and APIAccepted are what a refused and an accepted purchase cost a node
	// that serves HTTP; APIPoll one look at an order.
	APIRefused, APIAccepted, APIPoll Cost
	// GateAccepted and GateRefused are what they cost Redis, many in a call and by a
	// look that many share.
	GateAccepted, GateRefused Cost
	// GateBytes is what an order takes in Redis until clean-up.
	GateBytes Cost
	// Recorded is how many purchases a second one PostgreSQL takes into the log.
	Recorded Cost
	// Projected is how many events a second relay and projections of one process apply;
	// a placed purchase is two.
	Projected Cost
	// Direct is how many purchases a second the strategy postgres places; who finds
	// nothing left shares looks, and costs it little.
	Direct Cost
	// LogBytes is what a purchase takes in PostgreSQL, indexes and views included.
	LogBytes Cost
	// NodeConns is how many connections to PostgreSQL a process opens at most.
	NodeConns Cost
	// RequestBytes and AnswerBytes are a purchase and the answer to it as HTTP, head
	// included.
	RequestBytes, AnswerBytes Cost
}

// Keys of the costs, as measurements store them.
const (
	KeyAPIRefused   = "api_refused_us"
	KeyAPIAccepted  = "api_accepted_us"
	KeyAPIPoll      = "api_poll_us"
	KeyGateAccepted = "gate_accepted_us"
	KeyGateRefused  = "gate_refused_us"
	KeyGateBytes    = "gate_order_bytes"
	KeyRecorded     = "recorded_per_s"
	KeyProjected    = "projected_events_per_s"
	KeyDirect       = "direct_per_s"
	KeyLogBytes     = "log_purchase_bytes"
	KeyNodeConns    = "node_connections"
	KeyRequestBytes = "request_bytes"
	KeyAnswerBytes  = "answer_bytes"
)

// Measured gives the figures of docs/scaling.md, taken on two cores of a virtual machine
// that also carried the load, PostgreSQL and Redis.
func Measured() Costs {
	return Costs{
		APIRefused:   Cost{KeyAPIRefused, "a refused purchase, HTTP to the answer", 33.6, "µs of an API core", "make refusals"},
		APIAccepted:  Cost{KeyAPIAccepted, "an accepted purchase, HTTP to the answer", 35.5, "µs of an API core", "make refusals, times the ratio of go test ./api -run '^$' -bench 'Purchase|Refused'"},
		APIPoll:      Cost{KeyAPIPoll, "a look at an order", 33.6, "µs of an API core", "taken to be that of a refusal"},
		GateAccepted: Cost{KeyGateAccepted, "a reservation in the gate, 128 in a call", 8.5, "µs of Redis", "go test ./infra/redisgate -run '^$' -bench Reserve -benchtime 200000x"},
		GateRefused:  Cost{KeyGateRefused, "a sold-out answer by a shared look", 0.5, "µs of Redis", "go test ./infra/redisgate -run '^$' -bench SoldOutLook -benchtime 300000x"},
		GateBytes:    Cost{KeyGateBytes, "an order in the gate and its journal, until clean-up", 600, "bytes of Redis", "make bench-sales"},
		Recorded:     Cost{KeyRecorded, "purchases recorded", 24_000, "a second on one PostgreSQL", "go test ./eventstore/pgstore -run '^$' -bench Purchases -benchtime 30000x"},
		Projected:    Cost{KeyProjected, "events relayed and projected", 36_000, "a second in one process", "go test ./projections -run '^$' -bench RelayToProjections"},
		Direct:       Cost{KeyDirect, "purchases placed by the strategy postgres", 3_000, "a second on one PostgreSQL; from a busy machine", "make bench-strategies"},
		LogBytes:     Cost{KeyLogBytes, "a purchase in the log and the views, with indexes", 3500, "bytes of PostgreSQL", "make bench-sales"},
		NodeConns:    Cost{KeyNodeConns, "connections of a process", 27, "connections to PostgreSQL", "seckill_pool metrics; 16 + 8 for questions, 3 that append"},
		RequestBytes: Cost{KeyRequestBytes, "a purchase as HTTP, with its token", 370, "bytes", "seckill bench unit"},
		AnswerBytes:  Cost{KeyAnswerBytes, "the answer to it as HTTP", 560, "bytes", "seckill bench unit"},
	}
}

// All lists the table in its order.
func (c Costs) All() []Cost {
	var all []Cost
	for _, cost := range c.each() {
		all = append(all, *cost)
	}
	return all
}

func (c *Costs) each() []*Cost {
	return []*Cost{&c.APIRefused, &c.APIAccepted, &c.APIPoll, &c.GateAccepted, &c.GateRefused, &c.GateBytes, &c.Recorded, &c.Projected,
		&c.Direct, &c.LogBytes, &c.NodeConns, &c.RequestBytes, &c.AnswerBytes}
}
