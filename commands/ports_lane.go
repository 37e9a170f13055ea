package commands

import (
	"context"
	"time"

	"seckill/domain"
	"seckill/eventstore"
)

// HashState is whether the gate holds a sale's record or a stock hash.
type HashState int

// States of a hash. A stub is a place where a hash is being built again: it is
// closed, and started from version 0.
const (
	HashMissing HashState = iota
	HashOpen
	HashStub
)

// String names the state for people.
func (s HashState) String() string {
	switch s {
	case HashOpen:
		return "open"
	case HashStub:
		return "stub"
	}
	return "missing"
}

// LaneState is a look at a lane of the gate.
type LaneState struct {
	Exists bool
	Open   bool
	// SameServer: the lane was opened on the very process that answers now.
	SameServer bool
	// Foreign is the layout of a lane that another version of the gate wrote, which
	// does not exist for this one and is left alone; else "".
	Foreign string
	// Server names that process (run id and replication id); OpenLane compares it.
	Server string
	Epoch  int64
	N      int64 // entries written in this epoch
	Digest string
	// Last is the newest id of the journal, which may be of another epoch; the
	// cut's where everything was cut.
	Last domain.EntryID
	// Cut is where the journal was cut last.
	Cut JournalCut
	Now time.Time
	// OpenedAt is the gate's clock at the last opening.
	OpenedAt time.Time
}

// Selling tells whether the lane sells.
func (l LaneState) Selling() bool { return l.Exists && l.Open && l.SameServer }

// Lanes opens and closes lanes.
type Lanes interface {
	Lane(ctx context.Context, lane int) (LaneState, error)
	// CloseLane makes the lane if it is missing, closes it and raises its epoch to
	// the given one, never lowers it; n becomes 0 and the digest the epoch's
	// first. The answer's epoch is higher than asked when somebody else is ahead;
	// then nothing was changed.
	CloseLane(ctx context.Context, lane int, epoch int64) (LaneState, error)
	// OpenLane opens a lane that is closed under this epoch on this server; false
	// when it is not so any more.
	OpenLane(ctx context.Context, lane int, epoch int64, server string) (bool, error)
}

// Unreadable is the Number of an Applied that is no place of any stream: something
// else stands in its field, or nothing does. What has it must start again.
const Unreadable = -1

// SaleHash is a look at the gate's record of a sale in one bucket.
type SaleHash struct {
	State   HashState
	Applied eventstore.Mark
	// Held: a stopping action was set and not yet confirmed from the log.
	Held bool
}

// StockHash is a look at a stock hash. Token is the living preheat's, "" when
// there is none.
type StockHash struct {
	State     HashState
	Applied   eventstore.Mark
	Available int64
	Token     string
}

// Peeked is a lane, a sale's record and stock hashes as they stood at one moment.
type Peeked struct {
	Lane   LaneState
	Sale   SaleHash
	Stocks []StockHash // in the order of the SKUs asked for
}

// Hashes looks at and rebuilds the records of sales during a lane's recovery.
type Hashes interface {
	// Peek reads everything in one step and changes nothing.
	Peek(ctx context.Context, place domain.Place, skus []string) (Peeked, error)
	// Stubs makes closed stubs at version 0 of what is missing: of the sale's
	// record (then of every stock hash named too, whatever it held), and of each
	// stock hash. With reset, the stock hashes named there start from version 0
	// although they are there. It works only while the lane is closed under epoch;
	// false otherwise.
	Stubs(ctx context.Context, place domain.Place, skus, reset []string, epoch int64) (bool, error)
	// StartAgain makes closed stubs at version 0 of the sale's record and of every
	// stock hash named, whatever they held: it is Stubs where the record was lost.
	// It works only while the lane is closed under epoch; false otherwise.
	StartAgain(ctx context.Context, place domain.Place, skus []string, epoch int64) (bool, error)
	// OpenHashes opens a sale's record and its stock hashes, if the lane is closed
	// under epoch and each stands at the mark given; false otherwise.
	OpenHashes(ctx context.Context, place domain.Place, marks HashMarks, epoch int64) (bool, error)
}

// HashMarks are places in the streams of a sale's record and of stock hashes.
type HashMarks struct {
	Sale   eventstore.Mark
	SKUs   []string
	Stocks []eventstore.Mark // in the order of SKUs
}

// PreheatStart is where a preheat began: the lane's epoch and entry count then.
type PreheatStart struct {
	OK    bool
	Epoch int64
	N     int64
}

// Preheater builds hashes in a healthy lane, touching nothing else. Each preheat
// carries a random token; a stub whose token was replaced is no longer its own.
type Preheater interface {
	// NewSale makes closed stubs of a sale's record and of its stock hashes, only
	// where the record is missing and the lane is open under epoch.
	NewSale(ctx context.Context, place domain.Place, skus []string, epoch int64, token string) (PreheatStart, error)
	// ResetStock makes one stock hash a closed stub, only where the sale's record
	// is open and the lane is open under epoch.
	ResetStock(ctx context.Context, place domain.Place, sku string, epoch int64, token string) (PreheatStart, error)
	// OpenPreheated opens what a preheat built: stubs that still carry token, at
	// these marks, in a lane still open under epoch. A sale's record that is open
	// stays as it is, whatever marks.Sale. False when it is not so any more.
	OpenPreheated(ctx context.Context, place domain.Place, marks HashMarks, epoch int64, token string) (bool, error)
}

// Holder sets stopping actions in the gate before the log knows them.
type Holder interface {
	// Hold makes the sale's record answer outcome (Paused or Ended) until the
	// next ApplySale. It changes nothing where the record is missing.
	Hold(ctx context.Context, place domain.Place, outcome domain.Outcome) error
}
