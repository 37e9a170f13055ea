package api

import (
	"context"
	"time"

	"seckill/commands"
	"seckill/domain"
)

// Switches turns switches.
type Switches interface {
	Flip(ctx context.Context, f commands.Flip, actor commands.Actor) (commands.SwitchState, error)
	List(ctx context.Context) ([]commands.SwitchState, error)
	// Everywhere lists those that this process knows to be on everywhere.
	Everywhere() []commands.SwitchState
}

const (
	pathSwitches = "/api/v1/admin/switches"
	pathSwitch   = "/api/v1/admin/switches/{name}"
)

const switchDescription = "In force on every node within a second. `skip_purchase_limit` lifts `limit_per_buyer`, never the bound on one purchase nor the repeat rule; " +
	"`skip_eligibility` lets every tier in; `force_ended` answers 410 `sale_ended` until it is off again; `pause_purchases` answers 503 `paused`; " +
	"`pause_noncore` stops the view sale_summary and the public topic, which catch up afterwards, and streams of the overview, and is flipped everywhere only. " +
	"Owners meet their order in any case. Turning on what is on records who and why anew, unless both are the same; turning off what is off records nothing."

// SwitchBody asks to turn a switch.
type SwitchBody struct {
	On     bool    `json:"on"`
	Sale   OneSale `json:"sale,omitzero" required:"false" doc:"For this sale alone; every sale, those to come too, when left out. Neither empty nor null"`
	Reason string  `json:"reason" minLength:"1" maxLength:"500" doc:"Why, for the log"`
}

// SwitchView is how a switch was turned last.
type SwitchView struct {
	Name   string     `json:"name" enum:"skip_purchase_limit,skip_eligibility,force_ended,pause_purchases,pause_noncore"`
	On     bool       `json:"on"`
	Sale   string     `json:"sale,omitempty" doc:"Left out for what is turned everywhere"`
	Reason string     `json:"reason,omitempty"`
	By     string     `json:"by,omitempty"`
	At     *time.Time `json:"at,omitempty" doc:"When; left out where it was never turned"`
}

// SwitchList is every switch as it stands everywhere, then what single sales have
// turned on.
type SwitchList struct {
	Switches []SwitchView `json:"switches" nullable:"false"`
}

type switchRequest struct {
	Name string `path:"name"`
	Body SwitchBody
}

type switchAnswer struct {
	Body SwitchView
}

type switchesAnswer struct {
	Body SwitchList
}

func switchView(s commands.SwitchState) SwitchView {
	v := SwitchView{Name: string(s.Name), On: s.On, Sale: s.Sale, Reason: s.Reason, By: s.By}
	if !s.At.IsZero() {
		at := s.At.UTC()
		v.At = &at
	}
	return v
}

func (s *Server) flipSwitch(ctx context.Context, in *switchRequest) (*switchAnswer, error) {
	if in.Body.Sale.empty() {
		return nil, wrong(domain.FieldError{Field: "sale", Reason: "want a text"})
	}
	f := commands.Flip{Name: domain.SwitchName(in.Name), On: in.Body.On, Sale: in.Body.Sale.ID}
	state, err := s.Switches.Flip(ctx, f, actorOf(ctx, in.Body.Reason))
	if err != nil {
		return nil, err
	}
	s.logAction(ctx, "switch-"+string(f.Name)+map[bool]string{true: "-on", false: "-off"}[f.On], f.Sale)
	return &switchAnswer{Body: switchView(state)}, nil
}

func (s *Server) listSwitches(ctx context.Context, _ *struct{}) (*switchesAnswer, error) {
	states, err := s.Switches.List(ctx)
	if err != nil {
		return nil, err
	}
	list := SwitchList{Switches: make([]SwitchView, len(states))}
	for i, state := range states {
		list.Switches[i] = switchView(state)
	}
	return &switchesAnswer{Body: list}, nil
}

// switchedOn names what is on everywhere, for the answer of a node that is ready.
func (s *Server) switchedOn() []domain.SwitchName {
	names := []domain.SwitchName{}
	for _, state := range s.Switches.Everywhere() {
		names = append(names, state.Name)
	}
	return names
}

// whoSwitched is switchedOn with who did it, when and why, for operators.
func (s *Server) whoSwitched() []SwitchView {
	views := []SwitchView{}
	for _, state := range s.Switches.Everywhere() {
		views = append(views, switchView(state))
	}
	return views
}
