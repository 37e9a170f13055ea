package cli

import (
	"context"
	"errors"
	"slices"
	"sync"

	"seckill/commands"
	"seckill/domain"
)

// houseSwitches turn switches on several databases. Each log says by which switches its
// orders were judged, so what is turned everywhere is written on each.
type houseSwitches struct{ *house }

// Flip turns a switch, for a sale where it lives, or everywhere on every database at
// once. Where one could not record it, it is an error although the others have it; the
// same again adds what is missing.
func (h houseSwitches) Flip(ctx context.Context, f commands.Flip, actor commands.Actor) (commands.SwitchState, error) {
	if f.Sale != "" {
		return onSale(ctx, h.house, f.Sale, func(a *app) (commands.SwitchState, error) { return a.switches.Flip(ctx, f, actor) })
	}
	states, errs := make([]commands.SwitchState, len(h.stacks)), make([]error, len(h.stacks))
	var flipping sync.WaitGroup
	for i, s := range h.stacks {
		flipping.Go(func() {
			a := s.app.Load()
			if a == nil {
				errs[i] = h.errNotOpen("the switches of " + s.name)
				return
			}
			states[i], errs[i] = a.switches.Flip(ctx, f, actor)
		})
	}
	flipping.Wait()
	return states[0], errors.Join(errs...)
}

// List gives every switch as it stands everywhere, on where it is on anywhere, and then
// what single sales have turned on. A database that is away is left out, unless none
// answers.
func (h houseSwitches) List(ctx context.Context) ([]commands.SwitchState, error) {
	everywhere := map[domain.SwitchName]commands.SwitchState{}
	var ofSales []commands.SwitchState
	var away error
	answered := 0
	for _, a := range h.apps() {
		list, err := a.switches.List(ctx)
		if err != nil {
			h.log.Warn("switches of a database not listed", "store", a.env.Store, "error", err)
			away = err
			continue
		}
		answered++
		for _, state := range list {
			if state.Sale != "" {
				ofSales = append(ofSales, state)
			} else if before, ok := everywhere[state.Name]; !ok || newerFlip(state, before) {
				everywhere[state.Name] = state
			}
		}
	}
	if answered == 0 {
		return nil, errors.Join(away, h.errNotOpen("the switches"))
	}
	return append(inOrder(everywhere), ofSales...), nil
}

// Everywhere lists those that are on everywhere, as far as this process has heard.
func (h houseSwitches) Everywhere() []commands.SwitchState {
	on := map[domain.SwitchName]commands.SwitchState{}
	for _, a := range h.apps() {
		for _, state := range a.switches.Everywhere() {
			if before, ok := on[state.Name]; !ok || newerFlip(state, before) {
				on[state.Name] = state
			}
		}
	}
	return inOrder(on)
}

// newerFlip prefers what is on, and of two alike the newer.
func newerFlip(a, b commands.SwitchState) bool {
	if a.On != b.On {
		return a.On
	}
	return a.At.After(b.At)
}

func inOrder(states map[domain.SwitchName]commands.SwitchState) []commands.SwitchState {
	var all []commands.SwitchState
	for _, name := range domain.SwitchNames() {
		if state, ok := states[name]; ok {
			all = append(all, state)
		}
	}
	return slices.Clip(all)
}
