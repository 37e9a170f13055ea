package domain

import (
	"testing"
	"time"
)

func TestAPartOfThePlanIsReleasedAtItsTimeUnlessTheSaleIsOver(t *testing.T) {
	open := saleOf()
	part := open.Planned()[0]
	if len(open.Planned()) != 1 || part.SKU != "mug" || part.Number != 1 || part.Quantity != 4 {
		t.Fatalf("planned: got %+v; want 4 mugs", open.Planned())
	}
	for name, c := range map[string]struct {
		sale Sale
		at   time.Time
		want bool
	}{
		"before its time":   {open, part.At.Add(-1), false},
		"at its time":       {open, part.At, true},
		"late":              {open, open.Terms.ClosesAt.Add(-1), true},
		"after the end":     {open, open.Terms.ClosesAt, false},
		"paused":            {saleOf(&SalePaused{Reason: PausedByOperator}), part.At, true},
		"ended by a switch": {saleOf(&SwitchFlipped{Name: ForceEnded, On: true}), part.At, true},
		"closed":            {saleOf(&SaleClosed{}), part.At, false},
		"cleaned":           {saleOf(&SaleCleaned{}), part.At, false},
		"waits to open":     {waiting(), part.At, false},
		"was let open":      {waiting(&SaleConfirmed{}), part.At, true},
	} {
		if got := c.sale.Releases(part, c.at); got != c.want {
			t.Errorf("%s: got %v; want %v", name, got, c.want)
		}
	}
}

func TestASaleTellsWhenMoreComes(t *testing.T) {
	s := saleOf()
	opens := s.Terms.OpensAt
	s.Terms.Items[0].Stock, s.Terms.Items[0].Release = 10, []Tranche{{opens.Add(time.Minute), 3}, {opens.Add(time.Hour - 1), 4}}
	for name, c := range map[string]struct {
		sku   string
		at    time.Time
		after time.Duration // of the opening; 0: never
		units int64
	}{
		"before it opens":   {"mug", opens.Add(-time.Hour), time.Minute, 7},
		"at the first":      {"mug", opens.Add(time.Minute), time.Hour - 1, 4},
		"after the last":    {"mug", opens.Add(time.Hour), 0, 0},
		"without a plan":    {"cup", opens, 0, 0},
		"of no such item":   {"hat", opens, 0, 0},
		"between the parts": {"mug", opens.Add(2 * time.Minute), time.Hour - 1, 4},
	} {
		at, ok := s.NextRelease(c.sku, c.at)
		if ok != (c.after > 0) || (ok && !at.Equal(opens.Add(c.after))) {
			t.Errorf("%s: got %s, %v; want %s after the opening", name, at, ok, c.after)
		}
		if got := s.LaterUnits(c.sku, c.at); got != c.units {
			t.Errorf("%s: got %d units later; want %d", name, got, c.units)
		}
	}
	s.Terms.ClosesAt = opens.Add(30 * time.Second)
	if at, ok := s.NextRelease("mug", opens); ok {
		t.Errorf("a sale that ends before: got %s; want never", at)
	}
}
