package commands

import (
	"context"
	"errors"
	"fmt"
	"time"

	"seckill/domain"
	"seckill/eventstore"
)

// Totals is an account in units: what the log released, reserved and took back,
// what the gate had left at the cut, and what the log held beyond the cut.
type Totals struct {
	Released  int64 `json:"released"`
	Available int64 `json:"available"`
	Reserved  int64 `json:"reserved"`
	Returned  int64 `json:"returned"`
	InFlight  int64 `json:"in_flight"`
}

// ItemReport is the account of one item over all buckets.
type ItemReport struct {
	SKU string `json:"sku"`
	Totals
}

// SaleReport is the account of a sale. Drift is the number of findings. Repairs
// is what was done about findings, where it was asked for. Of a sale that was
// cleaned up only log and views were compared; Note says so, or that even its part
// of the log is gone.
type SaleReport struct {
	Sale    string       `json:"sale"`
	Cleaned bool         `json:"cleaned,omitempty"`
	Note    string       `json:"note,omitempty"`
	Items   []ItemReport `json:"items" nullable:"false"`
	Totals
	Drift    int       `json:"drift"`
	Findings []Finding `json:"findings" nullable:"false"`
	Repairs  []Repair  `json:"repairs,omitempty"`
}

// ReconcileReport is the account of several sales. CleanedUp is how many were left
// out because they are cleaned up. NotCompared names those that could not be compared,
// and why.
type ReconcileReport struct {
	Sales       []SaleReport  `json:"sales" nullable:"false"`
	CleanedUp   int           `json:"cleaned_up,omitempty"`
	NotCompared []NotCompared `json:"not_compared,omitempty"`
}

// NotCompared is a sale that could not be compared, and why.
type NotCompared struct {
	Sale string `json:"sale"`
	Why  string `json:"why"`
}

// Drift is the number of findings over all sales.
func (r ReconcileReport) Drift() int {
	n := 0
	for _, s := range r.Sales {
		n += s.Drift
	}
	return n
}

// ErrNoCut: the gate could not be looked at while it was open: it is recovering
// or away. Nothing is wrong with the books for all that is known; try again.
var ErrNoCut = errors.New("the gate is not open, so there is nothing to compare with")

// ReconcilerGate is what a reconciliation reads of the gate.
type ReconcilerGate interface {
	Scanner
	Inspector
	Peek(ctx context.Context, place domain.Place, skus []string) (Peeked, error)
	ReadLane(ctx context.Context, lane int, after domain.EntryID, max int) ([]JournalEntry, error)
}

// Reconciler compares the gate, its journal, guard, claims and views with the
// log, exactly, whatever is in flight. It only reports; see Repairer.
type Reconciler struct {
	Env   *Env
	Sales *Sales
	Log   Log
	Gate  ReconcilerGate
	Views ViewReader
	ReconcilerOptions
}

// ReconcilerOptions tune a Reconciler; zero values take the defaults.
type ReconcilerOptions struct {
	// Deadline is the age by which a journal entry should be recorded (30 s), unless
	// the recorder still goes on: it stands for at least Stall (2 s).
	Deadline, Stall time.Duration
	// Grace is for how long after its time an unpaid order may wait to expire (10 min).
	Grace time.Duration
	// Patience bounds waiting until a cut is recorded (10 s).
	Patience time.Duration
	// Suspects bounds how many of a kind are looked at again in one run (2,000). A store
	// that is wrong about more is wrong as a whole; FindingMore says that there were.
	Suspects int
}

func (o ReconcilerOptions) withDefaults() ReconcilerOptions {
	o.Deadline = orDefault(o.Deadline, 30*time.Second)
	o.Stall = orDefault(o.Stall, 2*time.Second)
	o.Grace = orDefault(o.Grace, 10*time.Minute)
	o.Patience = orDefault(o.Patience, 10*time.Second)
	o.Suspects = orDefault(o.Suspects, 2000)
	return o
}

// Reconcile reports on a sale, or on all that are not cleaned up when sale is "".
// Where a sale could not be compared there is an error, beside a report of the others:
// it is ErrNoCut where the gate was not open.
func (r *Reconciler) Reconcile(ctx context.Context, sale string) (ReconcileReport, error) {
	report := ReconcileReport{Sales: []SaleReport{}}
	ids, cleaned, err := r.ids(ctx, sale)
	if err != nil {
		return report, err
	}
	report.CleanedUp = cleaned
	var missed []error
	row := 0 // that failed one after the other
	for _, id := range ids {
		one, err := r.sale(ctx, id)
		var away *GateError
		if errors.As(err, &away) && ctx.Err() == nil {
			err = fmt.Errorf("%w: %w", ErrNoCut, err)
		}
		if err == nil {
			row, report.Sales = 0, append(report.Sales, one)
			continue
		}
		missed = append(missed, fmt.Errorf("reconcile sale %s: %w", id, err))
		report.NotCompared = append(report.NotCompared, NotCompared{Sale: id, Why: err.Error()})
		if !errors.Is(err, ErrNoCut) {
			row++
		}
		if row == faultsInARow || ctx.Err() != nil {
			break
		}
	}
	return report, errors.Join(missed...)
}

// faultsInARow is after how many sales that could not be read a store is taken to be
// away: one alone is not to keep the others from being compared.
const faultsInARow = 3

// ids lists the sales to compare, and how many cleaned-up ones are left out.
func (r *Reconciler) ids(ctx context.Context, sale string) (ids []string, cleaned int, err error) {
	if sale != "" {
		return []string{sale}, 0, nil
	}
	sales, err := r.Sales.List(ctx)
	if err != nil {
		return nil, 0, err
	}
	for _, s := range sales {
		if s.Cleaned {
			cleaned++
			continue
		}
		ids = append(ids, s.ID)
	}
	return ids, cleaned, nil
}

// Notes of a sale that was cleaned up.
const (
	noteNoGate = "The sale is cleaned up: the gate holds nothing of it any more, and log, guards, claims and views were compared."
	// noteGateless is of a sale with the strategy postgres.
	noteGateless = "The sale has no gate: log, guards, claims and views were compared."
	noteNoLog    = "The sale is cleaned up, and its part of the log is archived: there was nothing to compare."
)

func (r *Reconciler) sale(ctx context.Context, id string) (SaleReport, error) {
	sale, err := r.Sales.Fold(ctx, id)
	if err != nil {
		return SaleReport{}, err
	}
	run := &reconciliation{Reconciler: r, sale: sale, opts: r.withDefaults()}
	run.report = SaleReport{Sale: id, Cleaned: sale.Cleaned, Items: []ItemReport{}, Findings: []Finding{}}
	switch {
	case sale.Cleaned:
		run.report.Note = noteNoGate
	case sale.Gateless():
		run.report.Note = noteGateless
	}
	if sale.Cleaned && len(sale.SKUs()) == 0 {
		run.report.Note = noteNoLog
		return run.report, nil
	}
	for _, sku := range sale.SKUs() {
		run.report.Items = append(run.report.Items, ItemReport{SKU: sku})
	}
	if err := run.gather(ctx); err != nil {
		return SaleReport{}, err
	}
	if err := run.judge(ctx); err != nil {
		return SaleReport{}, err
	}
	run.report.Drift = len(run.report.Findings)
	return run.report, nil
}

// reconciliation is one run over one sale.
type reconciliation struct {
	*Reconciler
	sale   FoldedSale
	opts   ReconcilerOptions
	books  *books
	head   eventstore.Mark
	report SaleReport
	// doubtful buyers have claims that are not what was read of their orders.
	doubtful map[string]bool
}

// gather reads what stands beside the log, and only then the log up to its head:
// whatever was seen is in what is read then, or never will be.
func (r *reconciliation) gather(ctx context.Context) error {
	views, err := r.Views.Snapshot(ctx, r.sale.ID)
	if err != nil {
		return fmt.Errorf("read views: %w", err)
	}
	r.books = newBooks(r.sale)
	r.books.take(views)
	if err := r.readClaims(ctx); err != nil {
		return err
	}
	if !r.sale.Cleaned {
		for _, place := range Places(r.Env.Store, r.sale.Sale) {
			if err := r.lookAtGate(ctx, place); err != nil {
				return err
			}
		}
	}
	if err := r.readGuards(ctx); err != nil {
		return err
	}
	if r.head, err = r.Log.Head(ctx); err != nil {
		return fmt.Errorf("read the head of the log: %w", err)
	}
	return r.books.read(ctx, r.Log, r.sale.ID, r.head.Number)
}

// judge compares. What looks wrong of single orders and buyers is looked at again,
// exactly, before it is called a finding: they may have changed while the stores
// were read one after the other.
func (r *reconciliation) judge(ctx context.Context) error {
	s := &r.report
	s.judgeUnread(r.books)
	stranded, err := r.judgeOrders(ctx)
	if err == nil {
		err = r.nameUses(ctx)
	}
	if err == nil {
		err = r.judgeUses(ctx)
	}
	if err != nil {
		return err
	}
	for _, c := range r.books.cuts {
		r.judgeSaleRecord(c)
		r.judgeCut(c, stranded)
	}
	if r.sale.Cleaned || r.sale.Gateless() {
		s.fromLog(r.books, !r.sale.Cleaned)
	}
	r.judgeLists()
	for _, item := range s.Items {
		s.add(item.Totals)
	}
	for _, book := range r.books.stocks {
		r.judgeRule(book)
	}
	s.judgeMoves(r.books)
	s.judgeGuards(r.books)
	if err := r.judgeClaims(ctx); err != nil {
		return err
	}
	r.judgeOverdueOrders()
	s.judgeViews(r.books)
	return nil
}

// fromLog tells the account that the log alone has; selling: what it has left can be
// bought.
func (s *SaleReport) fromLog(b *books, selling bool) {
	for i := range s.Items {
		item := &s.Items[i]
		for _, book := range b.stocks {
			if book.key.SKU != item.SKU {
				continue
			}
			book.addTo(item)
			if selling {
				item.Available += book.now.Left()
			}
		}
	}
}

func (t *Totals) add(o Totals) {
	t.Released += o.Released
	t.Available += o.Available
	t.Reserved += o.Reserved
	t.Returned += o.Returned
	t.InFlight += o.InFlight
}

// readGuards reads every guard with the version its stream has at that moment,
// under the log lock: they move together.
func (r *reconciliation) readGuards(ctx context.Context) error {
	streams := stockStreams(r.sale.Sale)
	_, err := r.Log.Submit(ctx, eventstore.Work{
		Needs: eventstore.Needs{Streams: streams, Guards: streams},
		Decide: func(look eventstore.Look) (*eventstore.Group, error) {
			for _, stream := range streams {
				r.books.guards[stream] = guardSeen{guard: look.Guard(stream), version: look.Stream(stream).Version}
			}
			return nil, nil
		},
	})
	if err != nil {
		return fmt.Errorf("read guards: %w", err)
	}
	for stream, seen := range r.books.guards {
		book, err := r.books.stockOf(stream)
		if err != nil {
			return err
		}
		book.guard = &seen
	}
	return nil
}
