package commands

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"seckill/domain"
	"seckill/eventstore"
)

// AlarmTranche: a part of a sale's stock cannot be released although its time has
// come.
const AlarmTranche = "tranche"

// TrancheOptions tune Tranches; zero values take the defaults.
type TrancheOptions struct {
	// Every is the longest time between two sweeps (500 ms); the next part that is
	// known is released at its time.
	Every time.Duration
	// Again is when a part that was released is looked for once more (1 min): a log
	// that went back may have lost it.
	Again time.Duration
	// Released is told of each part; may be nil.
	Released func(late time.Duration)
	// Alarm is called when parts begin to fail; may be nil.
	Alarm func(Alarm)
}

func (o TrancheOptions) withDefaults() TrancheOptions {
	o.Every = orDefault(o.Every, 500*time.Millisecond)
	o.Again = orDefault(o.Again, time.Minute)
	if o.Released == nil {
		o.Released = func(time.Duration) {}
	}
	if o.Alarm == nil {
		o.Alarm = func(Alarm) {}
	}
	return o
}

// Tranches puts the later parts of stocks on sale at their times: each once, whoever
// runs it, however many do, and wherever one of them dies. A part is the event that
// released it: its id follows from stock stream and number, and the log takes no
// id twice. It is in the log before the gate has it.
type Tranches struct {
	env    *Env
	sales  *Sales
	log    eventstore.Appender
	follow *Follower
	opts   TrancheOptions

	parted  madeOf[[]FoldedSale]
	done    map[trancheOf]time.Time // when it is looked for again
	failing bool
}

// trancheOf names a part.
type trancheOf struct {
	sale, sku string
	number    int
}

// NewTranches makes Tranches; Run drives them.
func NewTranches(env *Env, sales *Sales, log eventstore.Appender, follow *Follower, opts TrancheOptions) *Tranches {
	return &Tranches{env: env, sales: sales, log: log, follow: follow, opts: opts.withDefaults(), done: map[trancheOf]time.Time{}}
}

// Run releases until ctx ends.
func (t *Tranches) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		next, err := t.Sweep(ctx)
		if err != nil && ctx.Err() == nil {
			t.env.Log.Warn("tranches not released; tried again", "error", err)
		}
		wait := t.opts.Every
		if !next.IsZero() {
			wait = min(wait, max(next.Sub(t.env.Now()), trancheLeast))
		}
		pause(ctx, wait)
	}
	return nil
}

// trancheLeast is the shortest pause between two sweeps.
const trancheLeast = 20 * time.Millisecond

// Sweep releases every part whose time has come, and gives when the next one comes,
// zero where none is known. It is not safe for concurrent use.
func (t *Tranches) Sweep(ctx context.Context) (next time.Time, err error) {
	sales, err := t.sales.List(ctx)
	if err != nil {
		return next, err
	}
	var faults []error
	for _, sale := range t.parted.get(sales, withParts) {
		soonest, err := t.sweepSale(ctx, sale)
		if err != nil {
			faults = append(faults, err)
		}
		if next.IsZero() || (!soonest.IsZero() && soonest.Before(next)) {
			next = soonest
		}
	}
	now := t.env.Now()
	for part, again := range t.done {
		if now.Sub(again) > t.opts.Again { // its sale is over
			delete(t.done, part)
		}
	}
	err = errors.Join(faults...)
	if err != nil && !t.failing && ctx.Err() == nil {
		t.opts.Alarm(Alarm{Kind: AlarmTranche, Lane: -1, Detail: err.Error()})
	}
	t.failing = err != nil
	return next, err
}

// withParts gives the sales whose stock comes in parts.
func withParts(sales []FoldedSale) []FoldedSale {
	var parted []FoldedSale
	for i := range sales {
		if len(sales[i].Planned()) > 0 {
			parted = append(parted, sales[i])
		}
	}
	return parted
}

func (t *Tranches) sweepSale(ctx context.Context, sale FoldedSale) (next time.Time, err error) {
	var faults []error
	for _, part := range sale.Planned() {
		now := t.env.Now()
		switch {
		case sale.Over(now):
			return next, errors.Join(faults...)
		case now.Before(part.At):
			if next.IsZero() || part.At.Before(next) {
				next = part.At
			}
			continue
		case !sale.Releases(part, now):
			continue
		}
		if err := t.release(ctx, sale, part); err != nil {
			faults = append(faults, fmt.Errorf("release tranche %d of %s in sale %s: %w", part.Number, part.SKU, sale.ID, err))
		}
	}
	return next, errors.Join(faults...)
}

// release puts a part on sale, unless it was or the log sees it otherwise: it may
// not be time yet by the store's clock, or the sale is over meanwhile.
func (t *Tranches) release(ctx context.Context, sale FoldedSale, part domain.Planned) error {
	name := trancheOf{sale.ID, part.SKU, part.Number}
	if t.env.Now().Before(t.done[name]) {
		return nil
	}
	for range changeTries {
		a := added{sale: sale, sku: part.SKU, quantity: part.Quantity, tranche: part.Number, actor: Actor{By: "scheduler"},
			id: func(stream string) uuid.UUID { return trancheID(stream, part.Number) }}
		t.env.step("tranche.before-append")
		receipt, err := t.log.Submit(ctx, t.work(a, part))
		switch {
		case errors.Is(err, errSaleMoved):
			if sale, err = t.sales.Fold(ctx, sale.ID); err != nil {
				return err
			}
			continue
		case err != nil:
			return err
		case receipt.Outcome == eventstore.Nothing:
			return nil // not yet, or not any more
		case receipt.Outcome == eventstore.Conflict:
			return errors.New("its event stands in another stream")
		}
		t.env.step("tranche.after-append")
		t.done[name] = t.env.Now().Add(t.opts.Again)
		if receipt.Outcome == eventstore.Stored {
			late := receipt.Records[0].RecordedAt.Sub(part.At)
			t.opts.Released(late)
			t.env.Log.Info("tranche released", "sale_id", sale.ID, "sku", part.SKU, "tranche", part.Number, "quantity", part.Quantity, "late_ms", late.Milliseconds())
		}
		a.push(ctx, t.env, t.follow, receipt.Records)
		t.env.step("tranche.after-push")
		return nil
	}
	return errSaleMoved
}

// errSaleMoved: the sale changed since it was folded.
var errSaleMoved = errors.New("the sale changed meanwhile")

// work releases the part, if the sale stands as it was folded and the store's clock
// agrees.
func (t *Tranches) work(a added, part domain.Planned) eventstore.Work {
	own := domain.SaleStream(a.sale.ID)
	return eventstore.Work{
		Needs: a.needs(),
		Decide: func(look eventstore.Look) (*eventstore.Group, error) {
			if look.Stream(own).Version != a.sale.Version {
				return nil, errSaleMoved
			}
			if !a.sale.Releases(part, look.Now()) {
				return nil, nil
			}
			group, _, err := a.group(t.env, look)
			return group, err
		},
	}
}

// trancheSpace is where the ids of released parts come from. It never changes: it
// keeps a part from being released twice.
var trancheSpace = uuid.MustParse("7d2f6b0e-3c55-4b8e-9a41-5f0c1e7b9d36")

// trancheID is the id of the event that releases a part into a stock stream.
func trancheID(stream string, number int) uuid.UUID {
	return uuid.NewSHA1(trancheSpace, fmt.Appendf(nil, "%s/tranche/%d", stream, number))
}
