package commands

import "context"

// SettleAsKnown settles by what the board knows, without looking.
func (b *Switchboard) SettleAsKnown(ctx context.Context) error { return b.settle(ctx, b.known.Load()) }
