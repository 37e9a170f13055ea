package commands

import (
	"cmp"
	"slices"

	"seckill/domain"
)

// askState is what a plan can do for one who waits.
type askState int

const (
	askServed askState = iota // the bucket has enough
	askWaits                  // units are drawn for it, or are free later
	askShort                  // all buckets together have too few
)

// draw is units of an item to be moved.
type draw struct {
	sku, from, to int
	units         int64
}

// levelPlan decides which units go where, from one look at all buckets. Who came first
// is served first: units that one waits for are kept for him, so that two who wait in
// different buckets do not draw the same units to and fro.
type levelPlan struct {
	sale *domain.Sale
	skus []string
	// free is what each bucket has left of each item that nobody before has; what is on
	// its way is counted where it goes. sum is over all buckets, before anybody.
	free  [][]int64
	there [][]bool // the bucket sells, and can give
	sum   []int64
	// now is what lies in each bucket, without what is on its way.
	now   [][]int64
	draws []draw
}

func newLevelPlan(sale *domain.Sale, levels []BucketLevel, pending []pendingMove) *levelPlan {
	p := &levelPlan{sale: sale, skus: sale.SKUs()}
	p.sum = make([]int64, len(p.skus))
	for i := range p.skus {
		free, now, there := make([]int64, len(levels)), make([]int64, len(levels)), make([]bool, len(levels))
		for b, level := range levels {
			if level.Selling {
				there[b], free[b] = true, level.Stocks[i].Available
			}
			now[b] = free[b]
			p.sum[i] += free[b]
		}
		p.free, p.now, p.there = append(p.free, free), append(p.now, now), append(p.there, there)
	}
	for _, m := range pending {
		if i := slices.Index(p.skus, m.SKU); i >= 0 && m.To < len(levels) {
			p.free[i][m.To] += m.Quantity
			p.sum[i] += m.Quantity
		}
	}
	return p
}

// add plans for one who waits.
func (p *levelPlan) add(a *levelAsk) askState {
	served := true
	for _, line := range a.lines {
		i := slices.Index(p.skus, line.SKU)
		if i < 0 || a.bucket >= len(p.now[i]) {
			return askWaits // of terms that this process does not know yet
		}
		if p.sum[i] < line.Quantity {
			return askShort
		}
		served = served && min(p.now[i][a.bucket], p.free[i][a.bucket]) >= line.Quantity
	}
	if served {
		for _, line := range a.lines {
			i := slices.Index(p.skus, line.SKU)
			p.free[i][a.bucket] -= line.Quantity
			p.now[i][a.bucket] -= line.Quantity
		}
		return askServed
	}
	if p.canDraw(a) {
		p.draw(a)
	}
	return askWaits
}

// canDraw tells whether what nobody before has is enough for every line.
func (p *levelPlan) canDraw(a *levelAsk) bool {
	for _, line := range a.lines {
		i := slices.Index(p.skus, line.SKU)
		if !p.there[i][a.bucket] {
			return false
		}
		free := p.free[i][a.bucket]
		for b, units := range p.free[i] {
			if b != a.bucket {
				free += p.gives(i, b, units)
			}
		}
		if free < line.Quantity {
			return false
		}
	}
	return true
}

// gives is how many of a bucket's free units lie there and can leave it.
func (p *levelPlan) gives(sku, bucket int, free int64) int64 {
	if !p.there[sku][bucket] {
		return 0
	}
	return max(min(free, p.now[sku][bucket]), 0)
}

// draw keeps units for one who waits: those of his bucket, and the rest from the
// fullest others, half of what each has at a time.
func (p *levelPlan) draw(a *levelAsk) {
	for _, line := range a.lines {
		i := slices.Index(p.skus, line.SKU)
		for p.free[i][a.bucket] < line.Quantity {
			from := p.fullest(i, a.bucket)
			half := (p.gives(i, from, p.free[i][from]) + 1) / 2
			p.take(i, from, a.bucket, min(line.Quantity-p.free[i][a.bucket], half))
		}
		p.free[i][a.bucket] -= line.Quantity
	}
}

// fullest gives the bucket, other than one, that can give the most.
func (p *levelPlan) fullest(sku, other int) int {
	best, most := -1, int64(-1)
	for b, units := range p.free[sku] {
		if gives := p.gives(sku, b, units); b != other && gives > most {
			best, most = b, gives
		}
	}
	return best
}

func (p *levelPlan) take(sku, from, to int, units int64) {
	p.free[sku][from] -= units
	p.now[sku][from] -= units
	p.free[sku][to] += units
	p.draws = append(p.draws, draw{sku, from, to, units})
}

// Bounds of what is moved beyond what somebody waits for.
const (
	levelDonors = 8 // of which a bucket that is asked for draws at once
	levelLeast  = 4 // units that a bucket has more, below which they stay
)

// half brings a bucket that is asked for half of what the fullest others have more, so
// that a crowd there does not wait for each unit; where little is left, nothing.
func (p *levelPlan) half(sku, to int) {
	for range levelDonors {
		from := p.fullest(sku, to)
		if from < 0 || !p.there[sku][to] {
			return
		}
		more := p.gives(sku, from, p.free[sku][from]) - p.free[sku][to]
		if more < levelLeast {
			return
		}
		p.take(sku, from, to, more/2)
	}
}

// even brings units to buckets that have less than a quarter of the average, while
// there is much: before anybody has to wait. A bucket that owes units, because more
// were promised than it had, gets those in any case.
func (p *levelPlan) even() {
	for i := range p.skus {
		n := int64(len(p.free[i]))
		average := p.sum[i] / n
		for b, units := range p.free[i] {
			want := average / 2
			if average < levelLeast || units >= average/4 {
				want = 0
			}
			for p.there[i][b] && p.free[i][b] < want {
				from := p.fullest(i, b)
				gives := p.gives(i, from, p.free[i][from])
				if p.free[i][b] >= 0 {
					gives = max(gives-average/2, 0)
				}
				if gives = min(gives, want-p.free[i][b]); gives == 0 {
					break
				}
				p.take(i, from, b, gives)
			}
		}
	}
}

// moves gives what is to be moved, one move for each pair of buckets and item, those
// that are asked for rounded up generously.
func (p *levelPlan) moves() []draw {
	asked := map[[2]int]bool{}
	for _, d := range p.draws {
		asked[[2]int{d.sku, d.to}] = true
	}
	for _, d := range slices.Clone(p.draws) {
		if key := [2]int{d.sku, d.to}; asked[key] {
			asked[key] = false
			p.half(d.sku, d.to)
		}
	}
	sums := map[[3]int]int64{}
	for _, d := range p.draws {
		sums[[3]int{d.sku, d.from, d.to}] += d.units
	}
	all := make([]draw, 0, len(sums))
	for key, units := range sums {
		if units > 0 {
			all = append(all, draw{key[0], key[1], key[2], min(units, domain.MaxQuantity)})
		}
	}
	slices.SortFunc(all, func(a, b draw) int {
		return cmp.Or(cmp.Compare(a.sku, b.sku), cmp.Compare(a.to, b.to), cmp.Compare(a.from, b.from))
	})
	return all
}
