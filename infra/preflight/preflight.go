package preflight

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/redis/go-redis/v9"

	"seckill/commands"
	"seckill/domain"
	"seckill/infra/bus"
	"seckill/infra/config"
	"seckill/infra/plan"
	"seckill/projections"
)

// State is what a row says.
type State string

// States, from good to bad.
const (
	OK       State = "ok"
	NotKnown State = "not known"
	Warning  State = "warning"
	NoGo     State = "no-go"
)

// Row is one thing that was looked at.
type Row struct {
	// Check is a stable name, such as redis.policy.
	Check string `json:"check"`
	State State  `json:"state"`
	Seen  string `json:"seen"`
	Want  string `json:"wanted"`
	// Do is what to do, "" where nothing is.
	Do string `json:"do,omitempty"`
}

// Report is all rows. Go: none of them is a no-go.
type Report struct {
	Sale    string    `json:"sale_id"`
	At      time.Time `json:"at"`
	Winners int64     `json:"winners"`
	Go      bool      `json:"go"`
	Reasons []string  `json:"reasons"`
	Rows    []Row     `json:"checks"`
}

// RedisServer is one server that holds keys of the gate.
type RedisServer struct {
	Name   string
	Client redis.UniversalClient
}

// Views is where the projections and the relay stand.
type Views func(context.Context) (projections.Stats, error)

// Site is what is looked at. What is nil cannot be seen.
type Site struct {
	Settings config.Settings
	Costs    plan.Costs
	Now      func() time.Time
	// Buyers that come; 0: as many as there are units. Processes that serve; 0: as many
	// as are connected now.
	Buyers    int64
	Processes int
	// Private: the stores are this machine's own, in the data folder.
	Private bool

	DB    *pgxpool.Pool
	Redis []RedisServer
	Nodes []string // addresses of API nodes, to be asked whether they are ready
	// Near is where a node of this machine would serve; it is asked where Nodes is empty,
	// and that nothing of ours answers there is not known and no fault.
	Near   string
	SaleID string
	Sale   *domain.Sale

	Preheat  func(context.Context) (commands.PreheatReport, error)
	Strength func(context.Context, domain.Sale) (string, error)
	Views    Views
	// Lead tells whether somebody leads a task, Leads which there are.
	Lead  func(ctx context.Context, task string) (bool, error)
	Leads []string
	// Recorded is how many of so many groups of lanes have a recorder.
	Recorded func(context.Context) (held, of int, err error)
	Switches func() []commands.SwitchState
	Keys     func(context.Context) error
	Tickets  func(context.Context) (commands.BookState, error)
	Kafka    func(context.Context) (bus.TopicState, error)
	// Page is the version of the buyer page now, PageURL where it lies for buyers.
	Page    string
	PageURL string
}

// winners is how many orders are expected; false where that is not known.
func (s *Site) winners() (int64, bool) {
	if s.Sale == nil {
		return s.Buyers, s.Buyers > 0
	}
	var units int64
	for _, item := range s.Sale.Terms.Items {
		units += item.Stock
		for _, tranche := range item.Release {
			units += tranche.Quantity
		}
	}
	if s.Buyers > 0 {
		units = min(units, s.Buyers)
	}
	return units, true
}

// checkWithin bounds one check: a server that does not answer holds up nobody.
const checkWithin = 10 * time.Second

// Run looks at everything, one after the other.
func Run(ctx context.Context, s *Site) Report {
	winners, _ := s.winners()
	r := Report{Sale: s.SaleID, At: s.Now(), Winners: winners, Go: true, Reasons: []string{}, Rows: []Row{}}
	for _, check := range checks() {
		within, cancel := context.WithTimeout(ctx, checkWithin)
		r.Rows = append(r.Rows, check(within, s)...)
		cancel()
	}
	r.judge()
	return r
}

// Add takes rows in from elsewhere, in front of all others.
func (r *Report) Add(rows ...Row) {
	r.Rows = append(append([]Row{}, rows...), r.Rows...)
	r.judge()
}

func (r *Report) judge() {
	r.Go, r.Reasons = true, []string{}
	for _, row := range r.Rows {
		if row.State == NoGo {
			r.Go = false
			r.Reasons = append(r.Reasons, row.Check+": "+row.Seen)
		}
	}
}

// row makes a row of a check.
func row(check string, state State, seen, want, do string) Row {
	if state == OK {
		do = ""
	}
	return Row{Check: check, State: state, Seen: seen, Want: want, Do: do}
}

// unseen is the row of what could not be looked at.
func unseen(check, want string, why error) Row {
	seen := "cannot be seen from here"
	if why != nil {
		seen = "could not be asked: " + why.Error()
	}
	return Row{Check: check, State: NotKnown, Seen: seen, Want: want}
}

// unless is OK where good, and bad else.
func unless(good bool, bad State) State {
	if good {
		return OK
	}
	return bad
}

// size says bytes for people.
func size(bytes int64) string {
	switch {
	case bytes >= 10<<30:
		return fmt.Sprintf("%d GB", bytes>>30)
	case bytes >= 10<<20:
		return fmt.Sprintf("%d MB", bytes>>20)
	}
	return fmt.Sprintf("%d kB", bytes>>10)
}
