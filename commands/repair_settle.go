package commands

import "context"

// Settle decides the orders that the gate alone knows, and mends nothing else: their
// buyers were told yes, and their entry left the journal before it was recorded. Each
// is recorded as its buyer's record in the gate has it, or rejected as lost. Nobody
// has to decide anything about that.
func (m *Repairer) Settle(ctx context.Context, sale string, actor Actor) (ReconcileReport, error) {
	return m.repair(ctx, sale, actor, []way{byOrder})
}

// settles tells whether Settle does something about the finding.
func (f Finding) settles() bool { return f.way() == byOrder }
