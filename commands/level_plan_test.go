package commands

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"seckill/domain"
)

// planOf makes a plan over buckets of one item.
func planOf(units ...int64) *levelPlan {
	sale := domain.Sale{ID: "28t5cy4t"}
	sale.Terms.Items = []domain.ItemTerms{{SKU: "a"}}
	sale.Terms.Buckets = len(units)
	levels := make([]BucketLevel, len(units))
	for i, u := range units {
		levels[i] = BucketLevel{Selling: true, Stocks: []StockLevel{{Available: u}}}
	}
	return newLevelPlan(&sale, levels, nil)
}

func wants(bucket int, units int64) *levelAsk {
	return &levelAsk{bucket: bucket, lines: []domain.Line{{SKU: "a", Quantity: units}}}
}

func TestUnitsComeToWhoAsksAndNoMoreThanNeededNearTheEnd(t *testing.T) {
	for _, tc := range []struct {
		name  string
		units []int64
		ask   *levelAsk
		state askState
		want  string
	}{
		{"enough at home", []int64{2, 5}, wants(0, 2), askServed, "[]"},
		{"the last unit", []int64{0, 0, 1}, wants(0, 1), askWaits, "[{0 2 0 1}]"},
		{"several units from where they are", []int64{1, 1, 1}, wants(0, 3), askWaits, "[{0 1 0 1} {0 2 0 1}]"},
		{"more than there is", []int64{1, 1, 1}, wants(0, 4), askShort, "[]"},
		{"much is left: half of it", []int64{0, 100}, wants(0, 1), askWaits, "[{0 1 0 50}]"},
		{"owed units count", []int64{0, -2, 2}, wants(0, 1), askShort, "[]"},
	} {
		p := planOf(tc.units...)
		state := p.add(tc.ask)
		if got := fmt.Sprint(p.moves()); state != tc.state || got != tc.want {
			t.Errorf("%s: got state %d, moves %s; want %d, %s", tc.name, state, got, tc.state, tc.want)
		}
	}
}

func TestWhoCameFirstKeepsHisUnits(t *testing.T) {
	p := planOf(2, 2)
	if p.add(wants(0, 3)) != askWaits || p.add(wants(1, 3)) != askWaits || p.add(wants(1, 2)) != askWaits {
		t.Error("want all of them waiting: the first one has three of four")
	}
	if got := fmt.Sprint(p.moves()); got != "[{0 1 0 1}]" {
		t.Errorf("got moves %s, want one unit to the first and none back", got)
	}
}

func TestASweepFillsOnlyWhileThereIsMuchAndPaysWhatIsOwed(t *testing.T) {
	for want, units := range map[string][]int64{
		"[]":           {0, 3, 3, 3},
		"[{0 1 0 20}]": {0, 80, 40, 40},
		"[{0 1 0 2}]":  {-2, 2, 0, 0},
	} {
		p := planOf(units...)
		p.even()
		var got []draw
		for _, d := range p.draws {
			if d.units != 0 {
				got = append(got, d)
			}
		}
		if fmt.Sprint(got) != want {
			t.Errorf("%v: got %v, want %s", units, got, want)
		}
	}
}

// Whatever is asked for, a plan takes from no bucket what is not there, and the sum
// stays.
func TestAPlanTakesOnlyWhatIsThere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		units := rapid.SliceOfN(rapid.Int64Range(-3, 40), 2, 9).Draw(t, "units")
		p := planOf(units...)
		var sum int64
		for _, u := range units {
			sum += u
		}
		for range rapid.IntRange(0, 12).Draw(t, "asks") {
			a := wants(rapid.IntRange(0, len(units)-1).Draw(t, "bucket"), rapid.Int64Range(1, 20).Draw(t, "quantity"))
			if state := p.add(a); (state == askShort) != (sum < a.lines[0].Quantity) {
				t.Fatalf("%v units of %v: got state %d", a.lines[0].Quantity, units, state)
			}
		}
		if rapid.Bool().Draw(t, "sweep") {
			p.even()
		}
		left := append([]int64(nil), units...)
		for _, d := range p.moves() {
			if d.from == d.to || d.units < 1 {
				t.Fatalf("a move %+v", d)
			}
			if left[d.from] -= d.units; left[d.from] < 0 {
				t.Fatalf("%+v takes more than the %d that bucket %d has", d, units[d.from], d.from)
			}
		}
	})
}
