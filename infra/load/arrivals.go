package load

import (
	"errors"
	"math/rand/v2"
	"slices"
	"time"
)

// Shape says when a crowd arrives: the share Rush of it at random moments within
// RushFor of the start, the others at random moments within the TailFor after.
type Shape struct {
	Rush    float64 // 0 to 1
	RushFor time.Duration
	TailFor time.Duration
}

// FlashSale is the shape of a flash sale: 80 % press the button within the first
// two seconds, the rest over the three seconds after.
func FlashSale() Shape {
	return Shape{Rush: 0.8, RushFor: 2 * time.Second, TailFor: 3 * time.Second}
}

// Validate reports everything that is wrong with the shape.
func (s Shape) Validate() error {
	var errs []error
	if s.Rush < 0 || s.Rush > 1 {
		errs = append(errs, errors.New("the share of the rush must lie between 0 and 1"))
	}
	if s.RushFor < 0 || s.TailFor < 0 {
		errs = append(errs, errors.New("a crowd cannot arrive within a negative time"))
	}
	return errors.Join(errs...)
}

// Arrivals gives n moments after the start, in order. The same seed gives the
// same moments.
func Arrivals(n int, shape Shape, seed uint64) []time.Duration {
	random := rand.New(rand.NewPCG(seed, 0x5ec1))
	within := func(d time.Duration) time.Duration {
		if d <= 0 {
			return 0
		}
		return time.Duration(random.Int64N(int64(d)))
	}
	at := make([]time.Duration, n)
	rush := int(shape.Rush*float64(n) + 0.5)
	for i := range at {
		if i < rush {
			at[i] = within(shape.RushFor)
		} else {
			at[i] = shape.RushFor + within(shape.TailFor)
		}
	}
	slices.Sort(at)
	return at
}

// Evenly gives the moments within d at which arrivals come that know nothing of each
// other, perSecond of them a second on average (a Poisson process). The same seed
// gives the same moments.
func Evenly(perSecond float64, d time.Duration, seed uint64) []time.Duration {
	random := rand.New(rand.NewPCG(seed, 0x5ec2))
	var at []time.Duration
	for t := time.Duration(0); perSecond > 0; {
		t += time.Duration(random.ExpFloat64() / perSecond * float64(time.Second))
		if t >= d {
			break
		}
		at = append(at, t)
	}
	return at
}
