package commands

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"seckill/domain"
)

// AlarmDrift: a reconciliation found something that the one before had not.
const AlarmDrift = "drift"

// DriftWatch reconciles every sale again and again. It pauses a sale, for the
// reason drift, while a finding stands by which units may be sold that do not
// exist, and takes that reason away when none is left. Of repairs it does one alone,
// for an accepted order must not stay undecided: see Settle.
type DriftWatch struct {
	Env   *Env
	Sales *Sales
	// Reconcile reports on one sale; see Reconciler.
	Reconcile func(ctx context.Context, sale string) (ReconcileReport, error)
	Operator  DriftOperator
	// Settle decides the orders of a sale that the gate alone knows, and reports what is
	// left; see Repairer. Nil: they wait for a person.
	Settle func(ctx context.Context, sale string, actor Actor) (ReconcileReport, error)
	// Every is the pause between rounds.
	Every time.Duration
	// Alarm is called for what a person must look at, Told after each round; both may
	// be nil.
	Alarm func(Alarm)
	Told  func(DriftRound)

	known map[string]watched
}

// DriftOperator stops and starts sales.
type DriftOperator interface {
	Pause(ctx context.Context, sale string, reason domain.PauseReason, actor Actor) (FoldedSale, error)
	Resume(ctx context.Context, sale string, reason domain.PauseReason, actor Actor) (FoldedSale, error)
}

// DriftRound is what one round over all sales found.
type DriftRound struct {
	At       time.Time
	Took     time.Duration
	Sales    int            // that were compared
	Closed   int            // whose gate was not open, or that could not be read
	Findings map[string]int // by kind
}

// Clean tells whether every sale was compared and nothing was found.
func (r DriftRound) Clean() bool { return r.Closed == 0 && len(r.Findings) == 0 }

// watched is what is remembered of a sale between rounds.
type watched struct {
	kinds   string    // found in the last run
	settled time.Time // of the last run, where the sale was over and nothing was found
	missed  bool      // it could not be compared: the others come first
}

// A sale that is over and whose books agree is looked at less often.
const (
	driftSettled = time.Hour
	// driftFirst bounds how long the first round waits: a process that just started
	// has other things to do.
	driftFirst = 30 * time.Second
	// After each sale the watch rests for driftRests times as long as that took, at
	// most driftRestMost: with thousands of sales a round takes minutes, and those who
	// sell have the stores meanwhile.
	driftRests    = 4
	driftRestMost = 250 * time.Millisecond
)

// driftActor is who stops and starts sales.
const driftActor = "reconciliation"

// Run goes on until ctx ends.
func (w *DriftWatch) Run(ctx context.Context) error {
	for w.rest(ctx, min(w.Every, driftFirst)); ctx.Err() == nil; w.rest(ctx, w.Every) {
		if _, err := w.Round(ctx); err != nil && ctx.Err() == nil {
			w.Env.Log.Warn("books not compared; tried again", "error", err)
		}
	}
	return nil
}

// rest waits for d, or until ctx ends.
func (w *DriftWatch) rest(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}

// Round looks at every sale whose turn it is, once. It is not safe for concurrent
// use.
func (w *DriftWatch) Round(ctx context.Context) (DriftRound, error) {
	sales, err := w.Sales.List(ctx)
	if err != nil {
		return DriftRound{}, err
	}
	round := DriftRound{At: w.Env.Now(), Findings: map[string]int{}}
	sales = slices.Clone(sales) // the list is shared
	slices.SortStableFunc(sales, func(a, b FoldedSale) int { return w.missed(a.ID) - w.missed(b.ID) })
	var took time.Duration // the last comparison
	for _, sale := range sales {
		if ctx.Err() != nil {
			return round, ctx.Err()
		}
		if sale.Cleaned {
			delete(w.known, sale.ID)
		} else if round.At.Sub(w.known[sale.ID].settled) >= driftSettled {
			w.rest(ctx, min(driftRests*took, driftRestMost))
			began := w.Env.Now()
			w.look(ctx, sale, &round)
			took = w.Env.Now().Sub(began)
		}
	}
	round.Took = w.Env.Now().Sub(round.At)
	w.Env.Log.Info("books compared", "sales", round.Sales, "not_compared", round.Closed, "findings", round.sum(), "took_ms", round.Took.Milliseconds())
	if w.Told != nil {
		w.Told(round)
	}
	return round, nil
}

// missed is 1 for a sale that could not be compared last time: a round waits for its
// gate, and no other sale waits for that.
func (w *DriftWatch) missed(sale string) int {
	if w.known[sale].missed {
		return 1
	}
	return 0
}

func (r DriftRound) sum() int {
	n := 0
	for _, count := range r.Findings {
		n += count
	}
	return n
}

// look reconciles one sale and acts on what is found.
func (w *DriftWatch) look(ctx context.Context, sale FoldedSale, round *DriftRound) {
	if w.known == nil {
		w.known = map[string]watched{}
	}
	now := w.Env.Now()
	report, err := w.Reconcile(ctx, sale.ID)
	if err == nil && len(report.Sales) > 0 && w.Settle != nil && slices.ContainsFunc(report.Sales[0].Findings, Finding.settles) {
		w.raise(sale.ID, report.Sales[0])
		report, err = w.Settle(ctx, sale.ID, Actor{By: driftActor, Note: "its entry left the journal before it was recorded"})
	}
	if err != nil || len(report.Sales) == 0 {
		round.Closed++
		was := w.known[sale.ID]
		was.missed = true
		w.known[sale.ID] = was
		if !errors.Is(err, ErrNoCut) {
			w.Env.Log.Warn("books of a sale not compared", "sale_id", sale.ID, "error", err)
		}
		return
	}
	round.Sales++
	var kinds, dangers []string
	for _, f := range report.Sales[0].Findings {
		round.Findings[f.Kind]++
		if !slices.Contains(kinds, f.Kind) {
			kinds = append(kinds, f.Kind)
			if f.Dangerous() {
				dangers = append(dangers, f.Kind)
			}
		}
	}
	slices.Sort(kinds)
	is := watched{kinds: strings.Join(kinds, " ")}
	over := sale.Over(now)
	if over && len(kinds) == 0 {
		is.settled = now
	}
	if len(kinds) > 0 && is.kinds != w.known[sale.ID].kinds {
		w.raise(sale.ID, report.Sales[0])
	}
	w.known[sale.ID] = is
	w.act(ctx, sale, dangers, over)
}

func (w *DriftWatch) raise(sale string, report SaleReport) {
	for i, f := range report.Findings {
		if i < 10 { // the report has them all
			w.Env.Log.Error("books do not agree", "alarm", AlarmDrift, "sale_id", sale, "kind", f.Kind, "order_id", f.OrderID, "buyer_id", f.BuyerID, "detail", f.Detail)
		}
	}
	if w.Alarm != nil {
		w.Alarm(Alarm{Kind: AlarmDrift, Lane: -1, Detail: report.Findings[0].Kind + " in sale " + sale, Logged: true})
	}
}

// act stops a sale while more may be sold than there is, and starts it again.
func (w *DriftWatch) act(ctx context.Context, sale FoldedSale, dangers []string, over bool) {
	paused := slices.Contains(sale.Pauses, domain.PausedByDrift)
	var err error
	switch {
	case len(dangers) > 0 && !paused && !over:
		_, err = w.Operator.Pause(ctx, sale.ID, domain.PausedByDrift, Actor{By: driftActor, Note: strings.Join(dangers, " ")})
	case len(dangers) == 0 && paused:
		_, err = w.Operator.Resume(ctx, sale.ID, domain.PausedByDrift, Actor{By: driftActor})
	}
	if err != nil {
		w.Env.Log.Error("sale not paused or resumed after a reconciliation", "sale_id", sale.ID, "dangers", dangers, "error", err)
	}
}
