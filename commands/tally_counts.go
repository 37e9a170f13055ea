package commands

import (
	"maps"
	"slices"
	"sync"

	"seckill/domain"
)

// tallyShard is a part of the counts. Its lock is held for a few additions.
type tallyShard struct {
	mu sync.Mutex
	tallyCounts
	done bool // the sale was tallied: refusals count no more
	_    [64]byte
}

// tallyCounts are counts of purchases.
type tallyCounts struct {
	slices  [tallySlices]tallyCell
	buckets []tallyCell
	refused [tallyRefusals]int64
}

type tallyCell struct{ asked, won int64 }

func (c *tallyCell) add(won bool) {
	c.asked++
	if won {
		c.won++
	}
}

// tallyUnseen is counted where nobody could see what the gate decided.
const tallyUnseen domain.Outcome = -11

// tallyRefusals is how many kinds of refusals there are: 3 - outcome is below it.
const tallyRefusals = 15

// refusalCode gives what a buyer was told.
func refusalCode(o domain.Outcome) domain.Code {
	switch o {
	case domain.Refused:
		return domain.CodeBusy
	case tallyUnseen:
		return domain.CodeInProgress
	}
	return domain.Code(o.String())
}

// take empties the shards.
func (st *saleTally) take() *tallyCounts {
	sum := &tallyCounts{buckets: make([]tallyCell, len(st.shards[0].buckets))}
	for i := range st.shards {
		s := &st.shards[i]
		s.mu.Lock()
		part := s.tallyCounts
		s.tallyCounts = tallyCounts{buckets: make([]tallyCell, len(part.buckets))}
		s.mu.Unlock()
		sum.add(&part)
	}
	return sum
}

func (c *tallyCounts) add(o *tallyCounts) {
	for i := range c.slices {
		c.slices[i].asked += o.slices[i].asked
		c.slices[i].won += o.slices[i].won
	}
	for i := range c.buckets {
		c.buckets[i].asked += o.buckets[i].asked
		c.buckets[i].won += o.buckets[i].won
	}
	for i := range c.refused {
		c.refused[i] += o.refused[i]
	}
}

// event writes the counts as they are stored.
func (c *tallyCounts) event() *domain.SaleTallied {
	e := &domain.SaleTallied{}
	for i, cell := range c.slices {
		if cell.asked > 0 {
			e.Asked += cell.asked
			e.Won += cell.won
			e.Slices = append(e.Slices, domain.TallySlice{Millis: sliceBegin(i), Asked: cell.asked, Won: cell.won})
		}
	}
	for i, cell := range c.buckets {
		if cell.asked > 0 {
			e.Buckets = append(e.Buckets, domain.TallyBucket{Bucket: i, Asked: cell.asked, Won: cell.won})
		}
	}
	e.Refused = tallyRefused(c.refused[:])
	return e
}

// tallyRefused lists refusals in the order of their codes.
func tallyRefused(counts []int64) []domain.TallyRefusal {
	byCode := map[domain.Code]int64{}
	for kind, n := range counts {
		if n > 0 {
			byCode[refusalCode(domain.Outcome(3-kind))] += n
		}
	}
	return refusalsOf(byCode)
}

func refusalsOf(byCode map[domain.Code]int64) []domain.TallyRefusal {
	var list []domain.TallyRefusal
	for _, code := range slices.Sorted(maps.Keys(byCode)) {
		list = append(list, domain.TallyRefusal{Code: code, Count: byCode[code]})
	}
	return list
}
