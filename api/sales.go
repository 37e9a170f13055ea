package api

import (
	"context"
	"encoding/hex"
	"fmt"
	"hash/fnv"
	"net/http"
	"strings"
	"time"

	"seckill/commands"
	"seckill/domain"
)

// SaleView is a sale as buyers see it.
type SaleView struct {
	ID            string     `json:"id"`
	Version       int64      `json:"version"`
	Title         string     `json:"title"`
	State         string     `json:"state" enum:"scheduled,open,paused,ended,cleaned"`
	Strategy      string     `json:"strategy" enum:"postgres,redis-sync,redis-async"`
	ServerTime    time.Time  `json:"server_time"`
	OpensAt       time.Time  `json:"opens_at"`
	ClosesAt      time.Time  `json:"closes_at"`
	ClickableAt   time.Time  `json:"clickable_at" doc:"When a page may let the button be pressed"`
	LimitPerBuyer int64      `json:"limit_per_buyer"`
	Items         []ItemView `json:"items" nullable:"false"`
}

// ItemView is one thing on sale as buyers see it.
type ItemView struct {
	SKU      string `json:"sku"`
	Title    string `json:"title"`
	Price    string `json:"price" doc:"Decimal" example:"19.90"`
	Currency string `json:"currency" example:"CNY"`
	SoldOut  bool   `json:"sold_out" doc:"Whether no unit was left a moment ago; only a purchase is judged exactly"`
	// NextReleaseAt is of the plan that the sale was scheduled with.
	NextReleaseAt *time.Time `json:"next_release_at,omitempty" doc:"When more units come on sale; left out where no more are planned"`
}

// SaleList is a page of sales, the newest first.
type SaleList struct {
	Sales      []SaleView `json:"sales" nullable:"false"`
	NextCursor string     `json:"next_cursor,omitempty" doc:"Give it as cursor to read on; left out at the end"`
}

// saleView shapes a sale for buyers. Stock numbers stay inside.
func saleView(a commands.SaleAnswer) SaleView {
	t := a.Terms
	v := SaleView{
		ID: a.ID, Version: a.Version, Title: t.Title, State: string(a.State), Strategy: string(t.Strategy),
		ServerTime: a.ServerTime.UTC(), OpensAt: t.OpensAt.UTC(), ClosesAt: t.ClosesAt.UTC(), ClickableAt: t.OpensAt.UTC(),
		LimitPerBuyer: t.LimitPerBuyer, Items: make([]ItemView, len(t.Items)),
	}
	for i, item := range t.Items {
		v.Items[i] = ItemView{
			SKU: item.SKU, Title: item.Title, Price: item.Price.Amount(), Currency: item.Price.Currency, SoldOut: a.SoldOut[item.SKU],
		}
		if at, ok := a.NextRelease(item.SKU, a.ServerTime); ok && a.State != domain.SaleStateEnded {
			at = at.UTC()
			v.Items[i].NextReleaseAt = &at
		}
	}
	return v
}

// publicCache lets browsers and a CDN keep an answer for a second: long enough to
// keep a crowd of page loads away, short enough for opening and sold-out marks.
const publicCache = "public, max-age=1"

// unchanged tells whether an If-None-Match names the tag: then 304 is the answer.
func unchanged(ifNoneMatch, tag string) bool {
	for part := range strings.SplitSeq(ifNoneMatch, ",") {
		part = strings.TrimSpace(part)
		if part == "*" || (part != "" && strings.TrimPrefix(part, "W/") == strings.TrimPrefix(tag, "W/")) {
			return true
		}
	}
	return false
}

// cacheStatus gives 304 for what the caller has, else 200.
func cacheStatus(ifNoneMatch, tag string) int {
	if unchanged(ifNoneMatch, tag) {
		return http.StatusNotModified
	}
	return http.StatusOK
}

// saleTag is a weak tag over all that can change in views but server_time, and in the
// cursor of the page after them.
func saleTag(next string, views ...SaleView) string {
	h := fnv.New64a()
	fmt.Fprintln(h, next)
	for i := range views {
		v := &views[i]
		fmt.Fprintf(h, "%s %d %s", v.ID, v.Version, v.State)
		for _, item := range v.Items {
			fmt.Fprintf(h, " %t", item.SoldOut)
			if at := item.NextReleaseAt; at != nil {
				fmt.Fprintf(h, " %d", at.UnixMicro())
			}
		}
		fmt.Fprintln(h)
	}
	return `W/"` + hex.EncodeToString(h.Sum(nil)) + `"`
}

type saleRequest struct {
	Sale        string `path:"sale"`
	IfNoneMatch string `header:"If-None-Match" doc:"ETags that the caller has"`
}

type saleAnswer struct {
	Status       int
	ETag         string `header:"ETag"`
	CacheControl string `header:"Cache-Control"`
	Body         SaleView
}

func (s *Server) getSale(ctx context.Context, in *saleRequest) (*saleAnswer, error) {
	sale, err := s.Shower.Show(ctx, in.Sale)
	if err != nil {
		return nil, err
	}
	view := saleView(sale)
	tag := saleTag("", view)
	return &saleAnswer{Status: cacheStatus(in.IfNoneMatch, tag), ETag: tag, CacheControl: publicCache, Body: view}, nil
}

type salesRequest struct {
	IfNoneMatch string `header:"If-None-Match" doc:"ETags that the caller has"`
	Limit       int    `query:"limit" minimum:"1" maximum:"500" default:"200" doc:"The most sales of a page"`
	Cursor      string `query:"cursor" maxLength:"200" doc:"next_cursor of the page before"`
}

type salesAnswer struct {
	Status       int
	ETag         string `header:"ETag"`
	CacheControl string `header:"Cache-Control"`
	Body         SaleList
}

func (s *Server) listSales(ctx context.Context, in *salesRequest) (*salesAnswer, error) {
	// Of a rehearsal that is over nobody is to wonder what it was.
	list, err := s.Shower.List(ctx, commands.SaleQuery{Limit: in.Limit, Cursor: in.Cursor, OverRehearsals: isInside(ctx)})
	if err != nil {
		return nil, err
	}
	views := make([]SaleView, len(list.Sales))
	for i, sale := range list.Sales {
		views[i] = saleView(sale)
	}
	tag := saleTag(list.Next, views...)
	return &salesAnswer{Status: cacheStatus(in.IfNoneMatch, tag), ETag: tag, CacheControl: publicCache, Body: SaleList{Sales: views, NextCursor: list.Next}}, nil
}
