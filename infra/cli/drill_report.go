package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
)

// drillReport is the result of a drill as --json prints it.
type drillReport struct {
	SaleID string   `json:"sale_id"`
	Nodes  []string `json:"nodes"`
	// PromiseMS is within how long a flip must be in force everywhere.
	PromiseMS int64 `json:"promise_ms"`
	// Held: every switch that was rehearsed took effect and was taken back. InTime:
	// none of them took longer than promised.
	Held   bool        `json:"held"`
	InTime bool        `json:"in_time"`
	Steps  []drillStep `json:"steps"`
	// Asked is how many purchases were sent; Unclear how many of those told nothing:
	// no answer, or that the node was busy.
	Asked   int64 `json:"asked"`
	Unclear int64 `json:"unclear"`
	// LeftOn lists what somebody else turned on meanwhile: it was not turned off.
	LeftOn []string `json:"left_on"`
	Closed bool     `json:"closed"`
}

// drillStep is one switch, for the sale or everywhere. One that was not tried has
// Skipped, which says why, and nothing else.
type drillStep struct {
	Switch  string       `json:"switch"`
	For     string       `json:"for"`
	Skipped string       `json:"skipped,omitempty"`
	On      *drillFlip   `json:"on,omitempty"`
	Off     *drillFlip   `json:"off,omitempty"`
	Checks  []drillCheck `json:"checks,omitempty"`
}

// Whom a switch is turned for.
const (
	drillForSale    = "sale"
	drillEverywhere = "everywhere"
)

// drillFlip is how a flip came into force. TookMS is from when it was asked for to the
// sending of the first request from which on everything was answered as it should,
// at the slowest place; where that never came, how long it was waited for.
type drillFlip struct {
	Held   bool        `json:"held"`
	TookMS int64       `json:"took_ms"`
	Nodes  []drillNode `json:"nodes"`
	Views  *drillViews `json:"views,omitempty"`
}

// drillNode is one node: by kind of question, what was heard last.
type drillNode struct {
	URL     string            `json:"url"`
	Held    bool              `json:"held"`
	TookMS  int64             `json:"took_ms"`
	Answers map[string]string `json:"answers"`
}

// drillViews is what the views did.
type drillViews struct {
	Held   bool   `json:"held"`
	TookMS int64  `json:"took_ms"`
	Detail string `json:"detail"`
}

// drillCheck is something that must hold while a switch is on, at every node.
type drillCheck struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail,omitempty"`
}

func (s *drillStep) held() bool {
	for _, c := range s.Checks {
		if !c.OK {
			return false
		}
	}
	return s.Skipped != "" || s.On != nil && s.On.Held && s.Off != nil && s.Off.Held
}

func (s *drillStep) inTime(promise int64) bool {
	return (s.On == nil || s.On.TookMS <= promise) && (s.Off == nil || s.Off.TookMS <= promise)
}

// judge sums the steps up.
func (r *drillReport) judge() {
	r.Held, r.InTime = len(r.LeftOn) == 0, true
	for i := range r.Steps {
		r.Held = r.Held && r.Steps[i].held()
		r.InTime = r.InTime && r.Steps[i].inTime(r.PromiseMS)
	}
}

// good tells whether there is nothing to look into.
func (r *drillReport) good() bool { return r.Held && r.InTime && r.Closed }

// verdict says in a few words how a step went.
func (s *drillStep) verdict(promise int64) string {
	switch {
	case s.Skipped != "":
		return "not tried: " + s.Skipped
	case !s.held():
		return "did not hold ✗"
	case !s.inTime(promise):
		return "held, but too late ✗"
	}
	return "held ✓"
}

// table tells it to a person.
func (r *drillReport) table() table.Writer {
	t := newTable("switch", "for", "on after", "off after", "while it was on", "verdict")
	t.SetTitle(fmt.Sprintf("Sale %s · %d node(s) · %s purchases · promised within %s", r.SaleID, len(r.Nodes), grouped(r.Asked), short(time.Duration(r.PromiseMS)*time.Millisecond)))
	numbers(t, 3, 4)
	for i := range r.Steps {
		s := &r.Steps[i]
		t.AppendRow(table.Row{s.Switch, s.For, s.On.took(), s.Off.took(), s.heard(), s.verdict(r.PromiseMS)})
	}
	for _, left := range r.LeftOn {
		t.AppendFooter(table.Row{"left on", "", "", "", left})
	}
	return t
}

func (f *drillFlip) took() string {
	switch {
	case f == nil:
		return ""
	case !f.Held:
		return "never"
	}
	return short(time.Duration(f.TookMS) * time.Millisecond)
}

// heard lists what the nodes answered, and which checks failed.
func (s *drillStep) heard() string {
	var lines []string
	if s.On != nil {
		words := map[string]bool{}
		for _, n := range s.On.Nodes {
			for kind, word := range n.Answers {
				words[kind+": "+word] = true
			}
		}
		lines = slices.Sorted(maps.Keys(words))
		if s.On.Views != nil {
			lines = append(lines, s.On.Views.Detail)
		}
	}
	for _, c := range s.Checks {
		mark := " ✓"
		if !c.OK {
			mark = " ✗ " + c.Detail
		}
		lines = append(lines, c.Name+mark)
	}
	return strings.Join(lines, "\n")
}
