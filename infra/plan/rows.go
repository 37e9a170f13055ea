package plan

import (
	"fmt"
	"strconv"
)

// Row is a line of a plan for people.
type Row struct{ What, Much, Why string }

// Rows gives the numbers of a plan for people, in their order, each with what it was
// computed from.
func (p Plan) Rows() []Row {
	n := Number
	rows := []Row{
		{"requests a second at the peak", n(p.PeakPerSecond), fmt.Sprintf("%d participants × %s who press within the peak / %s s", p.Wish.Participants, n(p.Wish.Share), n(p.Wish.Seconds))},
		{"the same with headroom", n(p.SizedPerSecond), fmt.Sprintf("× %s: what the rest is for", n(p.Wish.Headroom))},
		{"accepted in the busiest second", n(p.BusiestAccepted), fmt.Sprintf("of %d units; all others are refused", p.Wish.Stock)},
		{"API cores", n(p.API.Cores), fmt.Sprintf("(accepted × (%s + %d looks × %s µs) + refused × %s µs) / %.0f %% that may be busy", p.cost(KeyAPIAccepted), pollsPerBuyer, p.cost(KeyAPIPoll), p.cost(KeyAPIRefused), 100*busy)},
		{"API nodes", strconv.Itoa(p.API.Nodes), fmt.Sprintf("of %d cores; two at least, since one may die", p.API.CoresPerNode)},
	}
	rows = append(rows, p.gateRows()...)
	rows = append(rows, p.logRows()...)
	rows = append(rows, p.timeRows()...)
	return append(rows, p.edgeRows()...)
}

func (p Plan) gateRows() []Row {
	if p.Strategy == strategyDirect {
		return nil
	}
	return []Row{
		{"load of the gate's core", fmt.Sprintf("%.0f %%", 100*p.Gate.Load), fmt.Sprintf("accepted × %s µs + refused × %s µs of Redis", p.cost(KeyGateAccepted), p.cost(KeyGateRefused))},
		{"Redis masters", strconv.Itoa(p.Gate.Servers), fmt.Sprintf("each at most %.0f %% busy", 100*busy)},
		{"memory of the gate", fmt.Sprintf("%d MB", p.Gate.Megabytes), fmt.Sprintf("%d orders × %s bytes, until clean-up", p.Accepted, p.cost(KeyGateBytes))},
		{"buckets of an item", strconv.Itoa(p.Buckets), "as many as masters: a bucket lives on one"},
	}
}

func (p Plan) logRows() []Row {
	kafka := map[bool]string{true: "Kafka is needed, since several share the views", false: "no Kafka is needed"}[p.Bus.Kafka]
	return []Row{
		{"log and views", fmt.Sprintf("%d MB", p.Log.Megabytes), fmt.Sprintf("%d purchases × %s bytes of PostgreSQL, indexes included", p.Accepted, p.cost(KeyLogBytes))},
		{"projectors", strconv.Itoa(p.Bus.Projectors), fmt.Sprintf("%d events a purchase, %s events a second each; %s", eventsPerPurchase, p.cost(KeyProjected), kafka)},
		{"Kafka partitions, shards of the views", strconv.Itoa(p.Bus.Partitions), "fixed in this version"},
		{"connections to PostgreSQL, at most", strconv.Itoa(p.Conns), fmt.Sprintf("%d API nodes, 2 recorders, %d projectors, 1 scheduler × %s in the pools of a process", p.API.Nodes, p.Bus.Projectors, p.cost(KeyNodeConns))},
	}
}

func (p Plan) timeRows() []Row {
	n := Number
	var rows []Row
	if p.Seconds.SoldOut > 0 {
		rows = append(rows, Row{"sold out after", n(p.Seconds.SoldOut) + " s", "if they come evenly"})
	}
	recorded := fmt.Sprintf("%s purchases a second into one PostgreSQL, and not before the last is taken", p.cost(KeyRecorded))
	if p.Strategy == strategyDirect {
		recorded = "with each answer"
	}
	return append(rows,
		Row{"all recorded after", n(p.Seconds.Recorded) + " s", recorded},
		Row{"all in the views after", n(p.Seconds.Projected) + " s", fmt.Sprintf("%d projectors of %s events a second", p.Bus.Projectors, p.cost(KeyProjected))},
		Row{"time to drain", n(p.Seconds.Drain) + " s", "from the last unit taken until all is in the views: how long the last buyer waits"},
		Row{"unpaid units on sale again from", n(p.Seconds.ReturnsFrom) + " s", "the payment window, after the first was placed"},
		Row{"and until", n(p.Seconds.ReturnsUntil) + " s", fmt.Sprintf("the window after the last was placed, at %s a second if nobody pays: let the sale close no earlier", p.cost(KeyRecorded))})
}

func (p Plan) edgeRows() []Row {
	why := func(key, what string) string {
		return fmt.Sprintf("(requests + %d looks a winner) × %s bytes of %s × 8 × %s for TCP, IP and TLS; purchases are never cached", pollsPerBuyer, p.cost(key), what, Number(onTheWire))
	}
	return []Row{
		{"ingress", Number(p.Wire.IngressMbit) + " Mbit/s", why(KeyRequestBytes, "request")},
		{"egress", Number(p.Wire.EgressMbit) + " Mbit/s", why(KeyAnswerBytes, "answer")},
		{"SECKILL_LIMIT_ENDPOINT", strconv.FormatInt(p.Set.LimitEndpoint, 10), "requests a second / nodes × 1.2: no node takes much more than its share"},
		{"SECKILL_ADMISSION_QUEUE", strconv.FormatInt(p.Set.AdmissionQueue, 10), fmt.Sprintf("what one node gets in %s s; %d at least", Number(queueWait), leastQueue)},
		{"SECKILL_ADMISSION_CAP", strconv.FormatInt(p.Set.AdmissionCap, 10), "purchases at once at a node; the default"},
		{"SECKILL_LIMIT_PURCHASES", strconv.FormatInt(p.Set.LimitPurchases, 10), "of one buyer in a second, over all nodes; the default"},
	}
}

// cost writes the unit cost of a key.
func (p Plan) cost(key string) string {
	for _, c := range p.Costs {
		if c.Key == key {
			return Number(c.Value)
		}
	}
	return "?"
}

// Number writes a number for people: no more digits than it deserves.
func Number(v float64) string {
	switch {
	case v >= 100:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case v >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'g', 2, 64)
}
