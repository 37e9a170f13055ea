package api

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/labstack/echo/v4"

	"seckill/commands"
	"seckill/domain"
)

// The purchase route is to reach at least 60 % of what a bare handler of the same
// framework does on the same machine:
//
//	go test ./api -run '^$' -bench 'Purchase|Bare|Refused'

// post sends b.N purchases over real connections, each of another buyer.
func post(b *testing.B, url string, want int) {
	tokens := make([]string, 1000)
	for i := range tokens {
		tokens[i] = "Bearer " + tokenOf(b, "buyer-"+strconv.Itoa(i), "")
	}
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	defer client.CloseIdleConnections()
	var n atomic.Uint64
	b.ReportAllocs()
	b.SetParallelism(8)
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			req, err := http.NewRequest(http.MethodPost, url, strings.NewReader(`{"sku":"shoe-42","quantity":1}`))
			if err != nil {
				b.Error(err)
				return
			}
			req.Header.Set("Content-Type", "application/json")
			req.Header.Set("Authorization", tokens[n.Add(1)%1000])
			res, err := client.Do(req)
			if err != nil {
				b.Error(err)
				return
			}
			_, _ = io.Copy(io.Discard, res.Body)
			res.Body.Close()
			if res.StatusCode != want {
				b.Errorf("got status %d, want %d", res.StatusCode, want)
				return
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "req/s")
}

// quietPurchaser always answers the same and remembers nothing.
type quietPurchaser struct{ result commands.PurchaseResult }

func (q *quietPurchaser) LookAhead(context.Context, *commands.PurchaseRequest) {}

func (q *quietPurchaser) Purchase(context.Context, commands.PurchaseRequest) (commands.PurchaseResult, error) {
	return q.result, nil
}

func benchHouse(b *testing.B, answer commands.PurchaseResult) *house {
	return newHouse(b, func(d *Deps, o *Options) {
		d.Purchaser = &quietPurchaser{answer}
		d.Log = slog.New(slog.NewJSONHandler(io.Discard, nil))
		o.RefusalLogEvery = 100
	})
}

func BenchmarkBare(b *testing.B) {
	e := echo.New()
	e.POST("/api/v1/sales/:sale/purchases", func(c echo.Context) error {
		if _, err := io.Copy(io.Discard, c.Request().Body); err != nil {
			return err
		}
		return c.JSONBlob(http.StatusAccepted, []byte(`{"order_id":"`+testOrder+`","status":"queued"}`))
	})
	server := httptest.NewServer(e)
	defer server.Close()
	post(b, server.URL+"/api/v1/sales/"+testSale+"/purchases", http.StatusAccepted)
}

func BenchmarkPurchase(b *testing.B) {
	h := benchHouse(b, commands.PurchaseResult{Outcome: domain.Reserved, Order: orderIn(domain.OrderStatusQueued)})
	post(b, h.url+"/api/v1/sales/"+testSale+"/purchases", http.StatusAccepted)
}

func BenchmarkRefused(b *testing.B) {
	h := benchHouse(b, commands.PurchaseResult{Outcome: domain.SoldOut})
	post(b, h.url+"/api/v1/sales/"+testSale+"/purchases", http.StatusConflict)
}

// BenchmarkHandler is the purchase route without sockets and client.
func BenchmarkHandler(b *testing.B) {
	h := benchHouse(b, commands.PurchaseResult{Outcome: domain.Reserved, Order: orderIn(domain.OrderStatusQueued)})
	token := "Bearer " + tokenOf(b, "buyer-1", "")
	b.ReportAllocs()
	for b.Loop() {
		req := httptest.NewRequest(http.MethodPost, "/api/v1/sales/"+testSale+"/purchases", strings.NewReader(`{"sku":"shoe-42","quantity":1}`))
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Authorization", token)
		w := httptest.NewRecorder()
		h.server.ServeHTTP(w, req)
		if w.Code != http.StatusAccepted {
			b.Fatalf("got status %d, want 202", w.Code)
		}
	}
}
