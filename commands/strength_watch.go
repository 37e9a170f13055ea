package commands

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"seckill/domain"
)

// AlarmAcknowledgement: the gate's server does not give the acknowledgement that a
// sale asks for.
const AlarmAcknowledgement = "acknowledgement"

// strengthActor is who pauses and resumes for the sake of an acknowledgement.
const strengthActor = "acknowledgement-watch"

// StrengthWatch compares what sales ask of the gate's server with what it gives. One
// that asks for more does not open: it is paused (acknowledgement) until the server
// gives it. One that has opened goes on selling, and a person is called: what was
// promised its buyers is weaker from then on. Several at once are harmless, one is
// enough.
type StrengthWatch struct {
	Env      *Env
	Sales    *Sales
	Gate     Strengths
	Operator *Operator
	// Alarm is called once per sale until its server gives what it asks for again; may
	// be nil.
	Alarm func(Alarm)
	// Every is the pause between two looks (2 s).
	Every time.Duration

	alarmed map[string]bool
}

// Run looks from time to time until ctx ends.
func (w *StrengthWatch) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		if err := w.Look(ctx); err != nil && ctx.Err() == nil {
			w.Env.Log.Warn("what the gate's server gives was not compared; tried again", "error", err)
		}
		pause(ctx, orDefault(w.Every, 2*time.Second))
	}
	return nil
}

// Look compares every sale that is not over. It is not safe for concurrent use.
func (w *StrengthWatch) Look(ctx context.Context) error {
	sales, err := w.Sales.List(ctx)
	if err != nil {
		return err
	}
	if w.alarmed == nil {
		w.alarmed = map[string]bool{}
	}
	var faults []error
	for _, sale := range sales {
		asks := sale.Terms.Acknowledged() != domain.AcknowledgeMemory || slices.Contains(sale.Pauses, domain.PausedByAcknowledgement)
		if sale.Cleaned || sale.Over(w.Env.Now()) || !asks {
			delete(w.alarmed, sale.ID)
			continue
		}
		why, err := settleStrength(ctx, w.Operator, w.Gate, sale)
		if err != nil {
			faults = append(faults, fmt.Errorf("sale %s: %w", sale.ID, err))
			continue
		}
		w.tell(sale, why)
	}
	return errors.Join(faults...)
}

// tell calls a person once about a sale that asks for more than its server gives.
func (w *StrengthWatch) tell(sale FoldedSale, why string) {
	if why == "" {
		delete(w.alarmed, sale.ID)
		return
	}
	if w.alarmed[sale.ID] {
		return
	}
	w.alarmed[sale.ID] = true
	w.Env.Log.Error("the gate's server keeps purchases less surely than their sale asks", "alarm", AlarmAcknowledgement,
		"sale_id", sale.ID, "acknowledgement", sale.Terms.Acknowledged(), "detail", why)
	if w.Alarm != nil {
		w.Alarm(Alarm{Kind: AlarmAcknowledgement, Lane: -1, Detail: why + " Sale " + sale.ID + ".", Logged: true})
	}
}

// settleStrength pauses a sale that has not opened and asks for more than its server
// gives, and takes that pause away once it gives it. It tells what is lacking, ""
// for nothing.
func settleStrength(ctx context.Context, o *Operator, gate Strengths, sale FoldedSale) (string, error) {
	why, err := short(ctx, gate, o.Env.Store, sale.Sale)
	if err != nil {
		return "", err
	}
	paused := slices.Contains(sale.Pauses, domain.PausedByAcknowledgement)
	actor := Actor{By: strengthActor, Note: why}
	switch {
	case why == "" && paused:
		_, err = o.Resume(ctx, sale.ID, domain.PausedByAcknowledgement, actor)
	case why != "" && !paused && !sale.OpenAt(o.Env.Now()):
		_, err = o.Pause(ctx, sale.ID, domain.PausedByAcknowledgement, actor)
	}
	if err != nil {
		return "", fmt.Errorf("settle what the gate's server gives: %w", err)
	}
	return why, nil
}
