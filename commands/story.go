package commands

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"seckill/domain"
	"seckill/eventstore"
)

// StoryAsk asks for the story of purchases. As is what ID names: "order", "buyer" or
// "trace"; "": what it looks like. Sale narrows a buyer's story to one sale. Limit is how
// many purchases of a buyer are told, 1 to 100 (20).
type StoryAsk struct {
	ID, As, Sale string
	Limit        int
}

// What the id of a story can name.
const (
	StoryOfOrder = "order"
	StoryOfBuyer = "buyer"
	StoryOfTrace = "trace"
)

// Story is what gate, log and views say of purchases, the newest first. It is read
// from them as they are; nothing else need have been running.
type Story struct {
	ID        string          `json:"id" doc:"As it was asked for"`
	As        string          `json:"as" enum:"order,buyer,trace" doc:"What the id was taken for"`
	ReadAt    time.Time       `json:"read_at"`
	Head      int64           `json:"head" doc:"Position of the newest event of the log"`
	Purchases []PurchaseStory `json:"purchases" nullable:"false"`
	More      int             `json:"more,omitempty" doc:"So many older purchases of the buyer are not told"`
	Sales     int             `json:"sales,omitempty" doc:"With a buyer: how many sales were looked through"`
	Unasked   []string        `json:"unasked,omitempty" nullable:"false" doc:"What could not be asked, and why: the story is without it"`
}

// PurchaseStory is everything that is known of one purchase.
type PurchaseStory struct {
	OrderID  string      `json:"order_id"`
	SaleID   string      `json:"sale_id"`
	BuyerID  string      `json:"buyer_id,omitempty"`
	TraceID  string      `json:"trace_id,omitempty" doc:"Of the purchase: the X-Trace-Id of its answer"`
	Status   string      `json:"status" enum:"queued,placed,paid,cancelled,expired,rejected,unknown" doc:"As the log has it; queued: only the gate has it; unknown: nobody asked has it"`
	Reason   string      `json:"reason,omitempty"`
	Lines    []StoryLine `json:"lines" nullable:"false"`
	Amount   string      `json:"amount,omitempty"`
	Currency string      `json:"currency,omitempty"`
	Node     string      `json:"node,omitempty" doc:"The process that took it from its buyer"`
	Entry    string      `json:"entry,omitempty" doc:"Where the journal of the gate holds it: epoch-entry.place"`
	Bucket   int         `json:"bucket"`
	Lane     int         `json:"lane"`
	Gate     StoryGateIs `json:"gate"`
	Log      StoryLogIs  `json:"log"`
	Views    []StoryView `json:"views" nullable:"false"`
	Steps    []StoryStep `json:"steps" nullable:"false"`
	Doubts   []string    `json:"doubts,omitempty" nullable:"false" doc:"Where gate, log and views do not say the same"`
}

// StoryLine is what was bought of one item; Price is "" where it is not known.
type StoryLine struct {
	SKU      string `json:"sku"`
	Quantity int64  `json:"quantity"`
	Price    string `json:"price,omitempty"`
}

// StoryGateIs is how the gate has an order now.
type StoryGateIs struct {
	State string `json:"state" enum:"accepted,ended,tombstone,refused,unknown,unresolved,none,away" doc:"none: the sale has no gate (strategy postgres); unresolved: its lane is not open; unknown: it never saw it, or cleaned it up"`
	Epoch int64  `json:"epoch,omitempty" doc:"Of its lane, now"`
	Entry string `json:"entry,omitempty"`
	// Journal tells whether the journal still holds the entry.
	Journal bool `json:"journal"`
}

// StoryLogIs is how the log has an order: its stream.
type StoryLogIs struct {
	Version  int64  `json:"version" doc:"0: the log has not decided it"`
	Position int64  `json:"position,omitempty" doc:"Of the newest event of the order"`
	Status   string `json:"status,omitempty"`
}

// StoryView is how far a view is with the events of an order.
type StoryView struct {
	Name     string `json:"name" doc:"A view, or relay: whoever publishes the log"`
	Has      bool   `json:"has" doc:"It has the newest event of the order"`
	Position int64  `json:"position" doc:"How far it is in the log"`
	// AppliedAt is when it came to Position: it had the order then at the latest.
	AppliedAt *time.Time `json:"applied_at,omitempty" doc:"When it came to that position: it had the order then at the latest"`
	// ChangedAt is when its row of the order was written, where the database keeps that.
	ChangedAt *time.Time `json:"changed_at,omitempty" doc:"When its row of the order was last written; known where PostgreSQL has track_commit_timestamp on"`
	Status    string     `json:"status,omitempty" doc:"What its row says"`
	Version   int64      `json:"version,omitempty"`
	Parked    string     `json:"parked,omitempty" doc:"Why events of this order are set aside"`
}

// StoryStep is one thing that happened to a purchase.
type StoryStep struct {
	At      time.Time `json:"at"`
	Clock   string    `json:"clock" enum:"gate,log,view" doc:"Whose clock at is of: times of different clocks can be some milliseconds apart"`
	AfterUS int64     `json:"after_us" doc:"Microseconds after the step before; negative where clocks differ"`
	Says    string    `json:"says" doc:"What happened, a sentence"`
	Type    string    `json:"type,omitempty"`
	// Position, Stream and Version are those of an event.
	Position int64  `json:"position,omitempty"`
	Stream   string `json:"stream,omitempty"`
	Version  int64  `json:"version,omitempty"`
	By       string `json:"by,omitempty" doc:"Who did it"`
	TraceID  string `json:"trace_id,omitempty" doc:"Of the request that did it"`
	Entry    string `json:"entry,omitempty"`
	Payload  any    `json:"payload,omitempty"`
}

// StoryLog is what a story reads of the log.
type StoryLog interface {
	SaleStore
	ClaimsOf(ctx context.Context, key eventstore.ClaimKey) ([]eventstore.Claim, error)
}

// StoryViews is what a story asks the read models.
type StoryViews interface {
	// Standing gives the relay and every view, how far each is with an order.
	Standing(ctx context.Context, order string) ([]StoryView, error)
	// OfTrace gives the orders whose purchase had a trace id, and up to which position of
	// the log it knows that.
	OfTrace(ctx context.Context, trace string) (orders []string, known int64, err error)
	// OfBuyer gives the orders of a buyer in some sales, the newest first.
	OfBuyer(ctx context.Context, sales []string, buyer string) ([]string, error)
}

// StoryGate is what a story asks the gate.
type StoryGate interface {
	Order(ctx context.Context, ref domain.OrderRef) (GateOrder, error)
	Entry(ctx context.Context, lane int, id domain.EntryID) (e JournalEntry, ok bool, err error)
}

// Teller tells stories of purchases. It only reads. Gate may be nil: it is not asked then.
type Teller struct {
	Env   *Env
	Sales *Sales
	Log   StoryLog
	Views StoryViews
	Gate  StoryGate
	// GateAway says why there is no Gate.
	GateAway error
}

// Bounds of a story: purchases of a buyer, time for the gate and the views, and the part
// of the log that the views do not have yet in which a trace id is looked for.
const (
	storyPurchases = 20
	storyMost      = 100
	storyBudget    = 2 * time.Second
	storyTail      = 20_000
)

// Tell tells the story of an order, of a buyer's purchases, or of the purchase with a
// trace id. An order that nobody knows is a *domain.Problem order_not_found; a buyer or a
// trace without purchases is an empty story. What a gate or view that is away would say is
// left out and named in Unasked; without the log there is no story.
func (t *Teller) Tell(ctx context.Context, ask StoryAsk) (Story, error) {
	ask, err := ask.checked()
	if err != nil {
		return Story{}, err
	}
	s := Story{ID: ask.ID, As: ask.As, ReadAt: t.Env.Now().UTC(), Purchases: []PurchaseStory{}}
	head, err := t.Log.Head(ctx)
	if err != nil {
		return s, fmt.Errorf("read the head of the log: %w", err)
	}
	s.Head = head.Number
	if t.Gate == nil && t.GateAway != nil {
		s.unasked("gate", t.GateAway)
	}
	orders, err := t.orders(ctx, ask, &s)
	if err != nil {
		return s, err
	}
	for _, id := range orders {
		p, known, err := t.purchase(ctx, id, &s)
		if err != nil {
			return s, err
		}
		if !known && ask.As == StoryOfOrder {
			return s, &domain.Problem{Code: domain.CodeOrderNotFound}
		}
		s.Purchases = append(s.Purchases, p)
	}
	return s, nil
}

// orders finds what is asked for, the newest first.
func (t *Teller) orders(ctx context.Context, ask StoryAsk, s *Story) ([]string, error) {
	switch ask.As {
	case StoryOfBuyer:
		return t.ofBuyer(ctx, ask, s)
	case StoryOfTrace:
		return t.ofTrace(ctx, ask.ID, s)
	}
	return []string{ask.ID}, nil
}

// checked gives a question as it is meant.
func (a StoryAsk) checked() (StoryAsk, error) {
	if a.As == "" {
		a.As = StoryOfBuyer
		if _, err := domain.ParseOrderID(a.ID); err == nil {
			a.As = StoryOfOrder
		} else if isTraceID(a.ID) {
			a.As = StoryOfTrace
		}
	}
	bad := func(field, reason string) error {
		return domain.Invalid(domain.FieldError{Field: field, Reason: reason})
	}
	switch a.As {
	case StoryOfOrder:
		if _, err := domain.ParseOrderID(a.ID); err != nil {
			return a, &domain.Problem{Code: domain.CodeOrderNotFound}
		}
	case StoryOfTrace:
		if !isTraceID(a.ID) {
			return a, bad("id", "want a trace id: 32 hexadecimal digits")
		}
	case StoryOfBuyer:
		if !domain.ValidBuyer(a.ID) {
			return a, bad("id", "want an order id, a trace id, or a buyer: 1 to 128 visible ASCII characters")
		}
	default:
		return a, bad("as", "want one of order, buyer, trace")
	}
	if a.Sale != "" {
		if _, err := domain.ParseSaleID(a.Sale); err != nil {
			return a, &domain.Problem{Code: domain.CodeSaleNotFound}
		}
	}
	if a.Limit == 0 {
		a.Limit = storyPurchases
	}
	if a.Limit < 1 || a.Limit > storyMost {
		return a, bad("limit", fmt.Sprintf("want 1 to %d", storyMost))
	}
	return a, nil
}

func isTraceID(s string) bool {
	for _, c := range s {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return len(s) == 32
}

// unasked notes that the story is without something, once.
func (s *Story) unasked(what string, err error) {
	note := what + ": " + err.Error()
	if errors.Is(err, context.DeadlineExceeded) {
		note = what + ": did not answer in time"
	}
	if !slices.Contains(s.Unasked, note) {
		s.Unasked = append(s.Unasked, note)
	}
}
