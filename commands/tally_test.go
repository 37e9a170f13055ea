package commands

import (
	"testing"
	"time"

	"seckill/domain"
)

func TestTheScaleOfArrivalsHasNoHoles(t *testing.T) {
	for slice := range tallySlices {
		begin := sliceBegin(slice)
		if got := sliceOf(begin); got != slice {
			t.Errorf("slice %d begins at %d ms, which is in slice %d", slice, begin, got)
		}
		if got := sliceOf(begin - 1); slice > 0 && got != slice-1 {
			t.Errorf("a millisecond before slice %d: got slice %d", slice, got)
		}
	}
	for millis, slice := range map[int64]int{-1 << 60: 0, 1 << 60: tallySlices - 1, 0: 25, 9: 25, 10: 26, 1999: 224, 2000: 225, -1: 24} {
		if got := sliceOf(millis); got != slice {
			t.Errorf("%d ms: got slice %d, want %d", millis, got, slice)
		}
	}
}

func TestEveryOutcomeIsCountedUnderTheCodeItsBuyerIsTold(t *testing.T) {
	for _, o := range append(domain.Outcomes(), tallyUnseen) {
		kind := 3 - int(o)
		if kind < 0 || kind >= tallyRefusals {
			t.Errorf("%s has no place", o)
		}
		code := refusalCode(o)
		if met := o == domain.Reserved || o == domain.Repeat || o == domain.SameOrder; !met && !code.Known() {
			t.Errorf("%s: %q is no code", o, code)
		}
	}
}

func BenchmarkTallyOfOnePurchase(b *testing.B) {
	tally := NewTally(&Env{Now: time.Now}, nil, nil, TallyOptions{})
	sale := &domain.Sale{ID: "28t5cy4t", Terms: domain.SaleTerms{OpensAt: time.Now(), Buckets: 16}}
	at := sale.Terms.OpensAt.Add(500 * time.Millisecond)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			tally.count(sale, 3, at, domain.SoldOut)
		}
	})
}
