package preflight

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// How old the oldest event may be that the views of orders and stock have not applied.
const (
	staleWarns = 2 * time.Second
	staleStops = 10 * time.Second
)

// viewsAreFresh looks whether projectors and relay keep up.
func viewsAreFresh(ctx context.Context, s *Site) []Row {
	const name = "views.fresh"
	want := fmt.Sprintf("no event waits longer than %s", staleWarns)
	if s.Views == nil {
		return []Row{unseen(name, want, nil)}
	}
	stats, err := s.Views(ctx)
	if err != nil {
		return []Row{unseen(name, want, err)}
	}
	state, seen := OK, "all applied"
	if !stats.Waiting.IsZero() {
		waits := s.Now().Sub(stats.Waiting)
		seen = fmt.Sprintf("an event has waited %s", waits.Round(time.Millisecond))
		if waits > staleStops {
			state = NoGo
		} else if waits > staleWarns {
			state = Warning
		}
	}
	return []Row{row(name, state, seen, want, "`seckill checkpoints` names the view and the shard: is a projector running?")}
}

// rolesAreHeld looks whether somebody does what has to be done.
func rolesAreHeld(ctx context.Context, s *Site) []Row {
	return []Row{recorded(ctx, s), led(ctx, s)}
}

func recorded(ctx context.Context, s *Site) Row {
	const name, want = "role.recorder", "every lane has a recorder"
	if s.Recorded == nil {
		return unseen(name, want, nil)
	}
	held, of, err := s.Recorded(ctx)
	if err != nil {
		return unseen(name, want, err)
	}
	return row(name, unless(held == of, NoGo), fmt.Sprintf("%d of %d groups of lanes have one", held, of), want,
		"start a process with the role recorder; what it had not read is recorded when it comes")
}

func led(ctx context.Context, s *Site) Row {
	const name, want = "role.leads", "relay and every task of the scheduler is led"
	if s.Lead == nil {
		return unseen(name, want, nil)
	}
	var nobody []string
	for _, task := range s.Leads {
		held, err := s.Lead(ctx, task)
		if err != nil {
			return unseen(name, want, err)
		}
		if !held {
			nobody = append(nobody, task)
		}
	}
	if len(nobody) == 0 {
		return row(name, OK, fmt.Sprintf("all of %s", strings.Join(s.Leads, ", ")), want, "")
	}
	return row(name, NoGo, "nobody leads "+strings.Join(nobody, ", "), want, "start processes with the roles relay and scheduler; a moment after one died this is so")
}
