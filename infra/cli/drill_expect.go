package cli

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"seckill/domain"
)

// turn is a switch to be rehearsed: for the sale, or with Sale "" everywhere.
type turn struct {
	name domain.SwitchName
	sale string
}

func (t turn) scope() string {
	if t.sale == "" {
		return drillEverywhere
	}
	return drillForSale
}

// String names it to people.
func (t turn) String() string {
	if t.sale == "" {
		return string(t.name) + " everywhere"
	}
	return fmt.Sprintf("%s for sale %s", t.name, t.sale)
}

// wanted is what each kind of question must be answered.
type wanted map[string]string

// wantedOf gives the answers that the contract promises while a switch is on, and
// while it is off again.
func wantedOf(t turn, on bool) wanted {
	want := wanted{
		askOrdinary: wordAccepted,
		askOver:     refusalWord(http.StatusConflict, domain.CodeLimitExceeded),
		askStranger: refusalWord(http.StatusForbidden, domain.CodeNotEligible),
	}
	if t.sale == "" {
		want[askReady] = wordUnlisted
	}
	if !on {
		return want
	}
	if t.sale == "" {
		want[askReady] = wordListed
	}
	switch t.name {
	case domain.PausePurchases:
		want.all(refusalWord(http.StatusServiceUnavailable, domain.CodePaused))
	case domain.ForceEnded:
		want.all(refusalWord(http.StatusGone, domain.CodeSaleEnded))
	case domain.SkipPurchaseLimit:
		want[askOver] = wordAccepted
	case domain.SkipEligibility:
		want[askStranger] = wordAccepted
	}
	return want
}

// all has every purchase answered the same.
func (w wanted) all(word string) { w[askOrdinary], w[askOver], w[askStranger] = word, word, word }

// judge compares what was heard with what is wanted: need answers in a row of each
// kind at each node.
func (c *crowd) judge(nodes []string, want wanted, began time.Time, need int) *drillFlip {
	flip := &drillFlip{Held: true}
	for _, node := range nodes {
		n := drillNode{URL: node, Held: true, Answers: map[string]string{}}
		for _, w := range c.watchers {
			word, asked := want[w.kind]
			if w.node != node || !asked {
				continue
			}
			s, _, fault := w.look()
			if s.word == wordUntold {
				continue
			}
			n.Answers[w.kind] = s.word
			if s.n == 0 {
				n.Answers[w.kind] = fault
			}
			took := max(0, s.since.Sub(began))
			if s.word != word || s.n < need {
				n.Held, took = false, time.Since(began)
			}
			n.TookMS = max(n.TookMS, took.Milliseconds())
		}
		flip.Nodes = append(flip.Nodes, n)
		flip.Held, flip.TookMS = flip.Held && n.Held, max(flip.TookMS, n.TookMS)
	}
	return flip
}

// contrary names one answer that is not as wanted.
func (f *drillFlip) contrary(want wanted) string {
	for _, n := range f.Nodes {
		for _, kind := range []string{askOrdinary, askOver, askStranger, askReady} {
			if got, asked := n.Answers[kind]; asked && got != want[kind] {
				return fmt.Sprintf("%s: %s is answered %q, want %q", n.URL, kind, got, want[kind])
			}
		}
	}
	return "not all nodes answered often enough"
}

// drillRule is something beside the answers of the crowd that must hold at every node
// while a switch is on.
type drillRule struct {
	name string
	// kind is whose last owner of an order asks again; "" is somebody new who asks
	// for more than any purchase may have.
	kind string
}

// Rules that no switch lifts.
const (
	ruleOwner  = "who has an order meets it"
	ruleRepeat = "a second purchase is the first order"
	ruleBound  = "the bound on one purchase stays"
)

func rulesOf(name domain.SwitchName) []drillRule {
	switch name {
	case domain.PausePurchases, domain.ForceEnded:
		return []drillRule{{ruleOwner, askOrdinary}}
	case domain.SkipPurchaseLimit:
		return []drillRule{{ruleRepeat, askOver}, {ruleBound, ""}}
	case domain.SkipEligibility:
		return []drillRule{{ruleRepeat, askStranger}}
	}
	return nil
}

// checks asks at every node whether the rules hold while a switch is on.
func (c *crowd) checks(ctx context.Context, nodes []string, name domain.SwitchName, within time.Duration) []drillCheck {
	var all []drillCheck
	for _, rule := range rulesOf(name) {
		check := drillCheck{Name: rule.name, OK: true}
		for _, node := range nodes {
			if wrong := c.breaks(ctx, node, rule, within); wrong != "" && check.OK {
				check.OK, check.Detail = false, node+" "+wrong
			}
		}
		all = append(all, check)
	}
	return all
}

// breaks says how a rule does not hold at a node; "" when it does.
func (c *crowd) breaks(ctx context.Context, node string, rule drillRule, within time.Duration) string {
	who := heard{buyer: c.fresh(), tier: rehearsalTier, quantity: domain.MaxQuantity + 1}
	want := refusalWord(http.StatusUnprocessableEntity, domain.CodeInvalidRequest)
	if rule.kind != "" {
		at := slices.IndexFunc(c.watchers, func(w *watcher) bool { return w.node == node && w.kind == rule.kind })
		if _, who, _ = c.watchers[at].look(); who.order == "" {
			return "accepted nobody who could ask again"
		}
		want = wordOwn
	}
	order := who.order
	for deadline := time.Now().Add(within); ; {
		got, err := c.buy(ctx, node, who)
		clear := err == nil && !saysNothing(got.word)
		switch {
		case clear && got.word == want && (order == "" || got.order == order):
			return ""
		case clear:
			return fmt.Sprintf("answers %s %s, want %s %s", got.word, got.order, want, order)
		case ctx.Err() != nil || time.Now().After(deadline):
			return "gave no clear answer"
		}
		pauseFor(ctx, drillLook)
	}
}
