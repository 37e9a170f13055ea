package commands

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"time"

	"seckill/eventstore"
)

// preheat makes one bucket of a sale ready in a healthy lane. The caller holds
// the lane's lock, so no other preheat of it lives.
func (k *Keeper) preheat(ctx context.Context, b saleBucket) error {
	seen, err := k.gate.Peek(ctx, b.place, b.skus)
	if err != nil {
		return fmt.Errorf("look at sale %s: %w", b.place.Sale, err)
	}
	// Asked after the look: what was removed before it was cleaned up before it.
	if sale, err := k.sales.Fold(ctx, b.place.Sale); err != nil || sale.Cleaned {
		return err
	}
	switch seen.Sale.State {
	case HashMissing:
		return k.preheatSale(ctx, b)
	case HashStub:
		// A first preheat that died half-way, or a recovery that did: the lane's
		// recovery opens its stubs.
		return k.forceRecovery(ctx, b.place.Lane())
	}
	for i, sku := range b.skus {
		if seen.Stocks[i].State == HashOpen {
			_, err = k.follow.CatchUpStock(ctx, b.place, sku)
		}
		if errors.Is(err, ErrNotPrefix) && seen.Stocks[i].Applied.Number != Unreadable {
			// The log went back. It may have lost what the journal has of older epochs,
			// and that only a recovery records again.
			return k.forceRecovery(ctx, b.place.Lane())
		}
		if seen.Stocks[i].State != HashOpen || errors.Is(err, ErrNotPrefix) || errors.Is(err, ErrHashMissing) {
			err = k.preheatStock(ctx, b, sku)
		}
		if err != nil {
			return err
		}
	}
	_, err = k.follow.CatchUpSale(ctx, k.sales, b.place)
	if errors.Is(err, ErrNotPrefix) {
		return k.forceRecovery(ctx, b.place.Lane())
	}
	return err
}

func (k *Keeper) forceRecovery(ctx context.Context, lane int) error {
	k.mu.Lock()
	k.suspect[lane] = true
	k.mu.Unlock()
	return k.ensureLane(ctx, lane)
}

// preheatSale builds the record of a sale that the gate never held. Where the
// log says that it did, the record was lost: a matter for the lane's recovery.
// Only who wrote that note may build the record without one, and under the epoch
// of before the note: so a preheat that stalls here can never build over
// purchases that a recovery let in meanwhile (docs/model/first_preheat.py).
func (k *Keeper) preheatSale(ctx context.Context, b saleBucket) error {
	cursor, err := k.cursor(ctx, b.place.Lane())
	if err != nil {
		return err
	}
	first, err := k.notePreheat(ctx, b.place)
	if err != nil {
		return err
	}
	if !first {
		return k.forceRecovery(ctx, b.place.Lane())
	}
	k.env.step("preheat.after-note")
	token, err := k.token()
	if err != nil {
		return err
	}
	start, err := k.gate.NewSale(ctx, b.place, b.skus, cursor.Epoch, token)
	if err != nil {
		return fmt.Errorf("preheat sale %s: %w", b.place.Sale, err)
	}
	if !start.OK {
		return fmt.Errorf("preheat sale %s: %w", b.place.Sale, ErrOvertaken)
	}
	marks := HashMarks{SKUs: b.skus}
	if marks.Sale, err = k.follow.CatchUpSale(ctx, k.sales, b.place); err != nil {
		return err
	}
	for _, sku := range b.skus {
		mark, err := k.follow.CatchUpStock(ctx, b.place, sku)
		if err != nil {
			return err
		}
		marks.Stocks = append(marks.Stocks, mark)
	}
	return k.openPreheated(ctx, b, marks, cursor.Epoch, token)
}

// preheatStock builds one stock hash of a sale that sells: reset, wait until
// every purchase the gate had accepted by then is recorded, only then read the
// head, apply from version 0, open.
func (k *Keeper) preheatStock(ctx context.Context, b saleBucket, sku string) error {
	return k.buildStock(ctx, b, sku, func(context.Context) error { return nil })
}

// buildStock does so, and calls quiet where everything that was sold of the item
// is recorded and nothing more is sold of it until it opens again.
func (k *Keeper) buildStock(ctx context.Context, b saleBucket, sku string, quiet func(context.Context) error) error {
	cursor, err := k.cursor(ctx, b.place.Lane())
	if err != nil {
		return err
	}
	token, err := k.token()
	if err != nil {
		return err
	}
	start, err := k.gate.ResetStock(ctx, b.place, sku, cursor.Epoch, token)
	if err != nil {
		return fmt.Errorf("preheat %s of sale %s: %w", sku, b.place.Sale, err)
	}
	if !start.OK {
		return fmt.Errorf("preheat %s of sale %s: %w", sku, b.place.Sale, ErrOvertaken)
	}
	if err := k.awaitCursor(ctx, b.place.Lane(), start); err != nil {
		return fmt.Errorf("preheat %s of sale %s: %w", sku, b.place.Sale, err)
	}
	if err := quiet(ctx); err != nil {
		return err
	}
	head, err := k.log.Head(ctx)
	if err != nil {
		return fmt.Errorf("read the head of the log: %w", err)
	}
	mark, err := k.follow.CatchUpStock(ctx, b.place, sku)
	if err != nil {
		return err
	}
	if err := k.stillHas(ctx, head); err != nil {
		return fmt.Errorf("preheat %s of sale %s: %w", sku, b.place.Sale, err)
	}
	marks := HashMarks{SKUs: []string{sku}, Stocks: []eventstore.Mark{mark}}
	return k.openPreheated(ctx, b, marks, start.Epoch, token)
}

// stillHas tells whether the log has a place that it had. One that went back meanwhile
// does not say what was recorded: what is built by it would sell units a second time.
func (k *Keeper) stillHas(ctx context.Context, head eventstore.Mark) error {
	if head.Number == 0 {
		return nil
	}
	at, ok, err := k.log.At(ctx, head.Number)
	switch {
	case err != nil:
		return fmt.Errorf("look whether the log went back: %w", err)
	case !ok, at.Head() != head:
		return fmt.Errorf("the log had position %d: %w", head.Number, errWentBack)
	}
	return nil
}

func (k *Keeper) openPreheated(ctx context.Context, b saleBucket, marks HashMarks, epoch int64, token string) error {
	ok, err := k.gate.OpenPreheated(ctx, b.place, marks, epoch, token)
	if err != nil {
		return fmt.Errorf("open what was preheated of sale %s: %w", b.place.Sale, err)
	}
	if !ok {
		return fmt.Errorf("open what was preheated of sale %s: %w", b.place.Sale, ErrOvertaken)
	}
	k.env.Log.Info("preheated", "sale_id", b.place.Sale, "bucket", b.place.Bucket, "skus", marks.SKUs)
	return nil
}

// awaitCursor waits until the lane's cursor has reached the entry at which a
// preheat began, under the same epoch.
func (k *Keeper) awaitCursor(ctx context.Context, lane int, start PreheatStart) error {
	ctx, cancel := context.WithTimeout(ctx, k.opts.Wait)
	defer cancel()
	for {
		c, err := k.cursor(ctx, lane)
		switch {
		case err != nil:
			return err
		case c.Epoch != start.Epoch:
			return ErrOvertaken
		case c.N >= start.N:
			return nil
		}
		pause(ctx, 5*time.Millisecond)
		if ctx.Err() != nil {
			return fmt.Errorf("the recorder did not reach entry %d-%d: %w", start.Epoch, start.N, ctx.Err())
		}
	}
}

func (k *Keeper) cursor(ctx context.Context, lane int) (eventstore.Cursor, error) {
	cursors, err := k.log.Cursors(ctx, []int{lane})
	if err != nil {
		return eventstore.Cursor{}, fmt.Errorf("read cursor of lane %d: %w", lane, err)
	}
	return cursors[0], nil
}

func (k *Keeper) token() (string, error) {
	var b [12]byte
	if _, err := io.ReadFull(k.env.Random, b[:]); err != nil {
		return "", fmt.Errorf("make a preheat token: %w", err)
	}
	return hex.EncodeToString(b[:]), nil
}
