package commands

import (
	"context"
	"errors"
	"time"

	"seckill/domain"
	"seckill/eventstore"
)

// Reservation asks the gate for units. All lines are judged together: all or
// nothing.
type Reservation struct {
	Order string
	Buyer string
	Place domain.Place
	Lines []domain.Line // 1 to domain.MaxLines, a SKU once, quantities 1 to domain.MaxQuantity
	// Items lists every SKU of the sale: the limit is judged over all of them.
	Items []string
	// Key and BodyHash are hexadecimal digests of the idempotency key (with its
	// buyer and route) and of the request body, "" without a key.
	Key      string
	BodyHash string
	// Eligible is the caller's answer; the gate only keeps its place in the order
	// of judgement.
	Eligible bool
	// Unsure: whether the buyer is eligible is not known now, and Eligible is false so
	// that an owner meets the own order. No gate looks at it.
	Unsure bool
	// Ticket is the id of a good ticket, hexadecimal, "" without one: the gate takes
	// it once, with the purchase it accepts, and answers TicketInvalid afterwards
	// unless the log refused that purchase. TicketFault is TicketRequired or
	// TicketInvalid where the caller knows that the ticket will not do, else 0.
	Ticket      string
	TicketFault domain.Outcome
	// Promised, above 0, says that the gate accepted this very order before, and forgot
	// it. Then it does not matter that the sale is over, or who may buy now; a pause of
	// a sale that goes on is waited for; and the limit is at least this one.
	Promised int64
	TraceID  string
	// Node is the process that asks for its buyer, "" where it has no name.
	Node string
	// Strength is how surely the gate is to keep the purchase before it answers, as
	// the terms of the sale have it. No judgement looks at it.
	Strength domain.Acknowledgement
}

// Verdict is the gate's answer. A business "no" is a verdict, never an error.
type Verdict struct {
	Outcome domain.Outcome
	// Order is the order the verdict is about: the own one when it was reserved,
	// the known one for SameOrder, Repeat and KeyMismatch.
	Order string
	// Entry is where the journal holds the purchase (Reserved; SameOrder when known).
	Entry domain.EntryID
	// Weak: the purchase was accepted, but it is not certain that the gate keeps it as
	// strongly as Strength asked. The outcome stands; the log alone is stronger.
	Weak bool
	// Now is the gate's clock; OpensAt is set with TooEarly.
	Now     time.Time
	OpensAt time.Time
	// Epoch and Next are where the journal of the lane stood: see GateMoment. Zero where
	// there is none.
	Epoch, Next int64
	// Placed is the order as the log has it, where accepting and recording were one
	// step (Reserved); else nil.
	Placed *OrderAnswer
}

func (v *Verdict) moment(bucket int) GateMoment {
	if v.Epoch == 0 { // there is no lane
		return GateMoment{At: v.Now}
	}
	return GateMoment{At: v.Now, Epoch: v.Epoch, Next: v.Next, Bucket: bucket}
}

// Gate decides who gets a unit. Implementations: infra/redisgate, infra/memgate;
// gatetest is their contract.
type Gate interface {
	// Reserve judges and takes in one step, and writes every yes into the
	// journal of the lane in that same step. Asking again with the same order id
	// gives the first answer. Errors are *GateError.
	Reserve(ctx context.Context, r Reservation) (Verdict, error)
	// Resolve finds out what became of an order, and leaves a tombstone when the
	// gate does not know it, so that it can never be accepted later. It does so
	// only where the lane and the sale's record are open on the process they were
	// opened on; otherwise the state is OrderUnresolved.
	Resolve(ctx context.Context, ref domain.OrderRef, buyer string) (Resolution, error)
	// Order looks an order up and changes nothing.
	Order(ctx context.Context, ref domain.OrderRef) (GateOrder, error)
}

// Resolution is what Resolve found. Epoch is the lane's at that moment.
type Resolution struct {
	State GateOrderState
	Epoch int64
	Entry domain.EntryID
}

// GateOrderState is what a gate knows of an order.
type GateOrderState int

// States of an order in the gate.
const (
	// OrderUnresolved: the gate cannot say now (recovering, closed, missing).
	OrderUnresolved GateOrderState = iota
	// OrderUnknown: the gate is well and has never seen it (Order only).
	OrderUnknown
	// OrderAccepted: its units were taken; the journal holds it.
	OrderAccepted
	// OrderEnded: it gave its units back (cancelled, expired).
	OrderEnded
	// OrderTombstone: it will never be accepted; whoever wrote it may not have
	// told the log yet.
	OrderTombstone
	// OrderRefused: the log rejected it.
	OrderRefused
)

// GateOrder is a look at an order in the gate. OpenFor is for how long the lane
// has been open under its present epoch, by the gate's clock; 0 when it is not.
type GateOrder struct {
	// Direct: there is no gate, the log alone was looked at.
	Direct  bool
	State   GateOrderState
	Buyer   string
	Entry   domain.EntryID
	Epoch   int64
	OpenFor time.Duration
}

// GateError is a fault of the gate. Unknown tells whether something may have
// happened: then Resolve finds out. Otherwise nothing happened.
type GateError struct {
	Unknown bool
	Err     error
}

// Error says what broke.
func (e *GateError) Error() string {
	if e.Unknown {
		return "gate: outcome unknown: " + e.Err.Error()
	}
	return "gate: nothing happened: " + e.Err.Error()
}

// Unwrap gives the cause.
func (e *GateError) Unwrap() error { return e.Err }

// IsUnknown tells whether err is a fault after which something may have happened.
func IsUnknown(err error) bool {
	var g *GateError
	return errors.As(err, &g) && g.Unknown
}

// JournalEntry is one entry of a lane's journal: the body as it was written and
// the running digest after it.
type JournalEntry struct {
	Lane   int
	ID     domain.EntryID // I is 0
	Body   string
	Digest string
}

// Journal reads the accepted purchases of lanes.
type Journal interface {
	// Read gives entries after the given cursors, in the order of their ids
	// within a lane, up to about max in all. It waits up to wait for the first
	// one; none at all is no error. Entries of epochs later than the cursor's
	// come too.
	Read(ctx context.Context, after []eventstore.Cursor, max int, wait time.Duration) ([]JournalEntry, error)
	// ReadLane pages through a lane's journal after an id, from its cut on.
	ReadLane(ctx context.Context, lane int, after domain.EntryID, max int) ([]JournalEntry, error)
	// Entry gives one entry; ok is false when the journal does not hold it.
	Entry(ctx context.Context, lane int, id domain.EntryID) (e JournalEntry, ok bool, err error)
}

// StockEvent is an event of a stock stream and its place there.
type StockEvent struct {
	At    eventstore.Mark
	Event domain.Event
}

// StockPage is consecutive events of one stock stream, the first one after From.
type StockPage struct {
	Place  domain.Place
	SKU    string
	From   eventstore.Mark
	Events []StockEvent
}

// SalePage brings the gate's record of a sale from one version to another.
type SalePage struct {
	Place domain.Place
	From  eventstore.Mark
	To    eventstore.Mark
	// Sale is the fold at To.
	Sale domain.Sale
}

// Applied tells what became of a page. Applied is the place the hash stands at
// now; Done is false when the hash did not stand at From (read again: no error)
// or is missing.
type Applied struct {
	Done    bool
	State   HashState
	Applied eventstore.Mark
}

// Applier brings what the log says into the gate. It is the only way units
// enter. It works on closed lanes and stubs too, and creates nothing.
type Applier interface {
	// ApplyStock refuses (Done false) unless the stock hash stands at p.From and
	// the sale's record is there.
	ApplyStock(ctx context.Context, p StockPage) (Applied, error)
	// ApplySale refuses unless the sale's record stands at p.From. It takes away
	// every Hold; From may equal To, which does only that.
	ApplySale(ctx context.Context, p SalePage) (Applied, error)
}
