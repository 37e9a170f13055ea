package e2e

import (
	"flag"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

var creatingSales = flag.Int("creating.sales", 20, "sales that are made over HTTP one after the other, and as many sixteen at a time")

// BenchmarkCreatingSales is how many sales an operator makes in a second over HTTP, each
// recorded with who asked for it and ready in the gate when the answer comes.
func BenchmarkCreatingSales(b *testing.B) {
	client := NewClient(ServeRig(b, NewRig(b)).URL)
	for range b.N {
		for _, atOnce := range []int{1, 16} {
			began := time.Now()
			createMany(b, client, *creatingSales, atOnce)
			rate := float64(*creatingSales) / time.Since(began).Seconds()
			b.Logf("%d sales, %d at a time: %.0f a second", *creatingSales, atOnce, rate)
			b.ReportMetric(rate, map[int]string{1: "sales/s-one-by-one", 16: "sales/s-16-at-once"}[atOnce])
		}
	}
}

func createMany(b *testing.B, client *Client, count, atOnce int) {
	b.Helper()
	body := saleBody(100)
	var next, failed atomic.Int64
	var making sync.WaitGroup
	for range atOnce {
		making.Go(func() {
			for next.Add(1) <= int64(count) {
				answer, err := client.Call(http.MethodPost, "/api/v1/admin/sales", "operator", "admin", body)
				if (err != nil || answer.Status != http.StatusCreated) && failed.Add(1) == 1 {
					b.Errorf("make a sale: %d %s, %v", answer.Status, answer.Raw, err)
				}
			}
		})
	}
	making.Wait()
}
