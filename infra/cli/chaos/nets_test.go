package chaos

import (
	"time"

	"seckill/infra/testenv"
)

// network is one way between two, and the requests whose answers are worth losing; none:
// any answer.
type network struct {
	*testenv.FaultProxy
	worth []string
}

// nets fail together.
type nets []network

// What a request that has an effect contains, by store. The log's writer and everybody
// else name a commit differently.
var (
	commits = []string{"COMMIT", "commit"}
	scripts = []string{"evalsha"}
)

// nets are those around a process: towards buyers for the API, else towards its stores.
func (p *proc) nets() nets {
	if p.front != nil {
		return nets{{FaultProxy: p.front}}
	}
	all := nets{{p.pg, commits}, {p.redis, scripts}}
	if p.kafka != nil {
		all = append(all, network{FaultProxy: p.kafka})
	}
	return all
}

// netsTo are all ways to a store.
func (s *site) netsTo(store string) nets {
	var all nets
	for _, p := range s.procs {
		switch {
		case store == "postgres":
			all = append(all, network{p.pg, commits})
		case store == "redis":
			all = append(all, network{p.redis, scripts})
		case p.kafka != nil:
			all = append(all, network{FaultProxy: p.kafka})
		}
	}
	return all
}

// holdOf is how long a fault of networks lasts, 0 for as long as others: a silence is to
// outlast buyers' patience.
func holdOf(fault string) time.Duration {
	if fault == "black_hole" {
		return 2 * patience
	}
	return 0
}

func (n nets) heal() {
	for _, way := range n {
		way.Heal()
	}
}

func (s *site) slow(n nets) (mend func()) {
	for _, way := range n {
		way.Delay(500 * time.Millisecond)
	}
	return n.heal
}

func (s *site) cut(n nets) (mend func()) {
	for _, way := range n {
		way.Cut()
	}
	return n.heal
}

func (s *site) swallow(n nets) (mend func()) {
	for _, way := range n {
		way.BlackHole()
	}
	return n.heal
}

// loseReplies loses an answer on each way five times a second.
func (s *site) loseReplies(n nets) (mend func()) {
	before := n.dropped()
	end := every(200*time.Millisecond, func() {
		for _, way := range n {
			if len(way.worth) == 0 {
				way.DropReplies(1)
			}
			for _, text := range way.worth {
				way.DropReplyTo(text)
			}
		}
	})
	return func() {
		end()
		n.heal()
		if lost := n.dropped() - before; lost == 0 {
			s.found("no answer was lost: the cell tested nothing")
		} else {
			s.felt.Add(int64(lost))
		}
	}
}

func (n nets) dropped() (sum int) {
	for _, way := range n {
		sum += way.Dropped()
	}
	return sum
}
