package commands

import (
	"context"
	"fmt"

	"seckill/domain"
	"seckill/eventstore"
)

// move notes a side of a move between buckets; its payload was read without a fault.
func (c *chunkReader) move(r *eventstore.Record) {
	if side, ok := readMoveSide(r); ok {
		c.chunk.moves = append(c.chunk.moves, side)
	}
}

// readMoveSide reads a side of a move out of a record; ok is false for all others, and
// for what cannot be read, which is a fault of its own.
func readMoveSide(r *eventstore.Record) (side moveSide, ok bool) {
	if r.Type != (*domain.StockMovedOut)(nil).EventType() && r.Type != (*domain.StockMovedIn)(nil).EventType() {
		return moveSide{}, false
	}
	ev, err := domain.Decode(r.Type, r.Schema, r.Payload)
	if err != nil {
		return moveSide{}, false
	}
	return moveSideOf(r, ev)
}

// moves finds the moves of which one side alone stands in the log, up to a position.
// Where a part is audited the other side may be right before or right behind it.
func (st *stitcher) moves(ctx context.Context, to int64) error {
	first := st.opts.From
	if err := st.besides(ctx, to, to+1, nil); err != nil {
		return err
	}
	if first > 1 {
		if err := st.besides(ctx, first-2, first-1, func(s moveSide) {
			st.report.Warnings = append(st.report.Warnings, fmt.Sprintf("the other side of the move at position %d cannot be read: it is before what was audited", s.position))
		}); err != nil {
			return err
		}
	}
	for _, side := range st.halves.left() {
		st.fault(AuditFault{Position: side.position, Stream: side.stream, Version: side.version, Kind: FaultMove, Detail: side.lacks()})
	}
	return nil
}

// besides looks for other sides in the record after a position, which is beside what
// was audited. Where there is none any more, archived says so of the side that follows.
func (st *stitcher) besides(ctx context.Context, after, to int64, archived func(moveSide)) error {
	if len(st.halves) == 0 {
		return nil
	}
	seen := false
	err := st.log.Scan(ctx, after, to, func(r *eventstore.Record) error {
		seen = true
		if side, ok := readMoveSide(r); ok {
			st.halves.meet(side)
		}
		return nil
	})
	if err != nil || seen || archived == nil {
		return err
	}
	for _, side := range st.halves.left() {
		if side.position == to+1 && !side.out && st.halves.meet(side.other()) {
			archived(side)
		}
	}
	return nil
}
