package e2e

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"seckill/api"
)

// BenchmarkWatching tells what looking at the stores, and streams of the overview, take of
// the processor: of a process with one open sale and no buyers, with no streams, one, and
// as many as a node takes. An operation is a second.
func BenchmarkWatching(b *testing.B) {
	child := ServeRig(b, NewRig(b))
	client := NewClient(child.URL)
	client.CreateSale(b, 100)
	for _, streams := range []int{0, 1, 32} {
		b.Run(fmt.Sprintf("streams=%d", streams), func(b *testing.B) {
			ctx, stop := context.WithCancel(context.Background())
			var reading sync.WaitGroup
			for range streams {
				reading.Go(func() { readStream(ctx, b, child.URL) })
			}
			before := processorOf(b, client)
			began := time.Now()
			b.ResetTimer()
			for range b.N {
				<-time.After(time.Second) // it is the time that is measured by
			}
			b.StopTimer()
			b.ReportMetric((processorOf(b, client)-before)/time.Since(began).Seconds()*1000, "cpu-ms/s")
			stop()
			reading.Wait()
		})
	}
}

// readStream reads a stream of the overview until ctx ends.
func readStream(ctx context.Context, b *testing.B, url string) {
	token, err := api.SignToken([]byte(TestSecret), "operator", "admin", "", time.Hour)
	if err != nil {
		b.Error(err)
		return
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/api/v1/admin/overview/stream", nil)
	if err != nil {
		b.Error(err)
		return
	}
	r.Header.Set("Authorization", "Bearer "+token)
	res, err := http.DefaultClient.Do(r)
	if err != nil || res.StatusCode != http.StatusOK {
		b.Errorf("open a stream: %v", err)
		return
	}
	defer func() { _ = res.Body.Close() }()
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() { // until ctx ends
	}
}

// processorOf gives the seconds of processor that a process has taken.
func processorOf(b *testing.B, c *Client) float64 {
	answer, err := c.Call(http.MethodGet, "/metrics", "", "", nil)
	if err != nil {
		b.Fatal(err)
	}
	_, after, _ := strings.Cut(answer.Raw, "\nseckill_process_cpu_seconds_total ")
	text, _, _ := strings.Cut(after, "\n")
	seconds, err := strconv.ParseFloat(text, 64)
	if err != nil {
		b.Fatalf("read the processor time from %q: %v", text, err)
	}
	return seconds
}
