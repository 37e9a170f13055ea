package domain

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// placesGolden is testdata/places.json: lanes and home buckets as they stand in
// order ids, streams and keys. They can never change for a sale that exists.
type placesGolden struct {
	Lanes []struct {
		Sale   string
		Bucket int
		Lane   int
	}
	Homes []struct {
		Sale, Buyer   string
		Buckets, Home int
	}
}

func TestLanesAndHomeBucketsStayWhereTheyAre(t *testing.T) {
	b, err := os.ReadFile("testdata/places.json")
	if err != nil {
		t.Fatal(err)
	}
	var g placesGolden
	if err := json.Unmarshal(b, &g); err != nil {
		t.Fatal(err)
	}
	if len(g.Lanes) < 20 || len(g.Homes) < 20 {
		t.Fatalf("got %d lanes and %d homes; want at least 20 of each", len(g.Lanes), len(g.Homes))
	}
	for _, c := range g.Lanes {
		if got := (Place{Store: 9, Sale: c.Sale, Bucket: c.Bucket}).Lane(); got != c.Lane {
			t.Errorf("lane of sale %s bucket %d: got %d; want %d", c.Sale, c.Bucket, got, c.Lane)
		}
	}
	for _, c := range g.Homes {
		if got := HomeBucket(c.Sale, c.Buyer, c.Buckets); got != c.Home {
			t.Errorf("home of %q in sale %s of %d: got %d; want %d", c.Buyer, c.Sale, c.Buckets, got, c.Home)
		}
	}
}

// spread fails unless total things fell evenly into counts: the sum of squared
// differences (chi-square) of k fair bins has the mean k-1 and the deviation
// √(2(k-1)); five deviations above the mean are no accident.
func spread(t *testing.T, what string, counts []int, total int) {
	t.Helper()
	expected := float64(total) / float64(len(counts))
	var chi float64
	for _, n := range counts {
		d := float64(n) - expected
		chi += d * d / expected
	}
	free := float64(len(counts) - 1)
	if limit := free + 5*math.Sqrt(2*free); chi > limit {
		t.Errorf("%s: %d in %d bins are uneven: got chi-square %.1f; want at most %.1f; counts %v", what, total, len(counts), chi, limit, counts)
	}
}

func TestSalesSpreadOverLanes(t *testing.T) {
	for what, number := range map[string]func(i uint64) SaleNumber{
		"numbers in a row":    func(i uint64) SaleNumber { return SaleNumber(i) },
		"numbers far apart":   func(i uint64) SaleNumber { return SaleNumber(i * 104_729) },
		"numbers by the time": func(i uint64) SaleNumber { return SaleNumber(1_790_000_000<<8 + i*256) },
	} {
		counts := make([]int, Lanes)
		for i := range uint64(10_000) {
			counts[Place{Sale: number(i).ID()}.Lane()]++
		}
		spread(t, what, counts, 10_000)
	}
}

func TestBucketsOfASaleSpreadOverLanes(t *testing.T) {
	counts := make([]int, Lanes)
	for sale := range SaleNumber(50) {
		one := make([]int, Lanes)
		for bucket := range MaxBuckets {
			lane := Place{Sale: (sale * 7919).ID(), Bucket: bucket}.Lane()
			one[lane]++
			counts[lane]++
		}
		spread(t, "buckets of sale "+(sale*7919).ID(), one, MaxBuckets)
	}
	spread(t, "buckets of 50 sales", counts, 50*MaxBuckets)
}

func TestBuyersSpreadOverBuckets(t *testing.T) {
	const buyers = 50_000
	for what, name := range map[string]string{
		"buyers in a row": "buyer-%d", "padded": "u%08d", "bare numbers": "%d", "long ids": "0190a1b2-c3d4-7000-8000-%012x",
	} {
		for _, buckets := range []int{2, 3, 8, 10, 64, 100, MaxBuckets} {
			counts := make([]int, buckets)
			for i := range buyers {
				counts[HomeBucket("28t5cy4t", fmt.Sprintf(name, i), buckets)]++
			}
			spread(t, fmt.Sprintf("%s, %d buckets", what, buckets), counts, buyers)
		}
	}
}

func TestTheStoreHasNoPartInTheLane(t *testing.T) {
	a, b := Place{Store: 1, Sale: "28t5cy4t", Bucket: 5}, Place{Store: 2, Sale: "28t5cy4t", Bucket: 5}
	if a.Lane() != b.Lane() {
		t.Errorf("got lanes %d and %d; want one", a.Lane(), b.Lane())
	}
}

func TestAStockStreamsNameIsTakenApartAgain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := StockKey{
			Sale:   SaleNumber(rapid.Uint64Range(0, 1<<40-1).Draw(t, "sale")).ID(),
			SKU:    rapid.StringMatching(`[A-Za-z0-9._-]{1,64}`).Draw(t, "sku"),
			Bucket: rapid.IntRange(0, MaxBuckets-1).Draw(t, "bucket"),
		}
		if got, err := ParseStockStream(want.Stream()); err != nil || got != want {
			t.Fatalf("%s: got %+v, %v; want %+v", want.Stream(), got, err, want)
		}
	})
	for _, name := range []string{"", "stock-", "stock-s", "stock-s-3", "stock-s--3", "stock--sku-3", "stock-s-sku-", "stock-s-sku-+3",
		"stock-s-sku-03", "stock-s-sku-x", "order-s-sku-3", "sale-s", "Stock-s-sku-3"} {
		if k, err := ParseStockStream(name); err == nil {
			t.Errorf("%q: got %+v; want an error", name, k)
		}
	}
}

func TestSKUsAndBuyersOutsideTheirAlphabetAreRefused(t *testing.T) {
	for s, ok := range map[string]bool{
		"a": true, "Mug-red_2.0": true, strings.Repeat("x", 64): true,
		"": false, strings.Repeat("x", 65): false, "a b": false, "杯": false, "a/b": false, "{a}": false, "a\n": false, "a:b": false,
	} {
		if got := ValidSKU(s); got != ok {
			t.Errorf("sku %q: got %v; want %v", s, got, ok)
		}
	}
	for s, ok := range map[string]bool{
		"a": true, "auth0|5f2:x@y": true, strings.Repeat("x", 128): true,
		"": false, strings.Repeat("x", 129): false, "a b": false, "张": false, "a\x00": false, "a\x7f": false,
	} {
		if got := ValidBuyer(s); got != ok {
			t.Errorf("buyer %q: got %v; want %v", s, got, ok)
		}
	}
}
