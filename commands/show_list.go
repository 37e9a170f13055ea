package commands

import (
	"cmp"
	"context"
	"encoding/base64"
	"slices"
	"strconv"
	"strings"

	"seckill/domain"
)

// SaleQuery asks for a page of sales.
type SaleQuery struct {
	// Limit is how many there are on a page, at least 1.
	Limit int
	// Cursor is "" for the first page, or the Next of the one before.
	Cursor string
	// OverRehearsals: rehearsals that are over are listed too.
	OverRehearsals bool
}

// SaleList is a page of sales, and Next the cursor of the page after it, "" at the end.
type SaleList struct {
	Sales []SaleAnswer
	Next  string
}

// List gives a page of sales: the one that was scheduled last comes first, and those
// whose records are archived come last. Whoever reads on from page to page meets each
// sale once, whatever is scheduled meanwhile. A cursor that was not given by us is a
// *domain.Problem.
func (s *Shower) List(ctx context.Context, q SaleQuery) (SaleList, error) {
	recent, err := s.Sales.Recent(ctx)
	if err != nil {
		return SaleList{}, err
	}
	return s.page(ctx, q, s.newest.get(recent, newestFirst))
}

// ListKnown is List of what this process has ever read of sales, for while the log
// cannot be asked.
func (s *Shower) ListKnown(ctx context.Context, q SaleQuery) (SaleList, error) {
	return s.page(ctx, q, newestFirst(s.Sales.Remembered()))
}

// page cuts a page out of all sales, the newest first.
func (s *Shower) page(ctx context.Context, q SaleQuery, all []FoldedSale) (SaleList, error) {
	after, err := parseSaleCursor(q.Cursor)
	if err != nil {
		return SaleList{}, err
	}
	if q.Cursor != "" {
		from, found := slices.BinarySearchFunc(all, after, func(sale FoldedSale, c saleCursor) int { return cursorOf(&sale).compare(c) })
		if found {
			from++
		}
		all = all[from:]
	}
	page, next := make([]FoldedSale, 0, min(q.Limit, len(all))), ""
	now := s.Env.Now()
	for i := range all {
		if sale := &all[i]; sale.Rehearsal() && sale.Over(now) && !q.OverRehearsals {
			continue
		}
		if len(page) == q.Limit {
			next = cursorOf(&page[q.Limit-1]).String()
			break
		}
		page = append(page, all[i])
	}
	answers, err := inParallel(page, func(_ int, sale FoldedSale) (SaleAnswer, error) { return s.show(ctx, sale), nil })
	return SaleList{answers, next}, err
}

// MergeSales makes one page of the pages that several logs gave to one question.
func MergeSales(q SaleQuery, lists ...SaleList) SaleList {
	var merged SaleList
	for _, list := range lists {
		merged.Sales = append(merged.Sales, list.Sales...)
		merged.Next = cmp.Or(merged.Next, list.Next)
	}
	slices.SortFunc(merged.Sales, func(a, b SaleAnswer) int { return cursorOf(&a.FoldedSale).compare(cursorOf(&b.FoldedSale)) })
	if merged.Next != "" || len(merged.Sales) > q.Limit {
		merged.Sales = merged.Sales[:q.Limit] // one that has more gave a whole page
		merged.Next = cursorOf(&merged.Sales[q.Limit-1].FoldedSale).String()
	}
	return merged
}

func newestFirst(sales []FoldedSale) []FoldedSale {
	sorted := slices.Clone(sales) // the list is shared
	slices.SortFunc(sorted, func(a, b FoldedSale) int { return cursorOf(&a).compare(cursorOf(&b)) })
	return sorted
}

// saleCursor is a place in the list of sales. Both of its parts never change, so that
// a sale keeps its place.
type saleCursor struct {
	scheduled int64 // in µs since 1970; 0: not known any more
	id        string
}

func cursorOf(sale *FoldedSale) saleCursor {
	if sale.ScheduledAt.IsZero() {
		return saleCursor{0, sale.ID}
	}
	return saleCursor{sale.ScheduledAt.UnixMicro(), sale.ID}
}

// compare orders the newest first.
func (c saleCursor) compare(other saleCursor) int {
	return cmp.Or(cmp.Compare(other.scheduled, c.scheduled), strings.Compare(c.id, other.id))
}

// String gives the cursor as callers have it.
func (c saleCursor) String() string {
	return base64.RawURLEncoding.EncodeToString([]byte(strconv.FormatInt(c.scheduled, 36) + " " + c.id))
}

func parseSaleCursor(text string) (saleCursor, error) {
	if text == "" {
		return saleCursor{}, nil
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	scheduled, id, ok := strings.Cut(string(raw), " ")
	at, notNumber := strconv.ParseInt(scheduled, 36, 64)
	_, noID := domain.ParseSaleID(id)
	c := saleCursor{at, id}
	if err != nil || !ok || notNumber != nil || noID != nil || c.String() != text {
		return saleCursor{}, domain.Invalid(domain.FieldError{Field: "cursor", Reason: "was not given by us"})
	}
	return c, nil
}
