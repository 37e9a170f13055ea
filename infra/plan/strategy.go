package plan

import (
	"fmt"

	"seckill/domain"
)

const strategyDirect = string(domain.StrategyPostgres)

// Boundaries between the strategies.
const (
	// directShare is the part of what PostgreSQL places that is planned to be used.
	directShare = 0.5
	// directCrowd bounds the whole crowd of a sale without a gate, in multiples of what
	// PostgreSQL places: it shares looks, but all who come before the first of them go to
	// the log.
	directCrowd = 4
	// syncWait is the longest that the last buyer of the busiest second should wait for
	// the record, in seconds; the answer's budget is a second.
	syncWait = 0.5
)

// choose picks a strategy and says why.
func (p *Plan) choose(c Costs) {
	direct := c.Direct.Value * directShare
	wait := p.BusiestAccepted / c.Recorded.Value
	say := func(format string, args ...any) { p.Reasons = append(p.Reasons, fmt.Sprintf(format, args...)) }
	switch {
	case p.BusiestAccepted <= direct && p.SizedPerSecond <= directCrowd*c.Direct.Value:
		p.Strategy = strategyDirect
		say("Of %.0f purchases in the busiest second %.0f get a unit, and PostgreSQL alone places %.0f: no Redis is needed, and every answer is final (201 placed).", p.SizedPerSecond, p.BusiestAccepted, c.Direct.Value)
		say("Nothing is between the buyer and the log: while PostgreSQL is away nothing is sold, and nothing that was told is lost.")
	case wait <= syncWait:
		p.Strategy = string(domain.StrategyRedisSync)
		say("%.0f purchases come in the busiest second and %.0f get a unit: more than PostgreSQL alone should place (%.0f of %.0f) or turn away (%.0f). Redis decides.", p.SizedPerSecond, p.BusiestAccepted, direct, c.Direct.Value, directCrowd*c.Direct.Value)
		say("The %.0f accepted in the busiest second are recorded within %.1f s, so the answer can wait for the record: 201 placed, and 202 queued where it takes longer.", p.BusiestAccepted, wait)
	default:
		p.Strategy = string(domain.StrategyRedisAsync)
		say("%.0f purchases are accepted in the busiest second, and one PostgreSQL records %.0f: an answer that waits for the record would take up to %.1f s.", p.BusiestAccepted, c.Recorded.Value, wait)
		say("So Redis decides and answers 202 queued at once; all is recorded %.1f s after the opening.", p.Seconds.Recorded)
	}
	if p.Strategy == strategyDirect {
		p.Gate, p.Buckets = Gate{}, 1
		p.Seconds.Recorded, p.Seconds.Projected = p.Seconds.SoldOut, max(p.Seconds.SoldOut, p.Seconds.Projected)
		return
	}
	if p.Buckets == 1 {
		say("One bucket: the gate's core is %.0f %% busy in the busiest second.", 100*p.Gate.Load)
	} else {
		say("%d buckets on %d Redis masters: one master cannot answer for this item fast enough.", p.Buckets, p.Gate.Servers)
	}
}
