package commands

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"time"

	"seckill/eventstore"
	"seckill/eventstore/seal"
)

// LogScan reads the log fast: see Scan.
type LogScan interface {
	Head(ctx context.Context) (eventstore.Mark, error)
	// Scan gives every record after a position and up to another, in order. The
	// record is only good until do returns. An error of do is returned as it is.
	Scan(ctx context.Context, after, upTo int64, do func(*eventstore.Record) error) error
}

// Seals keeps the seals beside the log.
type Seals interface {
	LastSeal(ctx context.Context) (*seal.Seal, error)
	// Seals gives up to max seals with a number above after, in order.
	Seals(ctx context.Context, after int64, max int) ([]seal.Seal, error)
	// AddSeal: stored is false when one of that number or place is there already.
	AddSeal(ctx context.Context, s seal.Seal) (stored bool, err error)
	// SealEnd gives the last position that a seal beginning behind after may cover.
	SealEnd(ctx context.Context, after int64) (int64, error)
}

// SealKeys keeps the public keys beside the seals.
type SealKeys interface {
	AddSealKey(ctx context.Context, public ed25519.PublicKey) error
	SealKeys(ctx context.Context) ([]ed25519.PublicKey, error)
}

// SealExport is where seals go outside of the database: a *seal.Folder.
type SealExport interface {
	Last() (*seal.Seal, error)
	Append(more func(after int64) ([]seal.Seal, error)) (added int, err error)
	Keys() (map[string]ed25519.PublicKey, error)
	Trust(public ed25519.PublicKey) error
}

// AlarmSeal is raised when seals cannot be exported, or the log cannot be sealed
// because somebody may have changed what was sealed before. A database that is away
// raises none: what was written is sealed when it is back.
const AlarmSeal = "seal"

// SealerOptions tune a Sealer; zero values take the defaults.
type SealerOptions struct {
	// Every is how many records a seal covers (1,000), at most.
	Every int64
	// After is for how long a record may wait for its seal (10 s).
	After time.Duration
	// Look is how often the head is looked at (1 s).
	Look time.Duration
	// Sealed is told the last position under a seal that was exported; may be nil.
	Sealed func(position int64)
	// Alarm may be nil.
	Alarm func(Alarm)
}

func (o SealerOptions) withDefaults() SealerOptions {
	o.Every = orDefault(o.Every, int64(1000))
	o.After = orDefault(o.After, 10*time.Second)
	o.Look = orDefault(o.Look, time.Second)
	if o.Sealed == nil {
		o.Sealed = func(int64) {}
	}
	if o.Alarm == nil {
		o.Alarm = func(Alarm) {}
	}
	return o
}

// SealerStore is what a Sealer asks of the event store.
type SealerStore interface {
	LogScan
	Seals
	SealKeys
}

// Sealer seals the log: every so many records, or after so long, it checks the
// chain of what is new, signs its Merkle root and exports the seal. Several
// sealers are harmless: a number is given once, and exporting adds nothing twice.
type Sealer struct {
	env    *Env
	store  SealerStore
	uuid   string
	key    seal.Key
	export SealExport
	opts   SealerOptions

	waiting int64     // the first position without a seal
	since   time.Time // since when it is seen to wait
}

// NewSealer makes a Sealer for the store with this uuid. Run drives it.
func NewSealer(env *Env, store SealerStore, uuid string, key seal.Key, export SealExport, opts SealerOptions) *Sealer {
	return &Sealer{env: env, store: store, uuid: uuid, key: key, export: export, opts: opts.withDefaults()}
}

// lastExport bounds the export of a process that stops.
const lastExport = 2 * time.Second

// RunExport exports the seals that are stored, whoever made them, until ctx ends, and
// then once more: what was sealed last is not to wait for the next process.
func (s *Sealer) RunExport(ctx context.Context) error {
	err := s.repeat(ctx, "seals not exported; tried again", s.Export)
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastExport)
	defer cancel()
	if err := s.Export(last); err != nil {
		s.env.Log.Warn("seals not exported at the end", "error", err)
	}
	return err
}

// Run seals until ctx ends. It is for the one who leads.
func (s *Sealer) Run(ctx context.Context) error {
	return s.repeat(ctx, "log not sealed; tried again", s.Round)
}

// ErrLogBroken: the log is not what was sealed or hashed before. Nothing goes on
// by itself from here; `audit verify` names the place.
var ErrLogBroken = errors.New("the log does not follow what was sealed")

func (s *Sealer) repeat(ctx context.Context, failed string, do func(context.Context) error) error {
	var before string
	alarmed := false // and not well since
	for ctx.Err() == nil {
		err := do(ctx)
		said := ""
		if err != nil && ctx.Err() == nil {
			if said = err.Error(); said != before { // one line for one fault, not one a second
				s.env.Log.Warn(failed, "error", err)
			}
			if said != before && (brokenSeals(err) || !alarmed && notExported(err)) {
				s.opts.Alarm(Alarm{Kind: AlarmSeal, Lane: -1, Detail: said})
				alarmed = true
			}
		}
		before, alarmed = said, alarmed && said != ""
		wait, cancel := context.WithTimeout(ctx, s.opts.Look)
		<-wait.Done()
		cancel()
	}
	return nil
}

// Export brings the exported seals up to the stored ones, and trusts the keys
// they were signed with. A seal that was exported and is not stored any more, or
// another one, is seal.ErrFork.
func (s *Sealer) Export(ctx context.Context) error {
	if err := s.trustKeys(ctx); err != nil {
		return err
	}
	if err := s.checkExported(ctx); err != nil {
		return err
	}
	var unread error
	_, err := s.export.Append(func(after int64) (more []seal.Seal, err error) {
		more, unread = s.store.Seals(ctx, after, sealPage)
		return more, unread
	})
	switch {
	case unread != nil:
		return unread
	case err != nil:
		return &exportError{err}
	}
	last, err := s.export.Last()
	if err != nil {
		return &exportError{err}
	}
	if last != nil {
		s.opts.Sealed(last.Last)
	}
	return nil
}

// sealPage is how many seals are read at once.
const sealPage = 500

// trustKeys puts the keys of the stored seals beside the exported ones. Whoever
// writes the database could name his own key there; but it can only serve for
// seals that were not exported yet, and those he could have had us sign.
func (s *Sealer) trustKeys(ctx context.Context) error {
	known, err := s.export.Keys()
	if err != nil {
		return &exportError{err}
	}
	if known[s.key.ID()] == nil {
		if err := s.export.Trust(s.key.Public()); err != nil {
			return &exportError{err}
		}
	}
	keys, err := s.store.SealKeys(ctx)
	if err != nil {
		return err
	}
	for _, k := range keys {
		if known[seal.KeyID(k)] != nil || seal.KeyID(k) == s.key.ID() {
			continue
		}
		s.env.Log.Info("key of another sealer is trusted from now on", "key", seal.KeyID(k))
		if err := s.export.Trust(k); err != nil {
			return &exportError{err}
		}
	}
	return nil
}

// checkExported compares the newest exported seal with the stored one.
func (s *Sealer) checkExported(ctx context.Context) error {
	exported, err := s.export.Last()
	switch {
	case err != nil:
		return &exportError{err}
	case exported == nil:
		return nil
	}
	stored, err := s.store.Seals(ctx, exported.Number-1, 1)
	if err != nil {
		return err
	}
	if len(stored) == 0 || !stored[0].Equal(exported) {
		return fmt.Errorf("export seals: %w: seal %d over positions %d to %d is not in the database any more", seal.ErrFork, exported.Number, exported.First, exported.Last)
	}
	return nil
}

// Round seals what is due, and exports it.
func (s *Sealer) Round(ctx context.Context) error {
	if err := s.store.AddSealKey(ctx, s.key.Public()); err != nil {
		return err
	}
	if err := s.checkExported(ctx); err != nil {
		return err
	}
	last, err := s.store.LastSeal(ctx)
	if err != nil {
		return err
	}
	head, err := s.store.Head(ctx)
	if err != nil {
		return err
	}
	for ctx.Err() == nil {
		next, err := s.next(ctx, last, head.Number)
		if err != nil || next == nil {
			return errors.Join(err, s.Export(ctx))
		}
		stored, err := s.store.AddSeal(ctx, *next)
		if err != nil || !stored {
			return errors.Join(err, s.Export(ctx)) // another sealer was faster: look again
		}
		last = next
	}
	return nil
}

// next makes the next seal, nil when none is due.
func (s *Sealer) next(ctx context.Context, last *seal.Seal, head int64) (*seal.Seal, error) {
	x := seal.Seal{StoreUUID: s.uuid, Number: 1, First: 1}
	var before eventstore.Hash
	if last != nil {
		x.Number, x.First, x.Previous, before = last.Number+1, last.Last+1, last.Hash(), last.Head
	}
	switch {
	case head < x.First-1:
		return nil, fmt.Errorf("seal the log: %w: it ends at position %d and is sealed up to %d", ErrLogBroken, head, x.First-1)
	case head < x.First:
		s.waiting = 0
		return nil, nil
	}
	end, err := s.store.SealEnd(ctx, x.First-1)
	if err != nil {
		return nil, err
	}
	full := min(x.First-1+s.opts.Every, max(end, x.First))
	if s.waiting != x.First {
		s.waiting, s.since = x.First, s.env.Now()
	}
	if head < full && s.env.Now().Sub(s.since) < s.opts.After {
		return nil, nil
	}
	x.Last = min(full, head)
	return s.sign(ctx, x, before)
}

// sign checks the chain of the records, and signs.
func (s *Sealer) sign(ctx context.Context, x seal.Seal, before eventstore.Hash) (*seal.Seal, error) {
	var tree seal.Tree
	at := eventstore.Mark{Number: x.First - 1, Hash: before}
	err := s.store.Scan(ctx, at.Number, x.Last, func(r *eventstore.Record) error {
		if err := eventstore.CheckNext(at, r); err != nil {
			return fmt.Errorf("%w: %w", ErrLogBroken, err)
		}
		at = r.Head()
		tree.Append(r.Hash)
		return nil
	})
	if err == nil && at.Number != x.Last {
		err = fmt.Errorf("%w: position %d is missing", ErrLogBroken, at.Number+1)
	}
	if err != nil {
		return nil, fmt.Errorf("seal positions %d to %d: %w", x.First, x.Last, err)
	}
	x.Root, x.Head, x.SealedAt = tree.Root(), at.Hash, s.env.Now()
	x.Sign(s.key)
	return &x, nil
}
