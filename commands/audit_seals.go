package commands

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"iter"

	"seckill/eventstore"
	"seckill/eventstore/seal"
)

// sealCheck holds the seals against the records that pass by. It knows the stored
// and the exported ones, and goes by the exported where they differ.
type sealCheck struct {
	st       *stitcher
	from, to int64
	keys     map[string]ed25519.PublicKey
	trusted  bool // keys are from outside of the database

	nextStored, nextExported func() (*seal.Seal, error, bool)
	stops                    []func()
	stored, exported         *seal.Seal // the next of each, nil at the end

	previous *seal.Seal
	now      *seal.Seal // the seal whose records pass by
	tree     seal.Tree
	head     eventstore.Hash
	judged   int64 // the last position under a seal that was judged, well or not
}

// wholeSeals widens a range to the seals, stored and exported, that it holds a
// part of, as a seal can be judged only by all of its records.
func (a *Auditor) wholeSeals(ctx context.Context, opts *AuditOptions, to int64) error {
	first, last := opts.From, to
	widen := func(s *seal.Seal) error {
		if s.First < opts.From && opts.From <= s.Last {
			first = min(first, s.First)
		}
		if s.First <= to && to < s.Last {
			last = max(last, s.Last)
		}
		return nil
	}
	if a.Exported != nil {
		if err := a.Exported.Each(widen); err != nil {
			return err
		}
	}
	for s, err := range storedSeals(ctx, a.Stored) {
		if err != nil {
			return err
		}
		_ = widen(s) // it never fails
	}
	opts.From = first
	if opts.To > 0 && opts.To < last {
		opts.To = last
	}
	return nil
}

func (a *Auditor) newSealCheck(ctx context.Context, st *stitcher, opts AuditOptions, to int64) (*sealCheck, error) {
	c := &sealCheck{st: st, from: opts.From, to: to, keys: map[string]ed25519.PublicKey{}}
	var exported ExportedSeals = noSeals{}
	if a.Exported != nil {
		exported = a.Exported
	}
	keys, err := exported.Keys()
	if err != nil {
		return nil, err
	}
	if c.trusted = len(keys) > 0; c.trusted {
		c.keys = keys
	} else {
		for _, k := range a.KeysOfStore {
			c.keys[seal.KeyID(k)] = k
		}
	}
	c.pull(&c.nextStored, storedSeals(ctx, a.Stored))
	c.pull(&c.nextExported, exportedSeals(exported))
	return c, c.start()
}

// noSeals stands for a folder that nobody named.
type noSeals struct{}

func (noSeals) Each(func(*seal.Seal) error) error           { return nil }
func (noSeals) Keys() (map[string]ed25519.PublicKey, error) { return nil, nil }

type sealSeq = iter.Seq2[*seal.Seal, error]

func (c *sealCheck) pull(next *func() (*seal.Seal, error, bool), seq sealSeq) {
	n, stop := iter.Pull2(seq)
	*next, c.stops = n, append(c.stops, stop)
}

func (c *sealCheck) close() {
	for _, stop := range c.stops {
		stop()
	}
}

func storedSeals(ctx context.Context, stored StoredSeals) sealSeq {
	return func(yield func(*seal.Seal, error) bool) {
		var after int64
		for {
			page, err := stored.Seals(ctx, after, sealPage)
			if err != nil {
				yield(nil, err)
				return
			}
			for i := range page {
				after = page[i].Number
				if !yield(&page[i], nil) {
					return
				}
			}
			if len(page) < sealPage {
				return
			}
		}
	}
}

// enoughSeals ends a reading early.
type enoughSeals struct{}

func (enoughSeals) Error() string { return "enough" }

func exportedSeals(exported ExportedSeals) sealSeq {
	return func(yield func(*seal.Seal, error) bool) {
		err := exported.Each(func(s *seal.Seal) error {
			if !yield(s, nil) {
				return enoughSeals{}
			}
			return nil
		})
		if err != nil && err != (enoughSeals{}) {
			yield(nil, err)
		}
	}
}

// start steps to the first seal that begins in what is audited. The one before it
// is believed, so that the chain can be checked from there.
func (c *sealCheck) start() error {
	// The exported ones first, as they are now: each of them was stored before, so
	// that none of them is missed among the stored ones while both grow.
	if err := c.step(&c.exported, c.nextExported); err != nil {
		return err
	}
	if err := c.step(&c.stored, c.nextStored); err != nil {
		return err
	}
	for {
		s, err := c.next()
		if err != nil {
			return err
		}
		if s == nil || s.First >= c.from {
			c.now = s
			return nil
		}
		c.previous = s
	}
}

func (c *sealCheck) step(to **seal.Seal, next func() (*seal.Seal, error, bool)) error {
	s, err, ok := next()
	if !ok {
		s = nil
	}
	*to = s
	return err
}

// next gives the next seal of both lists, saying where they differ.
func (c *sealCheck) next() (*seal.Seal, error) {
	a, b := c.stored, c.exported
	inside := func(s *seal.Seal) bool { return s.First >= c.from && s.Last <= max(c.to, s.First) }
	switch {
	case a == nil && b == nil:
		return nil, nil
	case b == nil: // not exported yet
		return a, c.step(&c.stored, c.nextStored)
	case a == nil || b.Number < a.Number:
		if inside(b) || b.Last > c.to {
			c.fault(b, "was exported and is not in the database: seals, and perhaps records, were removed or the database was put back to an older state")
		}
		return b, c.step(&c.exported, c.nextExported)
	case a.Number < b.Number:
		if inside(a) {
			c.fault(a, "is in the database and is missing among the exported ones")
		}
		return a, c.step(&c.stored, c.nextStored)
	}
	if !a.Equal(b) && inside(b) {
		c.fault(b, "differs from the one that was exported: the log was written anew, or the seal forged")
	}
	if err := c.step(&c.stored, c.nextStored); err != nil {
		return nil, err
	}
	return b, c.step(&c.exported, c.nextExported)
}

func (c *sealCheck) fault(s *seal.Seal, what string) {
	c.st.fault(AuditFault{Position: s.First, Kind: FaultSeal, Detail: fmt.Sprintf("seal %d over positions %d to %d %s", s.Number, s.First, s.Last, what)})
}

// record takes the next record that passes by.
func (c *sealCheck) record(position int64, h eventstore.Hash) error {
	for c.now != nil && c.now.Last < position {
		if err := c.done(); err != nil {
			return err
		}
	}
	if c.now == nil || position < c.now.First {
		return nil
	}
	c.tree.Append(h)
	c.head = h
	if position == c.now.Last {
		return c.done()
	}
	return nil
}

// done judges the seal whose records have passed by, and takes the next.
func (c *sealCheck) done() error {
	s, good := c.now, true
	bad := func(what string) { c.fault(s, what); good = false }
	if c.previous != nil || s.First == 1 {
		if what := s.Follows(c.previous); what != "" {
			bad("does not follow the seal before: " + what)
		}
	}
	switch key, ok := c.keys[s.KeyID]; {
	case !ok && c.trusted:
		bad("is signed with the key " + s.KeyID + ", which is not among the trusted ones")
	case !ok:
		bad("is signed with the key " + s.KeyID + ", which nobody knows")
	case !s.SignedBy(key):
		bad("has a signature that is not that of its key")
	}
	switch {
	case c.tree.Count() != s.Count():
		bad(fmt.Sprintf("covers %d records and %d are there", s.Count(), c.tree.Count()))
	case c.tree.Root() != s.Root || c.head != s.Head:
		bad("does not fit the records: they are not those that were sealed")
	}
	c.st.report.Seals++
	c.judged = s.Last
	if good {
		c.st.report.SealedTo = s.Last
	}
	c.tree.Reset()
	c.previous = s
	var err error
	c.now, err = c.next()
	return err
}

// finish says which seals cover more than the log has. head is where it ends now,
// after every seal was read.
func (c *sealCheck) finish(head int64) error {
	for c.now != nil {
		if c.now.Last > head {
			c.st.fault(AuditFault{Position: max(head+1, c.now.First), Kind: FaultSeal, Detail: fmt.Sprintf(
				"seal %d covers positions %d to %d, but the log ends at %d: its newest records were removed, or the database was put back to an older state", c.now.Number, c.now.First, c.now.Last, head)})
		}
		c.previous = c.now
		var err error
		if c.now, err = c.next(); err != nil {
			return err
		}
	}
	return nil
}

// note says when the seals were only checked with what the database says itself.
func (c *sealCheck) note() (warning string, needed bool) {
	return "the seals were checked with keys that the database itself names: give --seals with the folder they are exported to, to check them with keys from outside",
		!c.trusted && c.st.report.Seals > 0
}
