package linearizability

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// Sizes of a history: short ones find as much as long ones, and are checked at once.
const (
	workers = 5
	asks    = 14 // of each worker, without faults; with them as many more until they are over
	pool    = 8  // buyers
)

// chances gives dice of their own to each worker of each market: what is asked follows
// from the seed, and only when it is asked does not.
func (m *market) chances(worker int) *rand.Rand { return rand.New(rand.NewPCG(m.seed, uint64(worker))) }

// crowd lets the workers of a market do what people do, until each has done its part
// and over is closed.
func (m *market) crowd(over <-chan struct{}, deadline time.Time) {
	var all sync.WaitGroup
	for w := range workers {
		all.Go(func() {
			chance := m.chances(w)
			for i := 0; time.Now().Before(deadline); i++ {
				select {
				case <-over:
					if i >= asks {
						return
					}
				default:
					if i >= 3*asks { // enough; the rest is waited out
						<-over
						return
					}
				}
				m.act(w, chance, deadline)
				time.Sleep(time.Duration(chance.IntN(20)) * time.Millisecond) // so that the crowd gets out of step
			}
		})
	}
	all.Wait()
}

// act is one thing that somebody does.
func (m *market) act(client int, chance *rand.Rand, deadline time.Time) {
	door := func() int { return chance.IntN(len(m.doors)) }
	switch what := chance.IntN(100); {
	case what < 52:
		m.buy(client, door(), m.wish(chance))
	case what < 90:
		f, ok := m.pick(chance)
		if !ok {
			m.buy(client, door(), m.wish(chance))
			return
		}
		k := cancels
		if what >= 78 {
			k = []kind{pays, reads, reads}[chance.IntN(3)]
		}
		m.change(client, door(), k, f)
	case what < 95:
		m.restock(client, 1+chance.IntN(2), deadline, door)
	default:
		m.restock(client, -1-chance.IntN(2), deadline, door)
	}
}

// wish is what a buyer wants: something new, or once more what was asked for before,
// now and then with another quantity.
func (m *market) wish(chance *rand.Rand) fact {
	f := fact{buyer: fmt.Sprintf("buyer-%d", chance.IntN(pool)), units: 1 + chance.IntN(5)/4}
	old, other, keyless := chance.IntN(4) == 0, chance.IntN(4) == 0, chance.IntN(4) == 0
	which := chance.Uint64()
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case old && len(m.keys) > 0:
		f = m.keys[which%uint64(len(m.keys))]
		if other {
			f.units = 3 - f.units
		}
	case !keyless || m.terms.Orders > 1: // with several orders a key is asked for
		m.serial++
		f.key = fmt.Sprintf("key-%d", m.serial)
	}
	return f
}

// pick gives an order that somebody knows of, rather one that may still live.
func (m *market) pick(chance *rand.Rand) (fact, bool) {
	whichever, which := chance.IntN(6) == 0, chance.Uint64()
	m.mu.Lock()
	defer m.mu.Unlock()
	choice := m.orders
	if !whichever {
		choice = slices.DeleteFunc(slices.Clone(choice), func(f fact) bool { return slices.Contains(m.over, f.id) })
	}
	if len(choice) == 0 {
		return fact{}, false
	}
	return choice[which%uint64(len(choice))], true
}

// sellOut lets new buyers buy, one after the other, until one is told that nothing is
// left: so that every unit that a history lost or made up shows in its end.
func (m *market) sellOut(deadline time.Time) {
	for n := 0; time.Now().Before(deadline); n++ {
		f := fact{buyer: fmt.Sprintf("last-%d", n), key: fmt.Sprintf("last-%d", n), units: 1}
		for {
			a := m.buy(workers, n%len(m.doors), f)
			if a.said == saidSoldOut {
				return
			}
			if a.said != nothing && a.said != saidUnseen || !time.Now().Before(deadline) {
				break
			}
			time.Sleep(20 * time.Millisecond) // a person's pause; nothing is waited for
		}
	}
	m.found("nobody was told sold out at the end")
}
