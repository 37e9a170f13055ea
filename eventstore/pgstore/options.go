package pgstore

import (
	"errors"
	"log/slog"
	"time"

	"seckill/eventstore"
)

// Options of New. The zero value is usable.
type Options struct {
	// MaxBatch bounds a batch by weight: each work counts one, and one more for
	// each stream and claim key it needs. Default 4,000. A heavier work runs alone.
	MaxBatch int
	// MaxPart is the number of events at which a part of a batch ends: while the server
	// writes one part, the next is decided. Default 256.
	MaxPart int
	// CopyFrom is from how many rows on a table of a part is written by COPY: that takes
	// a round trip of its own, and spares the server the unpacking of arrays. Default 128.
	CopyFrom int
	// PartitionSize is the number of positions in a new partition; default
	// 1,000,000, at least 100. The next partition is made when half is used.
	PartitionSize int64
	// RetryFor bounds how long a batch is tried again while the store is not
	// available; default 3 s.
	RetryFor time.Duration
	// LockTimeout bounds a wait for the log lock, and how long a session may
	// idle while it holds it; default 2 s.
	LockTimeout time.Duration
	// StatementTimeout bounds each statement of an append; default 5 s.
	StatementTimeout time.Duration
	// CleanEvery is the pause between deletions of old versions; default 1 s.
	CleanEvery time.Duration
	// OnStored is called with each part of a batch after the commit and before any of
	// its works is answered, in order of position, on the appender's goroutine: it must
	// not block. Optional.
	OnStored func([]eventstore.Record)
	// OnBatch is told how each batch went, like OnStored. Optional.
	OnBatch func(BatchStats)
	// Step is called at named points of a batch (see the Step constants), for
	// tests that stop the process or the connection there. Optional.
	Step func(name string)
	// Logger gets faults that no caller is told about; default slog.Default().
	Logger *slog.Logger
}

// BatchStats tells how one committed batch went.
type BatchStats struct {
	Works  int
	Events int
	// Locked is the time from asking for the log lock to the end of the commit.
	Locked time.Duration
	// Tries counts attempts; 1 when nothing went wrong.
	Tries int
}

// Points of a batch at which Options.Step is called.
const (
	StepLocked       = "append.locked"        // lock held, everything read
	StepBeforeCommit = "append.before-commit" // lock held, everything decided, the last part not sent
	StepAfterCommit  = "append.after-commit"  // committed, nobody told yet
)

func (o Options) withDefaults() Options {
	setDefault(&o.MaxBatch, 4000)
	setDefault(&o.MaxPart, 256)
	setDefault(&o.CopyFrom, 128)
	setDefault(&o.PartitionSize, 1_000_000)
	setDefault(&o.RetryFor, 3*time.Second)
	setDefault(&o.LockTimeout, 2*time.Second)
	setDefault(&o.StatementTimeout, 5*time.Second)
	setDefault(&o.CleanEvery, time.Second)
	if o.OnStored == nil {
		o.OnStored = func([]eventstore.Record) {}
	}
	if o.OnBatch == nil {
		o.OnBatch = func(BatchStats) {}
	}
	if o.Step == nil {
		o.Step = func(string) {}
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	return o
}

func setDefault[T int | int64 | time.Duration](v *T, otherwise T) {
	if *v == 0 {
		*v = otherwise
	}
}

// Validate reports every setting that cannot work.
func (o Options) Validate() error {
	var errs []error
	if o.MaxBatch < 0 || o.MaxPart < 0 || o.CopyFrom < 0 {
		errs = append(errs, errors.New("MaxBatch, MaxPart and CopyFrom must not be negative"))
	}
	if o.PartitionSize != 0 && o.PartitionSize < 100 {
		errs = append(errs, errors.New("PartitionSize must be at least 100"))
	}
	if o.RetryFor < 0 || o.LockTimeout < 0 || o.StatementTimeout < 0 || o.CleanEvery < 0 {
		errs = append(errs, errors.New("a time must not be negative"))
	}
	return errors.Join(errs...)
}
