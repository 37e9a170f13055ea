package commands

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/google/uuid"

	"seckill/domain"
	"seckill/eventstore"
)

// Move asks the gate to take units out of one bucket of a sale, for another one. They
// come to the other by way of the log: until then they are in neither.
type Move struct {
	// ID names it: asked again under the same id nothing more is taken.
	ID string
	// Place is where the units are, To the bucket that they are for.
	Place    domain.Place
	To       int
	SKU      string
	Quantity int64
	TraceID  string
}

// Check refuses what must never reach a gate. store is the gate's.
func (m *Move) Check(store uint8) error {
	w := Withdrawal{ID: m.ID, Place: m.Place, SKU: m.SKU, Quantity: m.Quantity}
	if err := w.Check(store); err != nil {
		return fmt.Errorf("move: %w", err)
	}
	if m.To < 0 || m.To >= domain.MaxBuckets || m.To == m.Place.Bucket {
		return fmt.Errorf("move %q from bucket %d to %d: want another bucket", m.SKU, m.Place.Bucket, m.To)
	}
	return nil
}

// Mover takes units out of one bucket for another.
type Mover interface {
	// Move takes the units if as many are left in the item's bucket, and writes the
	// move into the journal of that bucket's lane in the same step. Asking again with
	// the same id gives the first answer. WithdrawTaken says that they left the bucket,
	// WithdrawRefused that the log did not keep the move and the bucket has them back.
	// Errors are *GateError.
	Move(ctx context.Context, m Move) (WithdrawVerdict, error)
}

// BucketLevel is a look at one bucket of a sale.
type BucketLevel struct {
	// Selling: the lane, the sale's record and every item asked for are open, on the
	// process they were opened on. Otherwise nothing else of it says anything.
	Selling  bool
	Epoch, N int64 // of the lane's journal
	Stocks   []StockLevel
}

// StockLevel is what a bucket has left of an item, and what of the log it knows.
type StockLevel struct {
	Applied   eventstore.Mark
	Available int64
}

// Levels looks at many buckets at once.
type Levels interface {
	// Levels gives the levels of places, in their order, each with the items in the
	// order of skus. Places of one lane are seen at one moment, others are not. It
	// changes nothing. Errors are *GateError.
	Levels(ctx context.Context, places []domain.Place, skus []string) ([]BucketLevel, error)
}

// JournalMove is a move as the journal carries it.
type JournalMove struct {
	ID       string `json:"id"`
	Sale     string `json:"sale"`
	Bucket   int    `json:"bucket"`
	To       int    `json:"to"`
	SKU      string `json:"sku"`
	Quantity int64  `json:"quantity"`
	TraceID  string `json:"trace,omitempty"`
}

// EncodeMove gives the bytes that a gate puts into an entry for m.
func EncodeMove(m Move) ([]byte, error) {
	b, err := json.Marshal(JournalMove{ID: m.ID, Sale: m.Place.Sale, Bucket: m.Place.Bucket, To: m.To, SKU: m.SKU, Quantity: m.Quantity, TraceID: m.TraceID})
	if err != nil {
		return nil, fmt.Errorf("encode move %s: %w", m.ID, err)
	}
	return b, nil
}

// moved is a move on its way from the journal into the log.
type moved struct {
	JournalMove
	entry domain.EntryID
}

func (m *moved) streams() []string {
	return []string{domain.StockStream(m.Sale, m.SKU, m.Bucket), domain.StockStream(m.Sale, m.SKU, m.To)}
}

func (m *moved) about() (sale string, entry domain.EntryID) { return m.Sale, m.entry }

func (m *moved) check() error {
	ask := Move{ID: m.ID, Place: domain.Place{Sale: m.Sale, Bucket: m.Bucket}, To: m.To, SKU: m.SKU, Quantity: m.Quantity}
	return ask.Check(0)
}

// openMoves reads the moves of an entry.
func openMoves(body *EntryBody, id domain.EntryID) ([]taken, error) {
	return openTaken("move", body.Moves, id, func(entry domain.EntryID) carried { return &moved{entry: entry} })
}

// moveEventID is the id of the event by which a move enters a stock stream.
func moveEventID(stream, id string) uuid.UUID {
	return uuid.NewSHA1(trancheSpace, fmt.Appendf(nil, "%s/move/%s", stream, id))
}

// decide gives both sides of the move in one group, or, where the log has fewer units
// left in the donor, its refusal there. A stream that the log has not yet, of a bucket
// that began empty, begins with the move.
func (m *moved) decide(env *Env, look eventstore.Look) (*eventstore.Group, error) {
	streams := m.streams()
	donor, receiver := look.Guard(streams[0]), look.Guard(streams[1])
	donor.Stream, receiver.Stream = streams[0], streams[1]
	if donor.Left() < m.Quantity {
		return m.again(env, look)
	}
	donor.Reserved += m.Quantity
	receiver.Released += m.Quantity
	group := &eventstore.Group{Guards: []eventstore.Guard{donor, receiver}}
	err := m.add(env, group, streams[0], &domain.StockMovedOut{SaleID: m.Sale, SKU: m.SKU, Bucket: m.Bucket, MoveID: m.ID, To: m.To,
		Quantity: m.Quantity, Entry: m.entry.String()})
	if err != nil {
		return nil, err
	}
	return group, m.add(env, group, streams[1], &domain.StockMovedIn{SaleID: m.Sale, SKU: m.SKU, Bucket: m.To, MoveID: m.ID, From: m.Bucket, Quantity: m.Quantity})
}

// again gives the refusal alone: it has the id of the donor's event, whichever that is.
func (m *moved) again(env *Env, look eventstore.Look) (*eventstore.Group, error) {
	stream := m.streams()[0]
	guard := look.Guard(stream)
	guard.Stream = stream
	group := &eventstore.Group{Guards: []eventstore.Guard{guard}}
	return group, m.add(env, group, stream, &domain.StockRefused{SaleID: m.Sale, SKU: m.SKU, Bucket: m.Bucket, MoveID: m.ID,
		Quantity: m.Quantity, Entry: m.entry.String(), Reason: domain.RejectedGuard})
}

func (m *moved) add(env *Env, group *eventstore.Group, stream string, ev domain.Event) error {
	stored, err := env.newEvent(ev, m.Sale, "", Meta{TraceID: m.TraceID, Entry: m.entry.String(), By: "recorder"})
	if err != nil {
		return err
	}
	stored.ID = moveEventID(stream, m.ID)
	group.Appends = append(group.Appends, eventstore.Append{Stream: stream, Expected: eventstore.AnyVersion, Events: []eventstore.NewEvent{stored}})
	return nil
}
