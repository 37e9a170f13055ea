package commands

import (
	"context"
	"fmt"
	"time"

	"seckill/domain"
)

// AlarmPreheat: a sale is about to open and the gate does not hold what the log
// says, or could not be asked.
const AlarmPreheat = "preheat"

// Steps of a scheduled preheat.
const (
	PreheatFull   = "full"
	PreheatVerify = "verify"
)

// Results of a scheduled preheat.
const (
	PreheatClean   = "clean"
	PreheatDiffers = "differs"
	PreheatFailed  = "failed"
)

// PreheatDone is how one step of a scheduled preheat of a sale ended.
type PreheatDone struct {
	Sale, Step, Result string
	Differences        int
}

// When a sale is preheated before it opens, and when that is verified.
const (
	fullBefore   = 10 * time.Minute
	verifyBefore = time.Minute
	// preheatLook is how often sales that are about to open are looked for, and
	// preheatAgain after what time a step that did not end clean is tried again.
	preheatLook  = time.Second
	preheatAgain = 15 * time.Second
)

// PreheatWatch preheats every sale ten minutes before it opens and verifies it one
// minute before; one that it first sees later it preheats at once. A step that does
// not end clean is done again until the sale opens, and alarms once. Several at once
// are harmless, one is enough.
type PreheatWatch struct {
	Env   *Env
	Sales *Sales
	// Full and Verify are those of Preheats.
	Full   func(ctx context.Context, sale string, actor Actor) (PreheatReport, error)
	Verify func(ctx context.Context, sale string) (PreheatReport, error)
	// Alarm is called for what a person must look at, Told after each step; both may
	// be nil.
	Alarm func(Alarm)
	Told  func(PreheatDone)

	known map[string]preheated
}

// preheated is what is remembered of a sale between looks.
type preheated struct {
	opens   time.Time // a sale whose opening was moved starts again
	step    string
	at      time.Time
	clean   bool
	alarmed bool
}

// Run looks from time to time until ctx ends.
func (w *PreheatWatch) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		if err := w.Look(ctx); err != nil && ctx.Err() == nil {
			w.Env.Log.Warn("sales not preheated; tried again", "error", err)
		}
		pause(ctx, preheatLook)
	}
	return nil
}

// Look does what is due. It is not safe for concurrent use.
func (w *PreheatWatch) Look(ctx context.Context) error {
	sales, err := w.Sales.List(ctx)
	if err != nil {
		return err
	}
	if w.known == nil {
		w.known = map[string]preheated{}
	}
	for _, sale := range sales {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		now := w.Env.Now()
		step := stepDue(sale.Sale, now)
		if step == "" {
			delete(w.known, sale.ID)
			continue
		}
		last, known := w.known[sale.ID]
		if !known {
			step = PreheatFull // it may have been made a moment ago, or nobody kept it until now
		}
		if last.step != step || !last.opens.Equal(sale.Terms.OpensAt) {
			last = preheated{opens: sale.Terms.OpensAt, step: step}
		}
		if last.at.IsZero() || !last.clean && now.Sub(last.at) >= preheatAgain {
			last.at = now
			w.known[sale.ID] = w.do(ctx, sale.ID, last)
		}
	}
	return nil
}

// stepDue is the step that a sale is due for, "" for none.
func stepDue(sale domain.Sale, now time.Time) string {
	left := sale.Terms.OpensAt.Sub(now)
	switch {
	case sale.Over(now), left <= 0, left > fullBefore:
		return ""
	case left > verifyBefore:
		return PreheatFull
	}
	return PreheatVerify
}

func (w *PreheatWatch) do(ctx context.Context, sale string, p preheated) preheated {
	done := PreheatDone{Sale: sale, Step: p.step, Result: PreheatClean}
	var report PreheatReport
	var err error
	if p.step == PreheatFull {
		report, err = w.Full(ctx, sale, Actor{By: "scheduler", Routine: true})
	} else {
		report, err = w.Verify(ctx, sale)
	}
	if ctx.Err() != nil {
		return p // stopped, not failed
	}
	done.Differences, p.clean = len(report.Differences), err == nil && report.Verified
	detail := ""
	switch {
	case err != nil:
		done.Result, detail = PreheatFailed, err.Error()
	case !report.Verified:
		d := report.Differences[0]
		done.Result, detail = PreheatDiffers, fmt.Sprintf("%s is %q, want %q", d.Key, d.Got, d.Want)
	}
	if p.clean {
		w.Env.Log.Info("sale preheated", "sale_id", sale, "step", p.step, "keys", report.Keys)
	} else {
		w.Env.Log.Error("sale not ready to open", "alarm", AlarmPreheat, "sale_id", sale, "step", p.step, "differences", done.Differences, "detail", detail)
	}
	if !p.clean && !p.alarmed && w.Alarm != nil {
		w.Alarm(Alarm{Kind: AlarmPreheat, Lane: -1, Detail: detail + " in sale " + sale, Logged: true})
	}
	p.alarmed = p.alarmed || !p.clean
	if w.Told != nil {
		w.Told(done)
	}
	return p
}
