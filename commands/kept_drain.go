package commands

import (
	"context"
	"time"
)

// drainLook is how often Drain looks.
const drainLook = 20 * time.Millisecond

// Drain waits, while Run runs and nothing new is kept, until all that is kept is
// recorded or ctx ends, and gives how many are not. It does not wait for what a pause
// of its sale holds back.
func (k *Kept) Drain(ctx context.Context) (left int) {
	for {
		if left = k.unsettled(); left == 0 || ctx.Err() != nil {
			return left
		}
		pause(ctx, drainLook)
	}
}

// unsettled counts what is kept and not held back.
func (k *Kept) unsettled() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	n := k.size
	for lane, held := range k.held {
		for _, p := range held {
			if _, kept := k.lanes[lane][p.reservation.Order]; kept {
				n--
			}
		}
	}
	return n
}
