package commands

import (
	"context"
	"time"

	"seckill/domain"
)

// JournalCut is the last entry that was cut off the beginning of a lane's
// journal, and the running digest after it. The zero value: nothing was cut.
type JournalCut struct {
	ID     domain.EntryID
	Digest string
}

// Cleaner takes away what a gate need not keep any more. It never decides what
// that is: whoever calls it has read in the log that the sale is cleaned up.
type Cleaner interface {
	// RemoveSale takes everything that the gate holds of a sale in one bucket away
	// in one step, whatever the lane's state: its record with its orders, and the
	// stock hashes of the SKUs named and of those that the record knows. From then
	// on purchases of it are NotReady. removed is how much there was, 0 when it was
	// gone already. The journal stays.
	RemoveSale(ctx context.Context, place domain.Place, skus []string) (removed int, err error)
	// KeepSale lets the gate forget what it holds of a sale in one bucket after a
	// time, unless it is kept again before: a safety net for what nobody looks after
	// any more. What is not there stays so, and what a later reset makes
	// anew is kept until the next call. Lanes and journals are never forgotten.
	KeepSale(ctx context.Context, place domain.Place, skus []string, keep time.Duration) error
	// CutJournal cuts a lane's journal up to and including an entry; the lane keeps
	// its id and digest. An entry that the journal does not hold cuts nothing. The
	// answer is the cut as it stands afterwards. Nothing else trims a journal.
	CutJournal(ctx context.Context, lane int, upTo domain.EntryID) (JournalCut, error)
}
