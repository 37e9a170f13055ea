package eventstore

import (
	"context"
	"errors"
	"time"
)

// Guard is the running account of one stock stream as the log defends it:
// what was released into it, taken from it and given back, all in units, at
// Version of that stream. Left must never be below -Overdraft, which is 0 unless
// the sale would rather oversell than break a promise.
type Guard struct {
	Stream   string
	Version  int64
	Released int64
	Reserved int64
	Returned int64
	// Overdraft is how many units more than there are the log may hand out.
	Overdraft int64
}

// Left gives the units that the log may still hand out.
func (g Guard) Left() int64 { return g.Released - g.Reserved + g.Returned }

// Claim is one order of a buyer in a sale. Ordinal counts a buyer's claims in
// that sale from 1; (SaleID, BuyerID, Ordinal) is unique. Quantity is the units
// of the order over all lines. Live is false once the order gave its units
// back. Key and BodyHash are those of the idempotency key it was bought under,
// or empty.
type Claim struct {
	SaleID   string
	BuyerID  string
	Ordinal  int
	OrderID  string
	Quantity int64
	Live     bool
	Key      string
	BodyHash string
}

// ClaimKey names the claims of one buyer in one sale.
type ClaimKey struct{ SaleID, BuyerID string }

// Cursor is how far the journal of a lane has been recorded: N entries of
// Epoch, whose running digest is Digest (40 hexadecimal digits).
type Cursor struct {
	Lane   int
	Epoch  int64
	N      int64
	Digest string
}

// StreamState is the newest version of a stream, the type of the event there,
// and its hash. The zero value is a stream without events.
type StreamState struct {
	Version int64
	Type    string
	Hash    Hash
}

// Append is the events that go to the end of one stream.
type Append struct {
	Stream string
	// Expected is the version the stream must have, 0 for a stream without
	// events, or AnyVersion.
	Expected int64
	Events   []NewEvent
}

// AnyVersion appends at whatever version the stream has. An append whose first
// event stands in another stream is a Conflict.
const AnyVersion int64 = -1

// Group is stored whole or not at all. Guards, Claims and Cursors replace what
// stood under their keys (a claim: sale, buyer, ordinal; one without an order takes
// away what stood there). A Guard's Version is
// set by the store to the version its stream has after the group.
//
// Where all events of a group stand already, so do the guards and claims that were
// stored with them, and they are left as they are. Its cursors are stored: that the
// events are recorded is all that a cursor says.
type Group struct {
	Appends []Append
	Guards  []Guard
	Claims  []Claim
	Cursors []Cursor
}

// Needs names what a decide function will look at. Looking at anything else
// panics: it would read outside the lock.
type Needs struct {
	Streams []string
	Guards  []string
	Claims  []ClaimKey
	Lanes   []int
}

// Look is what stands in the store while the log lock is held, including what
// earlier works of the same batch have decided.
type Look interface {
	Stream(name string) StreamState
	Guard(stream string) Guard
	Claims(key ClaimKey) []Claim
	Cursor(lane int) Cursor
	// Now is the clock of the store, after the lock was taken.
	Now() time.Time
}

// Work is one thing to decide and store. Decide runs exactly while the log lock
// is held; it must be fast, and free of effects because it may run again when a
// batch is tried again. A nil Group means: nothing to store. An error is
// returned to the submitter as it is, and stores nothing.
type Work struct {
	Needs  Needs
	Decide func(Look) (*Group, error)
}

// Outcome of a work.
type Outcome int

const (
	// Nothing was to be stored: Decide gave a nil group.
	Nothing Outcome = iota
	// Stored for the first time.
	Stored
	// AlreadyThere: the same event ids stand at those versions already. Nothing was
	// stored but the group's cursors.
	AlreadyThere
	// Conflict: a stream had moved past its expected version, or the event of an
	// append at any version stands in another stream.
	Conflict
)

// Receipt tells what became of a work. Records holds what was stored (or found
// already there), in the order of the group's appends; payloads included.
type Receipt struct {
	Outcome Outcome
	Records []Record
}

// Appender is the one way to write. Submit returns once the outcome is known:
// an unknown outcome of a commit is found out inside, before it returns.
type Appender interface {
	// Submit fails with ErrData when the store refuses the bytes of this very
	// work (and the work was tried alone), with ErrUnavailable when the store
	// cannot be reached, with the context's error when it was given up before it
	// was taken into a batch, or with the error of Decide.
	Submit(ctx context.Context, w Work) (Receipt, error)
}

// Errors of an Appender, found with errors.Is.
var (
	// ErrData: the store refuses these bytes, and will again.
	ErrData = errors.New("the event store refuses this data")
	// ErrUnavailable: the store could not be reached or answered with a fault of
	// its own; nothing was stored. Try again later.
	ErrUnavailable = errors.New("the event store is not available")
	// ErrUnknown: the appender was closed before it could find out whether a
	// commit took place. Read the store before deciding anything.
	ErrUnknown = errors.New("the event store was closed while the outcome was unknown")
)

// Filter chooses records. Empty fields choose all. From and To are positions,
// both inclusive; To 0 means the head.
type Filter struct {
	Stream  string
	Prefix  string // of the stream's name
	SaleID  string
	OrderID string
	Type    string
	From    int64
	To      int64
	Since   time.Time
}

// Reader reads the log in short statements. Every method gives records whose
// transaction has ended, none ever skipped. Errors are ErrUnavailable, or ErrData
// for a question that the store cannot even hold.
type Reader interface {
	// ReadStream gives up to max records of a stream with Version > after, in order.
	ReadStream(ctx context.Context, stream string, after int64, max int) ([]Record, error)
	// ReadAll gives up to max records with Position > after, in order.
	ReadAll(ctx context.Context, after int64, max int) ([]Record, error)
	// Find gives up to max records chosen by f with Position > after, in order.
	Find(ctx context.Context, f Filter, after int64, max int) ([]Record, error)
	// Head gives the place of the newest record.
	Head(ctx context.Context) (Mark, error)
	// At gives the record at a position; ok is false when there is none.
	At(ctx context.Context, position int64) (r Record, ok bool, err error)
}

// Looker looks without the log lock at what a decision would look at under it.
type Looker interface {
	// LookAt gives what stands in the store, all of one moment during the call; it may
	// be old by the time it is looked at, and decides nothing. Looking at anything that
	// n does not name panics. Errors are those of a Reader.
	LookAt(ctx context.Context, n Needs) (Look, error)
}

// Directory answers which streams there are and where they stand, outside the
// lock: an answer may be old by the time it is looked at. Errors are those of a
// Reader.
type Directory interface {
	// States gives the newest version of each named stream, in the same order.
	States(ctx context.Context, streams []string) ([]StreamState, error)
	// Streams lists stream names that begin with prefix, after a name, in byte order.
	Streams(ctx context.Context, prefix, after string, max int) ([]string, error)
}

// Ledger reads the side rows outside the lock. Decisions use Look instead.
type Ledger interface {
	// Guards gives the guard of each named stock stream, in the same order.
	Guards(ctx context.Context, streams []string) ([]Guard, error)
	// ClaimsOf gives a buyer's claims in a sale by ordinal.
	ClaimsOf(ctx context.Context, key ClaimKey) ([]Claim, error)
	// SaleClaims pages through a sale's claims, after a (buyer, ordinal).
	SaleClaims(ctx context.Context, sale string, after Claim, max int) ([]Claim, error)
	// Cursors gives the cursors of the named lanes, in the same order.
	Cursors(ctx context.Context, lanes []int) ([]Cursor, error)
}

// Store is everything a store offers.
type Store interface {
	Appender
	Reader
	Directory
	Ledger
	Looker
}
