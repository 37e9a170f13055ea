package cli

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"seckill/api"
	"seckill/domain"
	"seckill/projections"
)

// drillOptions say what is rehearsed, where, and how patiently.
type drillOptions struct {
	Nodes  []string
	Secret []byte
	Global bool
	Rate   int
	Say    func(format string, args ...any)
	// Promise is within how long a flip must be in force (1 s), Within how long it is
	// waited for (10 s), Need how many answers in a row tell that it is (5).
	Promise time.Duration
	Within  time.Duration
	Need    int
}

func (o drillOptions) withDefaults() drillOptions {
	if o.Promise == 0 {
		o.Promise = time.Second
	}
	if o.Within == 0 {
		o.Within = 10 * time.Second
	}
	if o.Need == 0 {
		o.Need = 5
	}
	return o
}

// Times of a drill.
const (
	drillLook     = 10 * time.Millisecond
	viewLook      = 50 * time.Millisecond
	normalWithin  = 20 * time.Second
	takeBackTime  = 20 * time.Second
	takeBackPause = 300 * time.Millisecond
	drillSaleLife = 15 * time.Minute
)

// rehearsal is a drill under way.
type rehearsal struct {
	drillOptions
	ask    func(ctx context.Context, method, path string, body, to any) error // as an operator
	stats  func(context.Context) (projections.Stats, error)
	tag    string
	reason string // of every flip: no other drill has the same
	crowd  *crowd
	report drillReport
}

func newRehearsal(ask func(context.Context, string, string, any, any) error, stats func(context.Context) (projections.Stats, error), o drillOptions) (*rehearsal, error) {
	var tag [5]byte
	if _, err := rand.Read(tag[:]); err != nil {
		return nil, fmt.Errorf("name the drill: %w", err)
	}
	r := &rehearsal{drillOptions: o.withDefaults(), ask: ask, stats: stats, tag: hex.EncodeToString(tag[:])}
	r.reason = "rehearsal of the switches, seckill drill " + r.tag
	r.report = drillReport{Nodes: o.Nodes, PromiseMS: r.Promise.Milliseconds(), LeftOn: []string{}}
	return r, nil
}

// play rehearses every switch at a sale, or with sale "" at one of its own, and
// closes it. The report says how it went; an error is that it could not be played to
// its end. Either way no switch is left on by it, or the error names the one.
func (r *rehearsal) play(ctx context.Context, sale string) (*drillReport, error) {
	what, err := r.prepare(ctx, sale)
	if err != nil {
		return nil, err
	}
	r.report.SaleID = what.sale
	r.crowd = newCrowd(r.drillOptions, what, r.tag)
	r.crowd.start(ctx)
	err = r.steps(ctx, what.sale)
	r.crowd.close()
	if ctx.Err() != nil {
		r.Say("Stopped: no switch of this drill is on any more, unless it is said above; closing sale %s.", what.sale)
	}
	if closing := r.closeSale(ctx, what.sale); closing != nil {
		r.Say("Sale %s is not closed: `seckill sale close %s` does it.", what.sale, what.sale)
		err = errors.Join(err, closing)
	}
	if err != nil {
		return nil, err
	}
	r.report.Closed, r.report.Asked, r.report.Unclear = true, r.crowd.asked.Load(), r.crowd.unclear.Load()
	r.report.judge()
	return &r.report, nil
}

// steps rehearses one switch after the other, from a state in which all is normal.
func (r *rehearsal) steps(ctx context.Context, sale string) error {
	if err := r.awaitNormal(ctx); err != nil {
		return err
	}
	skip := ""
	for _, t := range r.plan(sale) {
		if skip == "" && t.name == domain.PauseNoncore && !r.Global {
			r.report.Steps = append(r.report.Steps, drillStep{Switch: string(t.name), For: t.scope(), Skipped: "everywhere only, want --global"})
			continue
		}
		if skip != "" {
			r.report.Steps = append(r.report.Steps, drillStep{Switch: string(t.name), For: t.scope(), Skipped: skip})
			continue
		}
		step, err := r.rehearse(ctx, t)
		if err != nil {
			return err
		}
		r.report.Steps = append(r.report.Steps, step)
		r.Say("%s: %s (on after %s, off after %s)", t, step.verdict(r.report.PromiseMS), step.On.took(), step.Off.took())
		if !step.Off.Held { // whatever came next would be judged wrongly
			skip = "the one before did not go back to normal"
		}
	}
	return nil
}

// plan lists what is rehearsed: for the sale first.
func (r *rehearsal) plan(sale string) []turn {
	var all []turn
	for _, name := range domain.SwitchNames() {
		if name.OfSales() {
			all = append(all, turn{name, sale})
		}
	}
	for _, name := range domain.SwitchNames() {
		if r.Global || !name.OfSales() {
			all = append(all, turn{name, ""})
		}
	}
	return all
}

// rehearse turns a switch on, waits until it is in force, and takes it back, which it
// does whatever happens meanwhile.
func (r *rehearsal) rehearse(ctx context.Context, t turn) (step drillStep, err error) {
	step = drillStep{Switch: string(t.name), For: t.scope()}
	taken := false
	defer func() {
		if !taken {
			err = errors.Join(err, r.takeBack(ctx, t))
		}
	}()
	look := r.begin(t, true)
	if err := r.turnOn(ctx, t); err != nil {
		return step, err
	}
	if step.On, err = look.await(ctx, r.Within); err != nil {
		return step, err
	}
	if step.On.Held {
		step.Checks = r.crowd.checks(ctx, r.Nodes, t.name, r.Within)
		if step.On, err = look.await(ctx, r.Within); err != nil { // still
			return step, err
		}
	}
	look = r.begin(t, false)
	taken = true
	if err := r.takeBack(ctx, t); err != nil {
		return step, err
	}
	step.Off, err = look.await(ctx, r.Within)
	return step, err
}

// inForce waits for a flip to be in force.
type inForce struct {
	*rehearsal
	want  wanted
	began time.Time
	views *viewWatch // of pause_noncore alone
}

// begin is called just before a flip is asked for.
func (r *rehearsal) begin(t turn, on bool) *inForce {
	f := &inForce{rehearsal: r, want: wantedOf(t, on), began: time.Now()}
	if t.name == domain.PauseNoncore {
		f.views = newViewWatch(r.stats, on, f.began)
	}
	r.crowd.begin(t.name)
	return f
}

// await returns when all nodes answer as they should, or did not within so long.
func (f *inForce) await(ctx context.Context, within time.Duration) (*drillFlip, error) {
	for deadline := time.Now().Add(within); ; {
		flip := f.crowd.judge(f.Nodes, f.want, f.began, f.Need)
		every := drillLook
		if f.views != nil {
			var err error
			if flip.Views, err = f.views.look(ctx); err != nil {
				return flip, err
			}
			flip.Held, flip.TookMS = flip.Held && flip.Views.Held, max(flip.TookMS, flip.Views.TookMS)
			every = viewLook
		}
		if flip.Held || time.Now().After(deadline) {
			return flip, ctx.Err()
		}
		pauseFor(ctx, every)
		if ctx.Err() != nil {
			return flip, ctx.Err()
		}
	}
}

// awaitNormal waits until every node answers as it should without any switch.
func (r *rehearsal) awaitNormal(ctx context.Context) error {
	look := r.begin(turn{sale: r.report.SaleID}, false)
	flip, err := look.await(ctx, normalWithin)
	if err == nil && !flip.Held {
		err = &told{fmt.Sprintf("%s. Nothing was switched.", flip.contrary(look.want)), errNotNormal}
	}
	return err
}

// pauseFor waits a moment, or until ctx ends.
func pauseFor(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

func switchPath(name domain.SwitchName) string {
	return "/api/v1/admin/switches/" + url.PathEscape(string(name))
}

func (r *rehearsal) turnOn(ctx context.Context, t turn) error {
	var done api.SwitchView
	body := api.SwitchBody{On: true, Sale: api.Only(t.sale), Reason: r.reason}
	if err := r.ask(ctx, http.MethodPut, switchPath(t.name), body, &done); err != nil {
		return fmt.Errorf("turn %s on: %w", t, err)
	}
	if !done.On || done.Reason != r.reason {
		return &told{fmt.Sprintf("%s was turned on, but stands otherwise: somebody else turns it now.", t), errNotNormal}
	}
	return nil
}

// takeBack turns a switch off, unless somebody else has turned it on meanwhile: then
// it stays and is reported. It tries for a while, and also after ctx has ended.
func (r *rehearsal) takeBack(ctx context.Context, t turn) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), takeBackTime)
	defer cancel()
	for {
		err := r.takeBackOnce(ctx, t)
		if err == nil {
			return nil
		}
		pauseFor(ctx, takeBackPause)
		if ctx.Err() != nil {
			sale := ""
			if t.sale != "" {
				sale = " --sale " + t.sale
			}
			return &told{fmt.Sprintf("%s COULD NOT BE TAKEN BACK and may be on: `seckill switch off %s%s --reason \"after a drill\"` turns it off.", t, t.name, sale), err}
		}
	}
}

func (r *rehearsal) takeBackOnce(ctx context.Context, t turn) error {
	var list api.SwitchList
	if err := r.ask(ctx, http.MethodGet, "/api/v1/admin/switches", nil, &list); err != nil {
		return err
	}
	at := slices.IndexFunc(list.Switches, func(s api.SwitchView) bool { return s.Name == string(t.name) && s.Sale == t.sale })
	if at < 0 || !list.Switches[at].On {
		return nil
	}
	if s := list.Switches[at]; s.Reason != r.reason {
		left := fmt.Sprintf("%s: %s turned it on meanwhile, because: %s", t, s.By, s.Reason)
		r.Say("Left on is %s.", left)
		r.report.LeftOn = append(r.report.LeftOn, left)
		return nil
	}
	var done api.SwitchView
	return r.ask(ctx, http.MethodPut, switchPath(t.name), api.SwitchBody{Sale: api.Only(t.sale), Reason: r.reason}, &done)
}
