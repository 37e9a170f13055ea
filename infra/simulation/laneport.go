package simulation

import (
	"context"
	"fmt"
	"time"

	"seckill/commands"
	"seckill/domain"
)

// Lane is commands.Lanes'.
func (g gatePort) Lane(ctx context.Context, lane int) (commands.LaneState, error) {
	return read(ctx, g, fmt.Sprintf("look at lane %d", lane), func() (commands.LaneState, error) {
		return g.p.world.gate.Lane(background, lane)
	})
}

// CloseLane is commands.Lanes'.
func (g gatePort) CloseLane(ctx context.Context, lane int, epoch int64) (commands.LaneState, error) {
	return change(ctx, g, fmt.Sprintf("close lane %d under epoch %d", lane, epoch), showLane, func() (commands.LaneState, error) {
		return g.p.world.gate.CloseLane(background, lane, epoch)
	})
}

func showLane(l commands.LaneState) string {
	return fmt.Sprintf("open %t under epoch %d", l.Open, l.Epoch)
}

// OpenLane is commands.Lanes'.
func (g gatePort) OpenLane(ctx context.Context, lane int, epoch int64, server string) (bool, error) {
	return change(ctx, g, fmt.Sprintf("open lane %d under epoch %d on %s", lane, epoch, server), show, func() (bool, error) {
		return g.p.world.gate.OpenLane(background, lane, epoch, server)
	})
}

// Peek is commands.Hashes'.
func (g gatePort) Peek(ctx context.Context, place domain.Place, skus []string) (commands.Peeked, error) {
	return read(ctx, g, fmt.Sprintf("peek at %v of bucket %d", skus, place.Bucket), func() (commands.Peeked, error) {
		return g.p.world.gate.Peek(background, place, skus)
	})
}

// Stubs is commands.Hashes'.
func (g gatePort) Stubs(ctx context.Context, place domain.Place, skus, reset []string, epoch int64) (bool, error) {
	what := fmt.Sprintf("stubs of bucket %d, %v again, under epoch %d", place.Bucket, reset, epoch)
	return change(ctx, g, what, show, func() (bool, error) { return g.p.world.gate.Stubs(background, place, skus, reset, epoch) })
}

// StartAgain is commands.Hashes'.
func (g gatePort) StartAgain(ctx context.Context, place domain.Place, skus []string, epoch int64) (bool, error) {
	what := fmt.Sprintf("start bucket %d again under epoch %d", place.Bucket, epoch)
	return change(ctx, g, what, show, func() (bool, error) { return g.p.world.gate.StartAgain(background, place, skus, epoch) })
}

// OpenHashes is commands.Hashes'.
func (g gatePort) OpenHashes(ctx context.Context, place domain.Place, marks commands.HashMarks, epoch int64) (bool, error) {
	what := fmt.Sprintf("open the hashes of bucket %d under epoch %d", place.Bucket, epoch)
	return change(ctx, g, what, show, func() (bool, error) { return g.p.world.gate.OpenHashes(background, place, marks, epoch) })
}

// NewSale is commands.Preheater's.
func (g gatePort) NewSale(ctx context.Context, place domain.Place, skus []string, epoch int64, token string) (commands.PreheatStart, error) {
	what := fmt.Sprintf("new sale in bucket %d under epoch %d", place.Bucket, epoch)
	return change(ctx, g, what, show, func() (commands.PreheatStart, error) {
		return g.p.world.gate.NewSale(background, place, skus, epoch, token)
	})
}

// ResetStock is commands.Preheater's.
func (g gatePort) ResetStock(ctx context.Context, place domain.Place, sku string, epoch int64, token string) (commands.PreheatStart, error) {
	what := fmt.Sprintf("reset %s of bucket %d under epoch %d", sku, place.Bucket, epoch)
	return change(ctx, g, what, show, func() (commands.PreheatStart, error) {
		return g.p.world.gate.ResetStock(background, place, sku, epoch, token)
	})
}

// OpenPreheated is commands.Preheater's.
func (g gatePort) OpenPreheated(ctx context.Context, place domain.Place, marks commands.HashMarks, epoch int64, token string) (bool, error) {
	what := fmt.Sprintf("open what was preheated of bucket %d under epoch %d", place.Bucket, epoch)
	return change(ctx, g, what, show, func() (bool, error) {
		return g.p.world.gate.OpenPreheated(background, place, marks, epoch, token)
	})
}

// RemoveSale is commands.Cleaner's.
func (g gatePort) RemoveSale(ctx context.Context, place domain.Place, skus []string) (int, error) {
	return change(ctx, g, fmt.Sprintf("remove bucket %d", place.Bucket), show, func() (int, error) {
		return g.p.world.gate.RemoveSale(background, place, skus)
	})
}

// KeepSale is commands.Cleaner's: nothing here is forgotten by time.
func (g gatePort) KeepSale(context.Context, domain.Place, []string, time.Duration) error { return nil }

// CutJournal is commands.Cleaner's.
func (g gatePort) CutJournal(ctx context.Context, lane int, upTo domain.EntryID) (commands.JournalCut, error) {
	return change(ctx, g, fmt.Sprintf("cut lane %d up to %s", lane, upTo), show, func() (commands.JournalCut, error) {
		return g.p.world.gate.CutJournal(background, lane, upTo)
	})
}
