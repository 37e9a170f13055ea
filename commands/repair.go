package commands

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"seckill/domain"
	"seckill/eventstore"
)

// Repair is what was done about a finding. Detail says what stands there now, or
// why nothing was done.
type Repair struct {
	Kind    string `json:"kind"`
	SKU     string `json:"sku,omitempty"`
	OrderID string `json:"order_id,omitempty"`
	BuyerID string `json:"buyer_id,omitempty"`
	Done    bool   `json:"done"`
	Detail  string `json:"detail"`
}

// RepairKeeper mends the gate: see Keeper.
type RepairKeeper interface {
	RebuildStock(ctx context.Context, place domain.Place, sku string, w RebuildWish) (bool, error)
	RecoverLane(ctx context.Context, lane int) error
	RestartSale(ctx context.Context, place domain.Place) error
}

// Repairer mends what a Reconciler finds. The rule: keep what the buyer was told,
// and rather leave a unit unsold than sell one twice. Each repair looks again,
// exactly, before it changes anything, is an event of its own or noted by one, and
// is refused where what it was decided on has moved: it neither races live traffic
// nor another repair, and a second one changes nothing.
type Repairer struct {
	*Reconciler
	Keeper  RepairKeeper
	Follow  *Follower
	Journal Journal
	Locks   Locks
	// Rebuild folds a view again from the log. Retry applies what is set aside of a
	// sequence. Expire ends an order that nobody paid. A nil one leaves its findings.
	Rebuild func(ctx context.Context, projection string) error
	Retry   func(ctx context.Context, projection, sequence string) error
	Expire  func(ctx context.Context, order string) error
	// Resume sells a sale again that was paused because its books did not agree; nil
	// leaves that to the next round of a DriftWatch.
	Resume func(ctx context.Context, sale string, reason domain.PauseReason, actor Actor) (FoldedSale, error)
}

// repairLock lets one repair of an installation run at a time.
const repairLock = "repair"

// repairRounds bounds how often is looked for what a repair brought to light.
const repairRounds = 4

// Repair mends a sale, or all that are not cleaned up when sale is "", also where some
// cannot be compared, and reports what is left. Errors are those of Reconcile.
func (m *Repairer) Repair(ctx context.Context, sale string, actor Actor) (ReconcileReport, error) {
	report, err := m.repair(ctx, sale, actor, repairOrder[:])
	if err != nil && len(report.NotCompared) == 0 {
		return report, err
	}
	return report, errors.Join(err, m.sellAgain(ctx, report, actor))
}

// repair mends what these ways do, again as long as that brings more to light.
func (m *Repairer) repair(ctx context.Context, sale string, actor Actor, ways []way) (ReconcileReport, error) {
	held, release, err := m.Locks.Lock(ctx, repairLock)
	if err != nil {
		return ReconcileReport{}, fmt.Errorf("lock repairs: %w", err)
	}
	defer release()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(held, stop)()
	done := map[string][]Repair{}
	for round := 1; ; round++ {
		report, missed := m.Reconcile(ctx, sale)
		for i := range report.Sales {
			report.Sales[i].Repairs = done[report.Sales[i].Sale]
		}
		if missed != nil && (len(report.NotCompared) == 0 || ctx.Err() != nil) {
			return report, missed
		}
		if report.Drift() == 0 || round > repairRounds {
			return report, missed
		}
		progress, err := m.round(ctx, report, ways, actor, done)
		if err != nil {
			return report, err
		}
		for i := range report.Sales {
			report.Sales[i].Repairs = done[report.Sales[i].Sale]
		}
		if !progress {
			return report, missed
		}
	}
}

// sellAgain ends the pause for drift of every sale in which nothing is found any
// more by which units may be sold that do not exist.
func (m *Repairer) sellAgain(ctx context.Context, report ReconcileReport, actor Actor) error {
	if m.Resume == nil {
		return nil
	}
	for _, s := range report.Sales {
		sale, err := m.Sales.Fold(ctx, s.Sale)
		if err != nil {
			return err
		}
		if sale.Cleaned || slices.ContainsFunc(s.Findings, Finding.Dangerous) || !slices.Contains(sale.Pauses, domain.PausedByDrift) {
			continue
		}
		if _, err := m.Resume(ctx, s.Sale, domain.PausedByDrift, actor); err != nil {
			return fmt.Errorf("sell sale %s again after its repair: %w", s.Sale, err)
		}
	}
	return nil
}

// mend is a round of repairs over one sale.
type mend struct {
	*Repairer
	sale  FoldedSale
	actor Actor
	done  map[string]bool // what was mended already in this round, by name
	// unsettled: an order that the gate alone knows could not be settled.
	unsettled bool
}

// repairOrder is in which order a round mends: what lets others be seen first.
var repairOrder = [...]way{byLane, bySale, byOrder, byRestart, byStock, byGuard, byClaims, byExpiry, byRetry, byRebuild}

// round mends what it can of a report; progress tells whether it mended anything.
func (m *Repairer) round(ctx context.Context, report ReconcileReport, ways []way, actor Actor, done map[string][]Repair) (progress bool, err error) {
	views := map[string]bool{} // are of all sales
	for _, s := range report.Sales {
		sale, err := m.Sales.Fold(ctx, s.Sale)
		if err != nil {
			return progress, err
		}
		work := &mend{Repairer: m, sale: sale, actor: actor, done: views}
		for _, w := range ways {
			for _, f := range s.Findings {
				if f.way() != w {
					continue
				}
				repair, ok := work.one(ctx, f)
				if ctx.Err() != nil {
					return progress, ctx.Err()
				}
				if ok {
					progress = progress || repair.Done
					done[s.Sale] = append(done[s.Sale], repair)
				}
			}
		}
	}
	return progress, nil
}

// one mends one finding; ok is false where that was done with another one.
func (m *mend) one(ctx context.Context, f Finding) (r Repair, ok bool) {
	name := m.name(f)
	if m.done[name] {
		return r, false
	}
	m.done[name] = true
	r = Repair{Kind: f.Kind, SKU: f.SKU, OrderID: f.OrderID, BuyerID: f.BuyerID}
	detail, err := m.by(ctx, f)
	m.unsettled = m.unsettled || (err != nil && f.way() == byOrder)
	switch {
	case errors.Is(err, errNotMended):
		r.Detail = detail
	case err != nil:
		r.Detail = "not done: " + err.Error()
		m.Env.Log.Warn("repair not done", "sale_id", m.sale.ID, "kind", f.Kind, "order_id", f.OrderID, "error", err)
	default:
		r.Done, r.Detail = true, detail
		m.Env.Log.Info("repaired", "sale_id", m.sale.ID, "kind", f.Kind, "order_id", f.OrderID, "buyer_id", f.BuyerID, "sku", f.SKU, "detail", detail, "by", m.actor.By)
	}
	return r, true
}

// errNotMended: there was nothing to do any more, or nothing that can be done.
var errNotMended = errors.New("not mended")

// name tells apart what is mended one by one.
func (m *mend) name(f Finding) string {
	switch f.way() {
	case byLane:
		return fmt.Sprintf("lane %d", f.about.lane)
	case bySale:
		return fmt.Sprintf("record %v", f.about.place)
	case byRestart:
		return fmt.Sprintf("restart %v", f.about.place)
	case byStock:
		return fmt.Sprintf("stock %v %s", f.about.place, f.SKU+f.skuOfRecord())
	case byGuard:
		return fmt.Sprintf("guard %v %s", f.about.place, f.SKU)
	case byClaims:
		return "claims " + m.sale.ID + " " + f.BuyerID
	case byRebuild:
		return "view " + f.about.projection
	case byRetry:
		return "sequence " + f.about.projection + " " + f.about.sequence
	}
	return f.Kind + " " + f.OrderID
}

// by mends one finding in its way and says what stands there now.
func (m *mend) by(ctx context.Context, f Finding) (string, error) {
	switch f.way() {
	case byLane:
		return "the lane was recovered and its journal recorded", m.Keeper.RecoverLane(ctx, f.about.lane)
	case bySale:
		return m.record(ctx, f)
	case byRestart:
		return m.restart(ctx, f)
	case byOrder:
		return m.order(ctx, f)
	case byStock:
		return m.stock(ctx, f)
	case byGuard:
		return m.guard(ctx, f)
	case byClaims:
		return m.claims(ctx, f)
	case byExpiry:
		return m.outside(m.Expire != nil, "the order expired", func() error { return m.Expire(ctx, f.OrderID) })
	case byRetry:
		return m.noted(ctx, f, "the sequence was applied", m.Retry != nil, func() error { return m.Retry(ctx, f.about.projection, f.about.sequence) })
	case byRebuild:
		return m.noted(ctx, f, f.about.projection+" was folded again", m.Rebuild != nil, func() error { return m.Rebuild(ctx, f.about.projection) })
	}
	return "a person has to decide", errNotMended
}

// outside does what another part of the program can, where it is there.
func (m *mend) outside(there bool, detail string, do func() error) (string, error) {
	if !there {
		return "this process cannot do that", errNotMended
	}
	return detail, do()
}

// noted does so and notes it in the sale's stream.
func (m *mend) noted(ctx context.Context, f Finding, detail string, there bool, do func() error) (string, error) {
	said, err := m.outside(there, detail, do)
	if err != nil {
		return said, err
	}
	return said, m.note(ctx, m.repaired(f, f.Detail, detail))
}

func (m *mend) repaired(f Finding, before, after string) *domain.SaleRepaired {
	return &domain.SaleRepaired{SaleID: m.sale.ID, Kind: f.Kind, OrderID: f.OrderID, BuyerID: f.BuyerID, Before: before, After: after, Note: m.actor.Note, By: m.actor.By}
}

// note appends to the sale's stream, wherever it ends; nothing follows a clean-up.
func (m *mend) note(ctx context.Context, ev *domain.SaleRepaired) error {
	stored, err := m.saleEvent(ev)
	if err != nil {
		return err
	}
	_, err = m.Log.Submit(ctx, eventstore.Work{
		Needs: eventstore.Needs{Streams: []string{stored.Stream}},
		Decide: func(look eventstore.Look) (*eventstore.Group, error) {
			if isCleaned(look, stored.Stream) {
				return nil, nil
			}
			return &eventstore.Group{Appends: []eventstore.Append{stored}}, nil
		},
	})
	if err != nil {
		return fmt.Errorf("note a repair: %w", err)
	}
	m.followSale(ctx)
	return nil
}

func isCleaned(look eventstore.Look, saleStream string) bool {
	return look.Stream(saleStream).Type == (&domain.SaleCleaned{}).EventType()
}

func (m *mend) saleEvent(ev *domain.SaleRepaired) (eventstore.Append, error) {
	stored, err := m.Env.newEvent(ev, m.sale.ID, ev.OrderID, m.meta())
	return eventstore.Append{Stream: domain.SaleStream(m.sale.ID), Expected: eventstore.AnyVersion, Events: []eventstore.NewEvent{stored}}, err
}

func (m *mend) meta() Meta { return Meta{TraceID: m.actor.TraceID, By: m.actor.By} }

// followSale brings the gate's records of the sale to its stream's head; what
// stays behind the lane keeper brings up.
func (m *mend) followSale(ctx context.Context) {
	for _, place := range Places(m.Env.Store, m.sale.Sale) {
		if _, err := m.Follow.CatchUpSale(ctx, m.Sales, place); err != nil {
			m.Env.Log.Warn("repair noted; the gate follows later", "sale_id", m.sale.ID, "error", err)
		}
	}
}
