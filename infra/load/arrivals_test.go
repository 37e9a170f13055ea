package load

import (
	"slices"
	"testing"
	"time"
)

func TestMostOfACrowdArrivesInTheRushAndTheRestAfterIt(t *testing.T) {
	shape := FlashSale()
	at := Arrivals(10_000, shape, 1)
	if !slices.IsSorted(at) {
		t.Fatal("arrivals are not in order")
	}
	early, _ := slices.BinarySearch(at, shape.RushFor)
	if early != 8_000 {
		t.Errorf("got %d arrivals in the rush, want 8000", early)
	}
	if last := at[len(at)-1]; last >= shape.RushFor+shape.TailFor {
		t.Errorf("last arrival at %s, want before %s", last, shape.RushFor+shape.TailFor)
	}
	if half, _ := slices.BinarySearch(at, shape.RushFor/2); half < 3_600 || half > 4_400 {
		t.Errorf("got %d arrivals in the first half of the rush, want about 4000: they come evenly", half)
	}
}

func TestTheSameSeedGivesTheSameArrivals(t *testing.T) {
	a, b, c := Arrivals(100, FlashSale(), 7), Arrivals(100, FlashSale(), 7), Arrivals(100, FlashSale(), 8)
	if !slices.Equal(a, b) {
		t.Error("one seed gave two schedules")
	}
	if slices.Equal(a, c) {
		t.Error("two seeds gave one schedule")
	}
}

func TestAShapeThatCannotBeIsRefusedWithEveryReason(t *testing.T) {
	err := Shape{Rush: 1.5, RushFor: -time.Second}.Validate()
	if err == nil {
		t.Fatal("got no error")
	}
	if got := len(err.(interface{ Unwrap() []error }).Unwrap()); got != 2 {
		t.Errorf("got %d reasons, want 2: %v", got, err)
	}
}
