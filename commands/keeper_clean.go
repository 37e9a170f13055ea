package commands

import (
	"context"
	"errors"
	"fmt"
	"time"

	"seckill/domain"
	"seckill/eventstore"
)

// cleanedType is the stored name of the event that ends a sale's stream. That it
// stands there is known also of a sale whose records were archived.
func cleanedType() string { return (&domain.SaleCleaned{}).EventType() }

// cleaned lists the sales and buckets that were cleaned up, by lane: the gate is
// to hold nothing of them.
func (k *Keeper) cleaned(ctx context.Context) (contents, error) {
	sales, err := k.sales.List(ctx)
	if err != nil {
		return nil, err
	}
	return k.gone.get(sales, func(sales []FoldedSale) contents { return k.contentsOf(sales, true) }), nil
}

// sweepCleaned takes away what the gate still holds of sales that were cleaned
// up: who did that died before he came to it, or an older copy of the gate came
// back. Each bucket is looked after once for each process of the gate.
func (k *Keeper) sweepCleaned(ctx context.Context) error {
	gone, err := k.cleaned(ctx)
	if err != nil {
		return err
	}
	var faults []error
	for lane, buckets := range gone {
		state, err := k.gate.Lane(ctx, lane)
		if err != nil {
			return fmt.Errorf("look at lane %d: %w", lane, err)
		}
		due := k.notRemoved(buckets, state.Server)
		if len(due) == 0 {
			continue
		}
		err = k.locked(ctx, lane, func(ctx context.Context) error { return k.removeAll(ctx, due, state.Server) })
		if err != nil {
			faults = append(faults, fmt.Errorf("clear lane %d: %w", lane, err))
		}
	}
	return errors.Join(faults...)
}

// notRemoved leaves out what was taken away from this process of the gate.
func (k *Keeper) notRemoved(buckets []saleBucket, server string) []saleBucket {
	k.mu.Lock()
	defer k.mu.Unlock()
	var due []saleBucket
	for _, b := range buckets {
		if server == "" || k.removed[b.place] != server {
			due = append(due, b)
		}
	}
	return due
}

// removeAll takes buckets of cleaned-up sales out of the gate. The caller holds
// the lane's lock.
func (k *Keeper) removeAll(ctx context.Context, buckets []saleBucket, server string) error {
	for _, b := range buckets {
		n, err := k.gate.RemoveSale(ctx, b.place, b.skus)
		if err != nil {
			return fmt.Errorf("take sale %s out of the gate: %w", b.place.Sale, err)
		}
		k.mu.Lock()
		if k.removed == nil {
			k.removed = map[domain.Place]string{}
		}
		k.removed[b.place] = server
		k.mu.Unlock()
		if n > 0 {
			k.env.Log.Info("cleaned-up sale taken out of the gate", "sale_id", b.place.Sale, "bucket", b.place.Bucket, "keys", n)
		}
	}
	return nil
}

// clearLane takes every cleaned-up sale out of a lane that is being recovered: it
// must not open with a record that the log has ended.
func (k *Keeper) clearLane(ctx context.Context, lane int, server string) error {
	gone, err := k.cleaned(ctx)
	if err != nil {
		return err
	}
	return k.removeAll(ctx, gone[lane], server)
}

// RemoveSale takes a cleaned-up sale out of the gate, bucket by bucket, each
// under its lane's lock. It gives how many keys there were. Doing it again is
// harmless; a sale that was not cleaned up is an error.
func (k *Keeper) RemoveSale(ctx context.Context, sale domain.Sale) (keys int, err error) {
	if !sale.Cleaned {
		return 0, fmt.Errorf("take sale %s out of the gate: it was not cleaned up", sale.ID)
	}
	for _, place := range Places(k.env.Store, sale) {
		err := k.locked(ctx, place.Lane(), func(ctx context.Context) error {
			n, err := k.gate.RemoveSale(ctx, place, sale.SKUs())
			keys += n
			return err
		})
		if err != nil {
			return keys, fmt.Errorf("take sale %s out of the gate, bucket %d: %w", sale.ID, place.Bucket, err)
		}
	}
	return keys, nil
}

// Keys of a sale are forgotten keptFor after its end or after the last keeper told
// the gate to keep them, whichever is later; it is told anew every keepAgain. So
// they go only where nobody has looked after them for that long, and a keeper that
// finds them gone builds them again from the log, as after any loss.
const (
	keptFor   = 14 * 24 * time.Hour
	keepAgain = 24 * time.Hour
)

// keep tells the gate for how long to keep a bucket. That it could not be told is
// no harm: it is told again.
func (k *Keeper) keep(ctx context.Context, b saleBucket) {
	now := k.env.Now()
	k.mu.Lock()
	last, known := k.kept[b.place]
	k.mu.Unlock()
	if known && now.Sub(last) < keepAgain {
		return
	}
	sale, err := k.sales.Get(ctx, b.place.Sale)
	if err != nil || sale.Cleaned {
		return
	}
	keep := keptFor + max(sale.Terms.ClosesAt.Sub(now), 0)
	if err := k.gate.KeepSale(ctx, b.place, b.skus, keep); err != nil {
		k.env.Log.Warn("gate not told to keep a sale; told again", "sale_id", b.place.Sale, "error", err)
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.kept == nil {
		k.kept = map[domain.Place]time.Time{}
	}
	k.kept[b.place] = now
}

// LaneCut is what cutting a lane's journal came to: where it was cut, how many
// entries went this time, and the sale that keeps the next one, "" where none is
// left that the log has.
type LaneCut struct {
	Lane    int
	Cut     JournalCut
	Entries int
	KeptFor string
}

// CutJournal cuts a lane's journal up to the first entry that holds a purchase of
// a sale not cleaned up, or of an order that the log has not decided, and never
// beyond the lane's cursor. It recovers the lane first where that is needed: what
// an older epoch left behind is then recorded.
func (k *Keeper) CutJournal(ctx context.Context, lane int) (LaneCut, error) {
	done := LaneCut{Lane: lane}
	err := k.locked(ctx, lane, func(ctx context.Context) error {
		if err := k.ensureLane(ctx, lane); err != nil {
			return err
		}
		state, err := k.gate.Lane(ctx, lane)
		if err != nil {
			return fmt.Errorf("look at it: %w", err)
		}
		cursor, err := k.cursor(ctx, lane)
		if err != nil {
			return err
		}
		if !state.Selling() || state.Epoch != cursor.Epoch {
			return ErrOvertaken
		}
		done.Cut = state.Cut
		return k.cutPages(ctx, cursor, &done)
	})
	if err != nil {
		return done, fmt.Errorf("cut the journal of lane %d: %w", lane, err)
	}
	return done, nil
}

func (k *Keeper) cutPages(ctx context.Context, cursor eventstore.Cursor, done *LaneCut) error {
	for {
		entries, err := k.gate.ReadLane(ctx, done.Lane, done.Cut.ID, drainPage)
		if err != nil {
			return fmt.Errorf("read after %s: %w", done.Cut.ID, err)
		}
		n, keptFor, err := k.cuttable(ctx, entries, cursor)
		if err != nil {
			return err
		}
		if n > 0 {
			if done.Cut, err = k.gate.CutJournal(ctx, done.Lane, entries[n-1].ID); err != nil {
				return err
			}
			done.Entries += n
		}
		if n < drainPage {
			done.KeptFor = keptFor
			return nil
		}
	}
}

// cuttable tells how many of the first entries no sale needs any more, and which
// sale needs the next.
func (k *Keeper) cuttable(ctx context.Context, entries []JournalEntry, cursor eventstore.Cursor) (n int, keptFor string, err error) {
	var opened [][]accepted
	var streams []string
	for _, e := range entries {
		if e.ID.Epoch > cursor.Epoch || (e.ID.Epoch == cursor.Epoch && e.ID.N > cursor.N) {
			break
		}
		entry, err := openEntry(e)
		if err != nil {
			k.env.Log.Warn("journal not cut behind an entry that cannot be read", "lane", e.Lane, "error", err)
			break
		}
		for i := range entry.purchases {
			streams = append(streams, entry.purchases[i].orderStream(), domain.SaleStream(entry.purchases[i].Sale))
		}
		if t := entry.taken; t != nil { // kept as long as what was bought
			sale, _ := t.about()
			streams = append(streams, t.streams()[0], domain.SaleStream(sale))
			entry.purchases = append(entry.purchases, accepted{Purchase: Purchase{Sale: sale}})
		}
		opened = append(opened, entry.purchases)
	}
	states, err := k.log.States(ctx, streams)
	if err != nil {
		return 0, "", fmt.Errorf("read what became of %d orders: %w", len(streams)/2, err)
	}
	for n, purchases := range opened {
		for i := range purchases {
			order, sale := states[0], states[1]
			states = states[2:]
			// What names no sale of ours stands in the log with all its bytes.
			over := sale.Type == cleanedType() || purchases[i].Sale == ""
			if order.Version == 0 || !over {
				return n, purchases[i].Sale, nil
			}
		}
	}
	return len(opened), "", nil
}
