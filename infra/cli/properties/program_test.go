package properties

import (
	"bufio"
	"fmt"
	"strings"

	"pgregory.net/rapid"

	"seckill/domain"
)

// program is what happens to one sale. It is data alone: run it twice and the same is
// asked for twice.
type program struct {
	Terms terms
	Steps []step
}

// terms are those of the program's sale.
type terms struct {
	Strategy domain.Strategy
	Buckets  int
	Stock    [2]int64 // of each item
	Limit    int64    // units of a buyer
	Orders   int      // live orders of a buyer
	Rebuy    bool
}

// step is one thing that happens. A, B and C choose among what there is then; what
// each means is the step's own matter. Where there is nothing to choose from, the step
// does nothing.
type step struct {
	Do      string
	A, B, C int
}

// kinds lists the steps, and how often each is drawn. The first does nothing: a
// program is shrunk towards it.
func kinds() []kind {
	return []kind{
		{"nothing", 1, (*run).nothing},
		{"buy", 14, (*run).buy}, {"again", 4, (*run).again}, {"crowd", 3, (*run).crowd}, {"clicks", 2, (*run).clicks},
		{"poll", 3, (*run).poll}, {"cancel", 6, (*run).cancel},
		{"pay", 5, (*run).pay}, {"pay-fails", 2, (*run).payFails}, {"pay-twice", 2, (*run).payTwice}, {"race", 3, (*run).race},
		{"release", 3, (*run).release}, {"withdraw", 3, (*run).withdraw}, {"pause", 2, (*run).pause}, {"switch", 2, (*run).flip},
		{"preheat", 1, (*run).preheat}, {"rehydrate", 1, (*run).rehydrate}, {"rebuild", 1, (*run).rebuild},
		{"hour-passes", 3, (*run).hourPasses}, {"sweep", 1, (*run).sweep},
		{"kill-api", 2, (*run).killAPI}, {"kill-recorder", 2, (*run).killRecorder}, {"kill-views", 1, (*run).killViews}, {"start", 2, (*run).start},
		{"buy-dies", 3, (*run).buyDies}, {"cancel-dies", 2, (*run).cancelDies}, {"record-dies", 2, (*run).recordDies},
		{"redis-restarts", 1, (*run).redisRestarts}, {"redis-copied", 2, (*run).redisCopied}, {"redis-put-back", 1, (*run).redisPutBack},
		{"cut", 1, (*run).cut}, {"reply-lost", 1, (*run).replyLost}, {"calm", 3, (*run).quiet},
	}
}

type kind struct {
	name   string
	weight int
	do     func(*run, step)
}

// pick gives 0 to n-1, each about as often: the ranges of rapid prefer small numbers,
// and a program of small numbers goes nowhere.
func pick(t *rapid.T, label string, n int) int {
	bits := 0
	for range 9 {
		bits *= 2
		if rapid.Bool().Draw(t, label) {
			bits++
		}
	}
	return bits % n
}

// programs draws programs of so many steps.
func programs(least, most int) *rapid.Generator[program] {
	var names []string
	for _, k := range kinds() {
		for range k.weight {
			names = append(names, k.name)
		}
	}
	steps := rapid.Custom(func(t *rapid.T) step {
		return step{Do: names[pick(t, "do", len(names))], A: pick(t, "a", 64), B: pick(t, "b", 64), C: pick(t, "c", 64)}
	})
	return rapid.Custom(func(t *rapid.T) program {
		p := program{Terms: drawTerms(t)}
		p.Steps = rapid.SliceOfN(steps, least, most).Draw(t, "steps")
		return p
	})
}

func drawTerms(t *rapid.T) terms {
	strategies := []domain.Strategy{domain.StrategyRedisAsync, domain.StrategyRedisAsync, domain.StrategyRedisSync, domain.StrategyPostgres}
	s := terms{
		Strategy: strategies[pick(t, "strategy", len(strategies))], Buckets: 1,
		Stock: [2]int64{int64(1 + pick(t, "stock", 8)), int64(pick(t, "stock", 5))},
		Limit: int64(1 + pick(t, "limit", 4)), Orders: 1 + pick(t, "orders", 3), Rebuy: pick(t, "rebuy", 2) == 1,
	}
	if buckets := pick(t, "buckets", 4); buckets > 1 && !s.Strategy.Gateless() {
		s.Buckets = buckets
	}
	return s
}

// String gives the text form: the terms, then a step a line; steps that do nothing
// are left out.
func (p program) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "terms %s buckets=%d stock=%d,%d limit=%d orders=%d rebuy=%t\n",
		p.Terms.Strategy, p.Terms.Buckets, p.Terms.Stock[0], p.Terms.Stock[1], p.Terms.Limit, p.Terms.Orders, p.Terms.Rebuy)
	for _, s := range p.Steps {
		if s.Do != "nothing" {
			fmt.Fprintln(&b, s)
		}
	}
	return b.String()
}

// String gives a line of the text form.
func (s step) String() string { return fmt.Sprintf("%s %d %d %d", s.Do, s.A, s.B, s.C) }

// parse reads the text form. Lines that begin with '#' are remarks.
func parse(text string) (program, error) {
	var p program
	lines := bufio.NewScanner(strings.NewReader(text))
	seen := false
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		var err error
		if !seen {
			seen = true
			_, err = fmt.Sscanf(line, "terms %s buckets=%d stock=%d,%d limit=%d orders=%d rebuy=%t",
				&p.Terms.Strategy, &p.Terms.Buckets, &p.Terms.Stock[0], &p.Terms.Stock[1], &p.Terms.Limit, &p.Terms.Orders, &p.Terms.Rebuy)
		} else {
			var s step
			_, err = fmt.Sscanf(line, "%s %d %d %d", &s.Do, &s.A, &s.B, &s.C)
			if err == nil && action(s.Do) == nil {
				err = fmt.Errorf("there is no step %q", s.Do)
			}
			p.Steps = append(p.Steps, s)
		}
		if err != nil {
			return p, fmt.Errorf("line %q: %w", line, err)
		}
	}
	return p, lines.Err()
}

// action gives what a step does, nil for none.
func action(name string) func(*run, step) {
	for _, k := range kinds() {
		if k.name == name {
			return k.do
		}
	}
	return nil
}
