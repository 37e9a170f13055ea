package commands

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"seckill/domain"
)

// showerOf shows sales that are all over, so that nobody asks the gate.
func showerOf(s *soldBy) *Shower {
	s.advance(1000 * 24 * time.Hour)
	return &Shower{Env: &Env{Now: s.clock}, Sales: s.sales}
}

// listed reads the list of sales to its end, so many on a page, and calls between
// after each page.
func listed(t *testing.T, s *Shower, limit int, between func(page int)) (ids []string, pages int) {
	t.Helper()
	for cursor := ""; ; {
		list, err := s.List(t.Context(), SaleQuery{Limit: limit, Cursor: cursor})
		if err != nil {
			t.Fatal(err)
		}
		if pages++; len(list.Sales) > limit || list.Next != "" && len(list.Sales) != limit {
			t.Fatalf("page %d of %d has %d sales and %q after it", pages, limit, len(list.Sales), list.Next)
		}
		for _, sale := range list.Sales {
			ids = append(ids, sale.ID)
		}
		if cursor = list.Next; cursor == "" {
			return ids, pages
		}
		between(pages)
	}
}

func TestTheListOfSalesIsReadInPagesFromTheNewestOn(t *testing.T) {
	s, _, ids := manySales(t, 30)
	ids = slices.Insert(ids, 1, otherSale)
	shower := showerOf(s)
	want := slices.Clone(ids)
	slices.Reverse(want) // ids are in the order in which they were scheduled
	for limit, pages := range map[int]int{1: 32, 2: 16, 10: 4, 30: 2, 31: 2, 32: 1, 500: 1} {
		got, n := listed(t, shower, limit, func(int) {})
		if !slices.Equal(got, want) || n != pages {
			t.Errorf("by %d: got %v on %d pages, want %v on %d", limit, got, n, want, pages)
		}
	}
}

func TestWhoReadsTheListOfSalesMeetsEachOnceWhateverIsScheduledMeanwhile(t *testing.T) {
	s, _, ids := manySales(t, 30)
	ids = slices.Insert(ids, 1, otherSale)
	shower := showerOf(s)
	got, _ := listed(t, shower, 4, func(page int) {
		id := domain.SaleNumber(5000 + page).ID()
		s.log.add(t, domain.SaleStream(id), id, "", &domain.SaleScheduled{SaleID: id})
		s.log.add(t, domain.SaleStream(ids[0]), ids[0], "", &domain.SaleClosed{SaleID: ids[0]}) // stays where it is
		s.advance(time.Second)
	})
	slices.Reverse(got)
	if !slices.Equal(got, ids) {
		t.Errorf("got %v, want each of %v once", got, ids)
	}
	if newest, _ := listed(t, shower, 50, func(int) {}); len(newest) != len(ids)+7 || newest[0] != domain.SaleNumber(5007).ID() {
		t.Errorf("afterwards: got %d sales, the first %s; want %d and the one that was scheduled last", len(newest), newest[0], len(ids)+7)
	}
}

func TestACursorOfTheListOfSalesThatWasNotGivenByUsIsRefused(t *testing.T) {
	s, _, _ := manySales(t, 3)
	shower := showerOf(s)
	list, err := shower.List(t.Context(), SaleQuery{Limit: 1})
	if err != nil || list.Next == "" {
		t.Fatalf("got %+v, %v; want a page and a cursor", list, err)
	}
	for _, wrong := range []string{"x", list.Next + "A", list.Next[1:], strings.ToUpper(list.Next), "MCA", saleCursor{1, "?"}.String(), fmt.Sprintf("%s=", list.Next)} {
		var p *domain.Problem
		if _, err := shower.List(t.Context(), SaleQuery{Limit: 1, Cursor: wrong}); !errors.As(err, &p) || p.Code != domain.CodeInvalidRequest {
			t.Errorf("cursor %q: got %v, want invalid_request", wrong, err)
		}
	}
}

func TestPagesOfSeveralLogsAreOneListInTheirOrder(t *testing.T) {
	s, _, ids := manySales(t, 30)
	shower := showerOf(s)
	all, err := s.sales.Recent(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	parts := make([][]FoldedSale, 3) // the third has few
	for i, sale := range newestFirst(all) {
		part := i % 2
		if i%10 == 3 {
			part = 2
		}
		parts[part] = append(parts[part], sale)
	}
	for _, limit := range []int{1, 3, 7, 31, 32, 33} {
		var got []string
		for cursor, more := "", true; more; more = cursor != "" {
			q := SaleQuery{Limit: limit, Cursor: cursor}
			lists := make([]SaleList, len(parts))
			for i, part := range parts {
				if lists[i], err = shower.page(t.Context(), q, part); err != nil {
					t.Fatal(err)
				}
			}
			merged := MergeSales(q, lists...)
			for _, sale := range merged.Sales {
				got = append(got, sale.ID)
			}
			cursor = merged.Next
		}
		want := slices.Insert(slices.Clone(ids), 1, otherSale)
		slices.Reverse(want)
		if !slices.Equal(got, want) {
			t.Errorf("by %d: got %v, want %v", limit, got, want)
		}
	}
}
