package preflight

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"seckill/domain"
)

// soonest is the least time before the opening in which anything can still be mended.
const soonest = 2 * time.Minute

// saleIsReady looks at the sale's state, its window, and whether it may open.
func saleIsReady(_ context.Context, s *Site) []Row {
	const state, window, confirmed = "sale.state", "sale.window", "sale.confirmation"
	if s.Sale == nil {
		return []Row{unseen(state, "scheduled", nil)}
	}
	now, id := s.Now(), s.Sale.ID
	is := s.Sale.StateAt(now)
	seen := string(is)
	for _, reason := range s.Sale.Pauses {
		seen += fmt.Sprintf(", paused by %s", reason)
	}
	good := is == domain.SaleStateScheduled && len(s.Sale.Pauses) == 0
	rows := []Row{row(state, unless(good || is == domain.SaleStateOpen, NoGo), seen, "scheduled, without a pause",
		"`seckill sale show "+id+"` says why; `seckill sale resume "+id+"` takes an operator's pause back")}
	left := s.Sale.Terms.OpensAt.Sub(now)
	seen = fmt.Sprintf("opens in %s, for %s", left.Round(time.Second), s.Sale.Terms.ClosesAt.Sub(s.Sale.Terms.OpensAt))
	if left < 0 {
		seen = fmt.Sprintf("opened %s ago, closes in %s", (-left).Round(time.Second), s.Sale.Terms.ClosesAt.Sub(now).Round(time.Second))
	}
	verdict := unless(left >= soonest, Warning)
	if !now.Before(s.Sale.Terms.ClosesAt) {
		verdict = NoGo
	}
	rows = append(rows, row(window, verdict, seen, fmt.Sprintf("opens in %s or later", soonest), "what is found now can hardly be mended before; `seckill sale revise` moves the opening"))
	if s.Sale.Terms.AutoOpen {
		return append(rows, row(confirmed, OK, "opens by itself", "opens by itself, or confirmed", ""))
	}
	return append(rows, row(confirmed, unless(s.Sale.Confirmed, NoGo), map[bool]string{true: "confirmed", false: "waits for its confirmation"}[s.Sale.Confirmed],
		"confirmed after a clean preheat", "`seckill preheat --sale "+id+"`, then `seckill sale confirm "+id+"`"))
}

// switchesAreOff looks at what is switched on for the sale, or everywhere.
func switchesAreOff(_ context.Context, s *Site) []Row {
	const name, want = "switches", "none is on"
	on := map[domain.SwitchName]string{}
	if s.Switches != nil {
		for _, w := range s.Switches() {
			on[w.Name] = fmt.Sprintf("%s everywhere, by %s: %s", w.Name, w.By, w.Reason)
		}
	}
	if s.Sale != nil {
		for _, w := range s.Sale.Switches {
			if _, known := on[w.Name]; !known {
				on[w.Name] = fmt.Sprintf("%s for the sale", w.Name)
			}
		}
	}
	switch {
	case len(on) == 0 && (s.Sale == nil || s.Switches == nil):
		return []Row{unseen(name, want, nil)} // what is on may be on the side that was not seen
	case len(on) == 0:
		return []Row{row(name, OK, "none is on", want, "")}
	}
	state, all := Warning, []string{}
	for w, text := range on {
		all = append(all, text)
		if w == domain.PausePurchases || w == domain.ForceEnded {
			state = NoGo
		}
	}
	slices.Sort(all)
	return []Row{row(name, state, strings.Join(all, "; "), want, "`seckill switch off NAME --reason TEXT`, unless it is meant")}
}
