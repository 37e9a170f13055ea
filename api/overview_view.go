package api

import "time"

// Overview is the five things to watch, as one node sees them, and what belongs to
// them. Purchases and the process are those of the node that answers; everything else is
// of the whole installation. A part whose store does not answer says since when, and
// leaves its numbers out.
type Overview struct {
	Node      string             `json:"node" doc:"Which process answers"`
	At        time.Time          `json:"at" doc:"When this was put together, by the clock of the node"`
	Purchases OverviewPurchases  `json:"purchases" doc:"Of the node that answers"`
	Redis     OverviewRedis      `json:"redis"`
	Backlog   []OverviewStage    `json:"backlog" nullable:"false" doc:"From the gate to the views: the journal, the relay, then each projection"`
	Postgres  []OverviewPostgres `json:"postgres" nullable:"false" doc:"The database of the log; where sales lie on several, each"`
	Process   OverviewProcess    `json:"process" doc:"Of the node that answers"`
	Sales     OverviewSales      `json:"sales"`
	Drift     OverviewDrift      `json:"drift"`
}

// OverviewSeen says how fresh a part is.
type OverviewSeen struct {
	At           *time.Time `json:"at,omitempty" doc:"When its numbers were seen; left out where they never were, or are unknown"`
	UnknownSince *time.Time `json:"unknown_since,omitempty" doc:"Left out while the part is known. Else nothing answered since then, and the part's numbers are left out"`
}

// OverviewPurchases is how purchases of a node were answered.
type OverviewPurchases struct {
	WindowSeconds   float64           `json:"window_seconds" doc:"The time that answered, failed and success_rate are of: 60, less after a start"`
	Answered        int64             `json:"answered" doc:"Purchases answered in it"`
	Failed          int64             `json:"failed" doc:"Of them, those that were told busy, not_ready or internal: neither accepted nor refused for a reason that the sale has. A refusal such as sold_out is a success"`
	SuccessRate     *float64          `json:"success_rate,omitempty" doc:"1 - failed / answered; left out where nothing was answered"`
	Baseline        *OverviewBaseline `json:"baseline,omitempty" doc:"Left out where no rehearsal recorded one: then 1 is taken"`
	ShareOfBaseline *float64          `json:"share_of_baseline,omitempty" doc:"success_rate / baseline"`
	Alarm           bool              `json:"alarm" doc:"The share is under 0.8, of 20 purchases or more"`
	PerSecond       OverviewPerSecond `json:"per_second" doc:"Over the last 10 seconds"`
}

// OverviewBaseline is the success rate that a rehearsal reached.
type OverviewBaseline struct {
	Rate     float64    `json:"rate" doc:"0 to 1"`
	At       *time.Time `json:"at,omitempty" doc:"When it was recorded; left out for one that is a setting"`
	Scenario string     `json:"scenario,omitempty" doc:"Of the rehearsal"`
}

// OverviewPerSecond is what purchases were told, a second.
type OverviewPerSecond struct {
	Reserved float64 `json:"reserved" doc:"Accepted"`
	SoldOut  float64 `json:"sold_out"`
	Limit    float64 `json:"limit" doc:"Over the limit per buyer, of units or of attempts"`
	Early    float64 `json:"early"`
	Repeat   float64 `json:"repeat" doc:"Told of the order that the buyer has"`
	Other    float64 `json:"other" doc:"Refused for another reason that the sale or the request has"`
	Errors   float64 `json:"errors" doc:"What failed counts"`
}

// OverviewRedis is the gate's Redis.
type OverviewRedis struct {
	OverviewSeen
	Servers       []OverviewServer `json:"servers" nullable:"false" doc:"One for each process that holds lanes; none while unknown"`
	SlowPerMinute *float64         `json:"slow_per_minute,omitempty" doc:"Commands that came to the slow log in the last minute; left out where no server tells"`
	Slow          []OverviewSlow   `json:"slow" nullable:"false" doc:"The newest of them, at most 20, of the last ten minutes"`
	Pools         []OverviewPool   `json:"pools" nullable:"false" doc:"Of the node that answers; always known"`
}

// OverviewServer is one Redis process.
type OverviewServer struct {
	Server           string     `json:"server" doc:"Its address, without a password"`
	UnknownSince     *time.Time `json:"unknown_since,omitempty" doc:"Left out while it answers. Else its numbers are left out"`
	ConnectedClients *int64     `json:"connected_clients,omitempty"`
	BlockedClients   *int64     `json:"blocked_clients,omitempty" doc:"Waiting in a command such as a blocking read; the recorder's are among them"`
	MaxClients       int64      `json:"max_clients,omitempty" doc:"0 or left out: not told"`
	SlowLogLength    *int64     `json:"slow_log_length,omitempty"`
	SlowLogHidden    bool       `json:"slow_log_hidden,omitempty" doc:"This server does not show its slow log: the command is forbidden to the gate's user, or there is none"`
}

// OverviewSlow is a command of a slow log: without its arguments, which name buyers.
type OverviewSlow struct {
	Server  string    `json:"server"`
	At      time.Time `json:"at" doc:"By the server's clock, in whole seconds"`
	Seconds float64   `json:"seconds"`
	Command string    `json:"command" doc:"Its name; of a script of the gate that of the script" example:"EVALSHA reserve"`
}

// OverviewPool is a pool of connections.
type OverviewPool struct {
	Pool          string  `json:"pool" enum:"postgres_sale,postgres,redis_sale,redis,redis_limits,redis_tickets"`
	InUse         int     `json:"in_use"`
	Idle          int     `json:"idle"`
	WaitPerSecond float64 `json:"wait_per_second" doc:"Seconds that everybody together waited for a connection, a second, over the last 10 seconds: 1 is one who waits all the time"`
}

// OverviewStage is what waits at one stage on the way of a purchase into the views.
type OverviewStage struct {
	OverviewSeen
	Database        string   `json:"database,omitempty" doc:"Its name, where sales lie on several"`
	Stage           string   `json:"stage" doc:"journal, relay, or the name of a projection"`
	Unit            string   `json:"unit" enum:"entries,events" doc:"What waiting and growth are counted in; an entry of the journal may hold many purchases"`
	Waiting         *int64   `json:"waiting,omitempty" doc:"How many wait; of a projection, behind its slowest shard"`
	AtMost          bool     `json:"at_most,omitempty" doc:"PostgreSQL does not tell what it recorded: counted from the last that was known, so no more than this"`
	Orders          *int64   `json:"orders,omitempty" doc:"Of the journal: accepted purchases that the log has not decided; estimated where many entries wait"`
	GrowthPerSecond *float64 `json:"growth_per_second,omitempty" doc:"How much waiting grew a second, over the last 10 seconds; below 0 it shrinks. Left out until two seconds are known"`
	LagSeconds      *float64 `json:"lag_seconds,omitempty" doc:"Age of the oldest that waits; not of the relay"`
	Parked          *int     `json:"parked,omitempty" doc:"Of a projection: sequences set aside in the dead letters"`
	ParkedSeconds   *float64 `json:"parked_seconds,omitempty" doc:"For how long the oldest of them"`
}

// OverviewPostgres is the database of the log.
type OverviewPostgres struct {
	OverviewSeen
	Database                 string              `json:"database,omitempty" doc:"Its name, where sales lie on several"`
	Connections              *OverviewSessions   `json:"connections,omitempty"`
	SlowOverSeconds          float64             `json:"slow_over_seconds" doc:"What runs longer is a slow statement"`
	SlowStatements           *int                `json:"slow_statements,omitempty" doc:"Running now"`
	OldestTransactionSeconds *float64            `json:"oldest_transaction_seconds,omitempty" doc:"0: none is open"`
	Statements               []OverviewStatement `json:"statements" nullable:"false" doc:"The slowest of those that run now, at most 10"`
	Pools                    []OverviewPool      `json:"pools" nullable:"false" doc:"Of the node that answers; always known"`
}

// OverviewSessions counts the sessions of clients by what they do, of this database,
// whoever's they are.
type OverviewSessions struct {
	Active            int `json:"active"`
	Idle              int `json:"idle"`
	IdleInTransaction int `json:"idle_in_transaction"`
	Other             int `json:"other"`
	WaitingForLocks   int `json:"waiting_for_locks" doc:"Of the active ones; those that wait for their turn to write to the log are among them"`
	Max               int `json:"max" doc:"max_connections of the server, of all databases"`
}

// OverviewStatement is a statement that runs.
type OverviewStatement struct {
	PID         int     `json:"pid"`
	Application string  `json:"application"`
	Seconds     float64 `json:"seconds"`
	Wait        string  `json:"wait,omitempty" doc:"What it waits for, as PostgreSQL names it" example:"Lock:advisory"`
	Query       string  `json:"query,omitempty" doc:"Its beginning; the program's own have no values in them. Left out where the server hides it"`
}

// OverviewProcess is the Go runtime of a node.
type OverviewProcess struct {
	Goroutines            int     `json:"goroutines"`
	HeapBytes             uint64  `json:"heap_bytes" doc:"Live objects, and those not yet swept"`
	HeapGoalBytes         uint64  `json:"heap_goal_bytes" doc:"At which the next collection ends"`
	GCPerMinute           float64 `json:"gc_per_minute"`
	GCPauseP99Seconds     float64 `json:"gc_pause_p99_seconds" doc:"Of the pauses of the last minute, each rounded up by at most a fifth; 0: none"`
	GCPauseLongestSeconds float64 `json:"gc_pause_longest_seconds"`
	GCCPUShare            float64 `json:"gc_cpu_share" doc:"Of the processor time that the process may use, over the last minute; 0 to 1"`
}

// OverviewSales is what is sold now, and next.
type OverviewSales struct {
	OverviewSeen
	Sales []OverviewSale `json:"sales" nullable:"false" doc:"Open, paused and scheduled ones, those first that opened last, at most 10"`
	More  int            `json:"more" doc:"How many more there are"`
}

// OverviewSale is a sale with its clock and what is left of it.
type OverviewSale struct {
	ID       string         `json:"id"`
	Title    string         `json:"title"`
	State    string         `json:"state" enum:"scheduled,open,paused"`
	Pauses   []string       `json:"pauses" nullable:"false" doc:"Why it is paused: operator, drift, acknowledgement, recovery"`
	OpensAt  time.Time      `json:"opens_at"`
	ClosesAt time.Time      `json:"closes_at"`
	Items    []OverviewItem `json:"items" nullable:"false"`
}

// OverviewItem is what is left of an item.
type OverviewItem struct {
	SKU      string `json:"sku"`
	Left     *int64 `json:"left,omitempty" doc:"What may still be sold; left out where nobody could say"`
	By       string `json:"by,omitempty" enum:"gate,log" doc:"Who says so"`
	Released *int64 `json:"released,omitempty" doc:"What was ever put on sale, by the log"`
	Taken    *int64 `json:"taken,omitempty" doc:"Out of it, by the log: live orders, and units taken off sale"`
}

// OverviewDrift is what reconciliations found.
type OverviewDrift struct {
	OverviewSeen
	PausedSales []string       `json:"paused_sales" nullable:"false" doc:"Sales that are paused because their books disagree, whoever found it"`
	CheckedAt   *time.Time     `json:"checked_at,omitempty" doc:"When this node compared all books last; left out where another node does"`
	Findings    map[string]int `json:"findings,omitempty" doc:"What it found then, by kind; none: nothing"`
	NotCompared *int           `json:"not_compared,omitempty" doc:"Sales that it could not compare"`
}
