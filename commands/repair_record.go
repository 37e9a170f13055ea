package commands

import (
	"context"
	"errors"
)

// record writes the gate's record of the sale again from the log. Where what it has
// applied cannot even be read, it starts again.
func (m *mend) record(ctx context.Context, f Finding) (string, error) {
	_, err := m.Follow.RewriteSale(ctx, m.Sales, f.about.place)
	if errors.Is(err, ErrNotPrefix) {
		return m.restart(ctx, f)
	}
	if err != nil {
		return "", err
	}
	const now = "the gate's record of the sale was written again from the log"
	return now, m.note(ctx, m.repaired(f, f.Detail, now))
}

// restart lets the gate's record of the sale and all its stock start again in a
// recovery of the lane. Orders that the gate alone knows would go with it: they
// are settled before.
func (m *mend) restart(ctx context.Context, f Finding) (string, error) {
	if m.unsettled {
		return "an order that the gate alone knows has to be settled first", errNotMended
	}
	if err := m.Keeper.RestartSale(ctx, f.about.place); err != nil {
		return "", err
	}
	const now = "the gate's record of the sale and its accounts were built again from the log"
	return now, m.note(ctx, m.repaired(f, f.Detail, now))
}
