package commands

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"runtime"
	"sync"

	"seckill/eventstore"
	"seckill/eventstore/seal"
)

// AuditLog is the log as an audit reads it; part of it may lie in archives.
type AuditLog interface {
	LogScan
	// HashAt gives the hash of the record at a position; ok is false when there is
	// none.
	HashAt(ctx context.Context, position int64) (h eventstore.Hash, ok bool, err error)
	ReadStream(ctx context.Context, stream string, after int64, max int) ([]eventstore.Record, error)
}

// StoredSeals gives the seals in the database.
type StoredSeals interface {
	Seals(ctx context.Context, after int64, max int) ([]seal.Seal, error)
}

// ExportedSeals gives the seals outside of the database, and the keys that are
// trusted: a *seal.Folder.
type ExportedSeals interface {
	Each(do func(*seal.Seal) error) error
	Keys() (map[string]ed25519.PublicKey, error)
}

// AuditFault is one thing that is wrong, and where. Stream and Version are those
// of the record at Position, where it is about one.
type AuditFault struct {
	Position int64  `json:"position"`
	Stream   string `json:"stream"`
	Version  int64  `json:"version"`
	Kind     string `json:"kind"`
	Detail   string `json:"detail"`
}

// Kinds of faults.
const (
	FaultMissing = "missing" // no record at a position
	FaultChain   = "chain"   // a record's hash does not follow from its content and the hash before
	FaultVersion = "version" // a stream's versions are not 1, 2, 3 …
	FaultTime    = "time"    // recorded before the record before it
	FaultPayload = "payload" // an event that cannot be read, or says other than its columns
	FaultStock   = "stock"   // more units taken than there were
	FaultMove    = "move"    // one side of a move between buckets, without the other
	FaultSeal    = "seal"    // a seal is missing, forged, or not that of the log

	FaultStreamHead = "stream_head" // where a stream stands, by its own table, is not where the log has it
)

// AuditReport is what an audit found. Events were read; Head and Hash are the
// last of them. Faults holds at most MaxFaults of FaultsTotal, in order of
// position. SealedTo is the last position under a seal that holds.
type AuditReport struct {
	Events      int64        `json:"events"`
	From        int64        `json:"from"`
	Head        int64        `json:"head"`
	Hash        string       `json:"hash"`
	OK          bool         `json:"ok"`
	Faults      []AuditFault `json:"faults"`
	FaultsTotal int          `json:"faults_total"`
	Seals       int64        `json:"seals"`
	SealedTo    int64        `json:"sealed_to"`
	Warnings    []string     `json:"warnings"`
}

// AuditOptions say what to audit. Zero values: everything.
type AuditOptions struct {
	// From and To are positions, both included. A seal of which the range holds a
	// part only is read whole.
	From, To int64
	// Workers read and hash at once; default: the number of processors.
	Workers int
	// Chunk is how many positions a worker takes at once (20,000).
	Chunk int64
	// MaxFaults bounds the list of faults (100).
	MaxFaults int
	// Progress is told how many positions of how many are done; may be nil.
	Progress func(done, total int64)
}

func (o AuditOptions) withDefaults() AuditOptions {
	o.Workers = orDefault(o.Workers, max(2, runtime.GOMAXPROCS(0)))
	o.Chunk = orDefault(o.Chunk, int64(20_000))
	o.MaxFaults = orDefault(o.MaxFaults, 100)
	o.From = orDefault(o.From, int64(1))
	if o.Progress == nil {
		o.Progress = func(int64, int64) {}
	}
	return o
}

// Auditor checks the log: that positions are dense, versions contiguous, hashes
// chained and times in order, that each event says what its columns say, that no
// stock stream ever gave more than it had, that what left one bucket for another
// came there and nothing else did, and that the seals, stored and exported, are those
// of the log.
//
// Chunks are read and hashed in parallel and put together in order. Memory is a
// few chunks, and about 40 bytes for each stream of the log (400 MB for ten
// million orders), whatever its length.
type Auditor struct {
	Log    AuditLog
	Stored StoredSeals
	// Exported and its keys are what the database is measured against. Nil: the
	// stored seals are checked by KeysOfStore alone, and the report warns.
	Exported ExportedSeals
	// KeysOfStore are the public keys that the database names.
	KeysOfStore []ed25519.PublicKey
	// Heads say where each stream stands; they are compared when the whole log is
	// audited. Nil: they are not.
	Heads StreamHeads
}

// Verify audits. What is wrong with the log is in the report; an error means that
// it could not be read.
func (a *Auditor) Verify(ctx context.Context, opts AuditOptions) (AuditReport, error) {
	opts = opts.withDefaults()
	head, err := a.Log.Head(ctx)
	if err != nil {
		return AuditReport{}, fmt.Errorf("audit the log: %w", err)
	}
	to := head.Number
	if opts.To > 0 && opts.To < to {
		to = opts.To
	}
	asked := opts
	if opts.From > 1 || to < head.Number {
		if err := a.wholeSeals(ctx, &opts, to); err != nil {
			return AuditReport{}, fmt.Errorf("audit the seals: %w", err)
		}
		if opts.To > 0 {
			to = min(opts.To, head.Number)
		}
	}
	st := newStitcher(a.Log, opts)
	if opts.From != asked.From || opts.To != asked.To {
		st.report.Warnings = append(st.report.Warnings, fmt.Sprintf("the range was widened to whole seals: positions %d to %d were read", opts.From, to))
	}
	st.seals, err = a.newSealCheck(ctx, st, opts, to)
	if err != nil {
		return AuditReport{}, fmt.Errorf("audit the log: %w", err)
	}
	defer st.seals.close()
	if err := a.chunks(ctx, opts, st.seed, to, func(c *auditChunk) error { return st.add(ctx, c) }); err != nil {
		return AuditReport{}, fmt.Errorf("audit the log: %w", err)
	}
	if err := st.moves(ctx, to); err != nil {
		return AuditReport{}, fmt.Errorf("audit the moves: %w", err)
	}
	if opts.To == 0 || opts.To >= head.Number {
		if head, err = a.Log.Head(ctx); err != nil {
			return AuditReport{}, fmt.Errorf("audit the seals: %w", err)
		}
		err = st.seals.finish(head.Number)
	}
	if err != nil {
		return AuditReport{}, fmt.Errorf("audit the seals: %w", err)
	}
	if a.Heads != nil && opts.From == 1 && opts.To == 0 {
		if err := st.heads(ctx, a.Heads, to); err != nil {
			return AuditReport{}, fmt.Errorf("audit where the streams stand: %w", err)
		}
	}
	return st.result(), nil
}

// chunks reads all chunks up to a position in parallel, and hands them to the
// stitcher in order.
func (a *Auditor) chunks(ctx context.Context, opts AuditOptions, seed streamSeed, to int64, take func(*auditChunk) error) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var working sync.WaitGroup
	defer working.Wait()
	defer stop(nil)
	type promise chan *auditChunk
	order := make(chan promise, opts.Workers) // bounds how far ahead anybody reads
	slots := make(chan struct{}, opts.Workers)
	working.Go(func() {
		defer close(order)
		for first := opts.From; first <= to; first += opts.Chunk {
			p := make(promise, 1)
			select {
			case slots <- struct{}{}:
			case <-ctx.Done():
				return
			}
			working.Go(func() {
				defer func() { <-slots }()
				c, err := readChunk(ctx, a.Log, seed, first, min(first+opts.Chunk-1, to))
				if err != nil {
					stop(err)
				}
				p <- c
			})
			select {
			case order <- p:
			case <-ctx.Done():
				return
			}
		}
	})
	total := max(0, to-opts.From+1)
	for p := range order {
		c := <-p
		if c == nil {
			break
		}
		if err := take(c); err != nil {
			return err
		}
		opts.Progress(c.last-opts.From+1, total)
	}
	return causeOf(ctx)
}

// causeOf gives why a context ended, nil when it did not.
func causeOf(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	return context.Cause(ctx)
}
