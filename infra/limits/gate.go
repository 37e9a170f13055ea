package limits

import (
	"context"
	"time"
)

// Endpoint is what limits one way in; nil limits nothing.
type Endpoint struct {
	Buyer Limiter
	Total *Total
}

// Gate asks the limits of each endpoint, and notes whom they refuse.
type Gate struct {
	endpoints map[string]Endpoint
	marks     *Marks
	told      Told
}

// Told hears of refusals; what is nil does not. It must not block.
type Told struct {
	// Limited: a buyer's attempt was refused; fresh, when the buyer had no mark.
	Limited func(endpoint, buyer string, fresh bool)
	// Full: the limit of all together refused one.
	Full func(endpoint string)
}

// NewGate makes a gate of endpoints by their names.
func NewGate(endpoints map[string]Endpoint, marks *Marks, told Told) *Gate {
	if told.Limited == nil {
		told.Limited = func(string, string, bool) {}
	}
	if told.Full == nil {
		told.Full = func(string) {}
	}
	return &Gate{endpoints: endpoints, marks: marks, told: told}
}

// Take counts an attempt of a buyer at an endpoint: it passes if the wait is 0.
// What a buyer's own limit refuses counts for nobody else.
func (g *Gate) Take(ctx context.Context, endpoint, buyer string) (wait time.Duration) {
	e := g.endpoints[endpoint]
	if e.Buyer != nil {
		if v := e.Buyer.Take(ctx, buyer); !v.OK {
			g.told.Limited(endpoint, buyer, g.marks.Add(endpoint, buyer))
			return max(v.Wait, 1)
		}
	}
	if e.Total != nil {
		if v := e.Total.Take(); !v.OK {
			g.told.Full(endpoint)
			return max(v.Wait, 1)
		}
	}
	return 0
}

// Marks gives the buyers who were refused.
func (g *Gate) Marks() *Marks { return g.marks }
