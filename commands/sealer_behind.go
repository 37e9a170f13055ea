package commands

import (
	"context"
	"errors"
	"fmt"
	"time"

	"seckill/eventstore"
	"seckill/eventstore/seal"
)

// BehindLog is what tells whether a log is older than what was sealed of it.
type BehindLog interface {
	Head(ctx context.Context) (eventstore.Mark, error)
	HashAt(ctx context.Context, position int64) (h eventstore.Hash, ok bool, err error)
}

// BehindError says in a sentence that the log is not the one that was sealed: it
// was put back to an older state, lost its newest records, or was written anew.
// Nothing may be sold or sealed on top of it before somebody has decided.
type BehindError struct {
	Sentence string
	Seal     *seal.Seal // the newest that was exported
}

func (e *BehindError) Error() string { return e.Sentence }

// CheckNotBehind compares the log with the newest exported seal, and gives a
// *BehindError when it is behind it, or another log. file names the exported seals
// for the sentence.
func CheckNotBehind(ctx context.Context, log BehindLog, exported SealExport, file string) error {
	last, err := exported.Last()
	if err != nil || last == nil {
		return err
	}
	head, err := log.Head(ctx)
	if err != nil {
		return fmt.Errorf("compare the log with its seals: %w", err)
	}
	const way = "See what is missing with `seckill audit verify`; restore the newer log, or if the loss is known and accepted, run `seckill audit accept-loss`, which records it, and start again."
	if last.Last > head.Number {
		return &BehindError{Seal: last, Sentence: fmt.Sprintf(
			"The log ends at position %d, but seal %d in %s covers positions up to %d: the database was put back to an older state, or its newest records were removed. %s",
			head.Number, last.Number, file, last.Last, way)}
	}
	h, ok, err := log.HashAt(ctx, last.Last)
	if err != nil {
		return fmt.Errorf("compare the log with its seals: %w", err)
	}
	if !ok || h != last.Head {
		return &BehindError{Seal: last, Sentence: fmt.Sprintf(
			"The record at position %d is not the one that seal %d in %s was made over: the log was put back to an older state and has grown again, or was written anew. %s",
			last.Last, last.Number, file, way)}
	}
	return nil
}

// LossBook is where an accepted loss is written down.
type LossBook interface {
	Each(do func(*seal.Seal) error) error
	Last() (*seal.Seal, error)
	AcceptLoss(l seal.Loss) error
}

// LossLog is the log whose loss is accepted.
type LossLog interface {
	Head(ctx context.Context) (eventstore.Mark, error)
	HashAt(ctx context.Context, position int64) (h eventstore.Hash, ok bool, err error)
	Seals(ctx context.Context, after int64, max int) ([]seal.Seal, error)
	LastSeal(ctx context.Context) (*seal.Seal, error)
	// AddLoss writes the loss down beside the log, and lets go of the places of
	// machines that only pass records on, which begin again behind them.
	AddLoss(ctx context.Context, l seal.Loss) error
}

// ErrNoLoss: the log goes on from the newest exported seal.
var ErrNoLoss = errors.New("the log has lost nothing that was sealed: there is no loss to accept")

// ErrTornLog: the seals in the database go beyond its log. No older state of it
// was ever like that.
var ErrTornLog = errors.New("the seals in the database go beyond its log: that is no older state of it but a damaged one, which cannot be accepted; restore a backup")

// AcceptLoss records that the log ends, or goes on differently, before the newest
// exported seal, and that by accepts it. The seals that are no longer true stay in
// the file, and count no more.
func AcceptLoss(ctx context.Context, log LossLog, book LossBook, by, reason string, now time.Time) (seal.Loss, error) {
	l := seal.Loss{By: by, Reason: reason, AcceptedAt: now.UTC()}
	head, err := log.Head(ctx)
	if err != nil {
		return l, fmt.Errorf("accept a loss: %w", err)
	}
	l.Head, l.Hash = head.Number, head.Hash.String()
	stored, err := log.LastSeal(ctx)
	if err != nil {
		return l, fmt.Errorf("accept a loss: %w", err)
	}
	if stored != nil && stored.Last > head.Number {
		return l, ErrTornLog
	}
	last, err := book.Last()
	if err != nil {
		return l, fmt.Errorf("accept a loss: %w", err)
	}
	if last != nil {
		l.Lost = last.Last
	}
	common, err := lastCommon(ctx, log, book)
	if err != nil {
		return l, fmt.Errorf("accept a loss: %w", err)
	}
	l.AfterSeal = common
	if last == nil || common == last.Number {
		return l, ErrNoLoss
	}
	if err := log.AddLoss(ctx, l); err != nil {
		return l, fmt.Errorf("accept a loss: %w", err)
	}
	if err := book.AcceptLoss(l); err != nil {
		return l, fmt.Errorf("accept a loss: %w", err)
	}
	return l, nil
}

// lastCommon gives the number of the last exported seal up to which log and
// stored seals still agree with the exported ones.
func lastCommon(ctx context.Context, log LossLog, book LossBook) (int64, error) {
	var common int64
	err := book.Each(func(s *seal.Seal) error {
		stored, err := log.Seals(ctx, s.Number-1, 1)
		if err != nil {
			return err
		}
		if len(stored) == 0 || !stored[0].Equal(s) {
			return enoughSeals{}
		}
		h, ok, err := log.HashAt(ctx, s.Last)
		if err != nil {
			return err
		}
		if !ok || h != s.Head {
			return enoughSeals{}
		}
		common = s.Number
		return nil
	})
	if errors.Is(err, enoughSeals{}) {
		err = nil
	}
	return common, err
}
