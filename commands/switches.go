package commands

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"seckill/domain"
	"seckill/eventstore"
)

// SwitchState is how a switch was turned last. Sale is "" for one that is turned
// everywhere; without an event ever, only Name is set.
type SwitchState struct {
	Name   domain.SwitchName
	Sale   string
	On     bool
	Reason string
	By     string
	At     time.Time
	// position of its event in the log
	position int64
}

// Flip asks to turn a switch: for one sale, or with Sale "" everywhere. Why is in
// the actor's note, which must say something.
type Flip struct {
	Name domain.SwitchName
	On   bool
	Sale string
}

// MaxSwitchReason bounds why a switch was flipped, in characters.
const MaxSwitchReason = 500

// SwitchStore is what the switchboard writes to and reads from.
type SwitchStore interface {
	eventstore.Appender
	eventstore.Reader
	eventstore.Directory
}

// Switchboard turns switches, and knows those that are on everywhere: it looks at
// their stream again and again. Each sale that is not over has what is on
// everywhere in its own stream too, so that a gate is a function of that stream
// alone and the log says by which switches an order was judged. Whoever flips
// writes that for every sale before the answer; each board that finds a sale
// without it does so as well.
type Switchboard struct {
	env      *Env
	sales    *Sales
	log      SwitchStore
	operator *Operator
	known    atomic.Pointer[flips]
	refresh  chan struct{} // holds one while somebody looks

	settling sync.Mutex
	settled  struct { // what was compared last, where no sale was behind
		version int64
		of      []FoldedSale
	}
}

// flips is the fold of the stream of what is flipped everywhere.
type flips struct {
	version int64
	states  map[domain.SwitchName]SwitchState
}

// switchLook is how often the stream is looked at, switchSettle how often every
// sale is compared with it.
const (
	switchLook   = 200 * time.Millisecond
	switchSettle = time.Second
	// switchBudget bounds flipping, once it has begun.
	switchBudget = 10 * time.Second
	// switchWorkers bounds how many sales are brought up at once.
	switchWorkers = 16
)

// NewSwitchboard makes a board; Run keeps it up.
func NewSwitchboard(env *Env, sales *Sales, log SwitchStore, operator *Operator) *Switchboard {
	b := &Switchboard{env: env, sales: sales, log: log, operator: operator, refresh: make(chan struct{}, 1)}
	b.known.Store(&flips{states: map[domain.SwitchName]SwitchState{}})
	return b
}

// On tells whether a switch is on everywhere, as far as this process has heard:
// at most a quarter of a second late while the log answers.
func (b *Switchboard) On(name domain.SwitchName) bool { return b.known.Load().states[name].On }

// Everywhere lists, in their order, the switches that this process knows to be on
// everywhere.
func (b *Switchboard) Everywhere() []SwitchState {
	now := b.known.Load()
	var on []SwitchState
	for _, name := range domain.SwitchNames() {
		if state := now.states[name]; state.On {
			on = append(on, state)
		}
	}
	return on
}

// Run looks until ctx ends, and brings sales up that lack what is on everywhere.
func (b *Switchboard) Run(ctx context.Context) error {
	var settled time.Time
	for ctx.Err() == nil {
		before := b.known.Load().version
		now, err := b.look(ctx)
		if err == nil && (now.version != before || b.env.Now().Sub(settled) >= switchSettle) {
			settled = b.env.Now()
			err = b.settle(ctx, now)
		}
		if err != nil && ctx.Err() == nil {
			b.env.Log.Warn("switches not looked at, or not in force in every sale; tried again", "error", err)
		}
		pause(ctx, switchLook)
	}
	return nil
}

// Refresh looks once, for a process that is about to begin.
func (b *Switchboard) Refresh(ctx context.Context) error {
	_, err := b.look(ctx)
	return err
}

// Settle looks, and brings every sale that is not over to what is on everywhere.
func (b *Switchboard) Settle(ctx context.Context) error {
	now, err := b.look(ctx)
	if err != nil {
		return err
	}
	return b.settle(ctx, now)
}

// look reads the stream if it went on.
func (b *Switchboard) look(ctx context.Context) (*flips, error) {
	select {
	case b.refresh <- struct{}{}:
	case <-ctx.Done(): // whoever looks waits for a log that does not answer
		return nil, fmt.Errorf("look at the switches: %w", ctx.Err())
	}
	defer func() { <-b.refresh }()
	states, err := b.log.States(ctx, []string{domain.SwitchStream})
	if err != nil {
		return nil, fmt.Errorf("look at the switches: %w", err)
	}
	if known := b.known.Load(); known.version == states[0].Version {
		return known, nil
	}
	fresh, err := foldFlips(ctx, b.log, states[0].Version)
	if err != nil {
		return nil, err
	}
	b.known.Store(fresh)
	return fresh, nil
}

// flipsPage is how many flips are read in one statement.
const flipsPage = 50

// foldFlips reads the stream from its end backwards, until every switch was seen or
// it begins: what came before may have been archived.
func foldFlips(ctx context.Context, log eventstore.Reader, head int64) (*flips, error) {
	f := &flips{version: head, states: map[domain.SwitchName]SwitchState{}}
	for end := head; end > 0 && len(f.states) < len(domain.SwitchNames()); {
		begin := max(end-flipsPage, 0)
		page, err := log.ReadStream(ctx, domain.SwitchStream, begin, int(end-begin))
		if err != nil && begin < end-1 { // part of it may be there
			begin = end - 1
			page, err = log.ReadStream(ctx, domain.SwitchStream, begin, 1)
		}
		if errors.Is(err, eventstore.ErrUnavailable) || ctx.Err() != nil || (err != nil && end == head) {
			return nil, fmt.Errorf("read the switches: %w", err)
		}
		if err != nil {
			return f, nil // archived: nothing that is on is (see CheckSwitches)
		}
		for _, r := range slices.Backward(page) {
			if err := f.learn(&r); err != nil {
				return nil, err
			}
		}
		end = begin
	}
	return f, nil
}

// learn takes an event that is older than all before.
func (f *flips) learn(r *eventstore.Record) error {
	ev, err := decode(r)
	if err != nil {
		return fmt.Errorf("read the switches: %w", err)
	}
	e, ok := ev.(*domain.SwitchFlipped)
	if !ok {
		return nil
	}
	if _, newer := f.states[e.Name]; !newer {
		f.states[e.Name] = stateOf(e, r)
	}
	return nil
}

func stateOf(e *domain.SwitchFlipped, r *eventstore.Record) SwitchState {
	return SwitchState{Name: e.Name, Sale: e.SaleID, On: e.On, Reason: e.Reason, By: e.By, At: r.RecordedAt, position: r.Position}
}

// Flip turns a switch and gives how it stands then. What stops is set in the gate
// first and recorded after, what permits the other way round. Turning off what is
// off, or on what is on by the same person for the same reason, records nothing;
// turning on what is on for another reason records that one too. What stops, while the
// log does not answer, is an *UnrecordedError. A switch, sale or reason that cannot be is a
// *domain.Problem.
func (b *Switchboard) Flip(ctx context.Context, f Flip, actor Actor) (SwitchState, error) {
	if bad := f.check(actor); len(bad) > 0 {
		return SwitchState{}, domain.Invalid(bad...)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), switchBudget)
	defer cancel()
	if f.Sale != "" {
		return b.flipSale(ctx, f, actor)
	}
	return b.flipAll(ctx, f, actor)
}

func (f Flip) check(actor Actor) []domain.FieldError {
	var bad []domain.FieldError
	if !slices.Contains(domain.SwitchNames(), f.Name) {
		bad = append(bad, domain.FieldError{Field: "name", Reason: "is no switch"})
	}
	if n := utf8.RuneCountInString(actor.Note); n > MaxSwitchReason || strings.TrimSpace(actor.Note) == "" {
		bad = append(bad, domain.FieldError{Field: "reason", Reason: "want 1 to 500 characters, not all of them blank"})
	}
	if f.Sale != "" && !f.Name.OfSales() {
		bad = append(bad, domain.FieldError{Field: "sale", Reason: "this switch is flipped everywhere only"})
	}
	return bad
}

func (f Flip) event(everywhere bool, reason, by string) domain.SwitchFlipped {
	return domain.SwitchFlipped{Name: f.Name, SaleID: f.Sale, On: f.On, Everywhere: everywhere, Reason: reason, By: by}
}

// flipSale turns the sale's own switch.
func (b *Switchboard) flipSale(ctx context.Context, f Flip, actor Actor) (SwitchState, error) {
	decide := func(s domain.Sale) domain.Event { return s.Flip(f.event(false, actor.Note, actor.By)) }
	outcome, stops := f.Name.Stops()
	stops = stops && f.On
	held := stops && b.operator.holdKnown(ctx, f.Sale, outcome, decide)
	asked, cancel := askWithin(ctx, held)
	sale, err := b.sales.Fold(asked, f.Sale)
	cancel()
	if err != nil {
		return SwitchState{}, unrecorded(held, err)
	}
	if sale.Cleaned {
		return SwitchState{}, &domain.Problem{Code: domain.CodeSaleEnded}
	}
	if stops {
		sale, err = b.operator.stop(ctx, f.Sale, outcome, decide, actor)
	} else if sale, err = b.operator.change(ctx, f.Sale, decide, actor); err == nil {
		b.operator.apply(ctx, sale)
	}
	if err != nil {
		return SwitchState{}, err
	}
	own, err := b.own(ctx, sale)
	if err != nil {
		return SwitchState{}, err
	}
	if state, ok := own[f.Name]; ok {
		return state, nil
	}
	return SwitchState{Name: f.Name, Sale: f.Sale, On: f.On}, nil
}

// own reads how each switch of a sale itself was turned last.
func (b *Switchboard) own(ctx context.Context, sale FoldedSale) (map[domain.SwitchName]SwitchState, error) {
	states := map[domain.SwitchName]SwitchState{}
	err := eachRecord(ctx, b.log, domain.SaleStream(sale.ID), 0, func(r *eventstore.Record) error {
		ev, err := decode(r)
		if e, ok := ev.(*domain.SwitchFlipped); ok && !e.Everywhere {
			states[e.Name] = stateOf(e, r)
		}
		return err
	})
	return states, err
}

// List gives every switch as it stands everywhere, in their order, and then what
// single sales have turned on.
func (b *Switchboard) List(ctx context.Context) ([]SwitchState, error) {
	now, err := b.look(ctx)
	if err != nil {
		return nil, err
	}
	var all []SwitchState
	for _, name := range domain.SwitchNames() {
		state := now.states[name]
		state.Name = name
		all = append(all, state)
	}
	sales, err := b.sales.List(ctx)
	if err != nil {
		return nil, err
	}
	for _, sale := range sales {
		if sale.Cleaned || !slices.ContainsFunc(sale.Switches, func(w domain.SaleSwitch) bool { return !w.Everywhere }) {
			continue
		}
		own, err := b.own(ctx, sale)
		if err != nil {
			return nil, err
		}
		for _, name := range domain.SwitchNames() {
			if own[name].On {
				all = append(all, own[name])
			}
		}
	}
	return all, nil
}

// SwitchNeededError says which switch keeps a part of the log from being detached.
type SwitchNeededError struct{ Name domain.SwitchName }

func (e *SwitchNeededError) Error() string {
	return fmt.Sprintf("The switch %s was turned on there and still is: only what no process needs to read again can be detached.", e.Name)
}

// CheckSwitches gives a *SwitchNeededError when an event at these positions says
// of a switch that is on everywhere that it is.
func CheckSwitches(ctx context.Context, log SwitchStore, first, last int64) error {
	states, err := log.States(ctx, []string{domain.SwitchStream})
	if err != nil {
		return fmt.Errorf("look at the switches: %w", err)
	}
	f, err := foldFlips(ctx, log, states[0].Version)
	if err != nil {
		return err
	}
	for _, state := range f.states {
		if state.On && state.position >= first && state.position <= last {
			return &SwitchNeededError{state.Name}
		}
	}
	return nil
}
