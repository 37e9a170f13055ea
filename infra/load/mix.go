package load

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Persona is what a visitor of a sale came to do.
type Persona uint8

// Personas.
const (
	// Purchases press the button, again while they are told to, and look at their order
	// until it is placed.
	Purchases Persona = iota
	// Polls look at their orders in the sale three times.
	Polls
	// Pages read the buyer page once and the sale three times.
	Pages
	// Payments do as Purchases, then ask where to pay, and pay where that can be told.
	Payments
	// Repeats press several times without waiting for answers, under one
	// Idempotency-Key.
	Repeats
	// Attackers send forged tokens, broken bodies, absurd quantities, and ask for what is
	// not theirs.
	Attackers
)

var personas = [...]string{"purchases", "polls", "pages", "payments", "repeats", "attackers"}

// String gives the name in a mix.
func (p Persona) String() string { return personas[p] }

// Mix is how many visitors of each persona there are for each other: parts, not
// shares.
type Mix [len(personas)]float64

// ParseMix reads a mix such as purchases=80,pages=15,attackers=5.
func ParseMix(text string) (Mix, error) {
	var m Mix
	for _, part := range strings.Split(text, ",") {
		name, value, ok := strings.Cut(strings.TrimSpace(part), "=")
		i := slices.Index(personas[:], name)
		v, err := strconv.ParseFloat(value, 64)
		if !ok || i < 0 || err != nil || v < 0 || math.IsNaN(v) || math.IsInf(v, 0) {
			return m, fmt.Errorf("%q is no part of a mix: want such as purchases=80, of %s", part, strings.Join(personas[:], ", "))
		}
		m[i] = v
	}
	return m, m.Validate()
}

// Validate refuses a mix of nobody.
func (m Mix) Validate() error {
	if m.sum() <= 0 {
		return errors.New("there is nobody in the mix")
	}
	return nil
}

func (m Mix) sum() float64 {
	var sum float64
	for _, v := range m {
		sum += v
	}
	return sum
}

// String writes the mix as ParseMix reads it, without whom there are none of.
func (m Mix) String() string {
	var parts []string
	for i, v := range m {
		if v > 0 {
			parts = append(parts, fmt.Sprintf("%s=%v", personas[i], v))
		}
	}
	return strings.Join(parts, ",")
}

// Visit is what one arrival is: a visitor, or one press of one who repeats.
type Visit struct {
	Persona Persona
	// Buyer is the number of the buyer; SKU of the item.
	Buyer, SKU int32
}

// Crush says who comes.
type Crush struct {
	Arrivals []time.Duration // of visitors
	Mix      Mix
	// Buyers is how many distinct ones there are; when more visitors come, they come
	// again, and a Buyers of 0 is as many as visitors.
	Buyers int
	// Presses is how often one who repeats presses (5), all within PressFor (1 s).
	Presses  int
	PressFor time.Duration
	// SKUs is how many items there are (1); Hot the share of visitors who want the first
	// of them, the others being wanted alike.
	SKUs int
	Hot  float64
	Seed uint64
}

// Visits gives all arrivals in their order, and what each is. The same crush gives the
// same visits.
func (c Crush) Visits() ([]time.Duration, []Visit) {
	random := rand.New(rand.NewPCG(c.Seed, 0x5ec3))
	buyers, presses, window := c.Buyers, max(c.Presses, 1), max(c.PressFor, time.Millisecond)
	if buyers <= 0 {
		buyers = len(c.Arrivals)
	}
	type visit struct {
		at time.Duration
		Visit
	}
	all := make([]visit, 0, len(c.Arrivals))
	for i, at := range c.Arrivals {
		v := Visit{Persona: c.Mix.pick(random), Buyer: int32(i % buyers), SKU: c.sku(random)}
		all = append(all, visit{at, v})
		if v.Persona != Repeats {
			continue
		}
		for range presses - 1 {
			all = append(all, visit{at + time.Duration(random.Int64N(int64(window))), v})
		}
	}
	slices.SortStableFunc(all, func(a, b visit) int { return int(a.at - b.at) })
	at, visits := make([]time.Duration, len(all)), make([]Visit, len(all))
	for i, v := range all {
		at[i], visits[i] = v.at, v.Visit
	}
	return at, visits
}

func (m Mix) pick(random *rand.Rand) Persona {
	at := random.Float64() * m.sum()
	last := Purchases
	for i, v := range m {
		if v <= 0 {
			continue
		}
		last = Persona(i)
		if at -= v; at < 0 {
			break
		}
	}
	return last
}

func (c Crush) sku(random *rand.Rand) int32 {
	if c.SKUs <= 1 || random.Float64() < c.Hot {
		return 0
	}
	return 1 + random.Int32N(int32(c.SKUs-1))
}
