package commands

import (
	"context"
	"runtime"
	"strings"
	"testing"

	"seckill/domain"
)

// An id comes cut out of the line of its request, which may be long: what is
// remembered of it must not keep that line.
func TestAnIDThatIsRememberedKeepsNothingOfTheRequestItCameWith(t *testing.T) {
	const ids, line = 2000, 32 << 10
	s := newSoldBy(t)
	s.sales = NewSales(struct {
		unasked
		*countedLog
	}{countedLog: s.countedLog}, s.clock, SalesOptions{ColdReads: 2 * ids})
	before := liveHeap()
	for i := range ids {
		id := pastSale
		if i > 0 {
			id = domain.SaleNumber(1000 + i).ID()
		}
		request := id + strings.Repeat("x", line)
		if _, err := s.sales.Get(context.Background(), request[:len(id)]); i > 0 && !isUnknown(err) {
			t.Fatalf("got %v, want sale_not_found", err)
		}
	}
	if s.sales.unknown[domain.SaleNumber(1001).ID()].IsZero() || s.sales.known[pastSale] == nil {
		t.Fatal("nothing is remembered")
	}
	if grown := liveHeap() - before; grown > 4<<20 {
		t.Errorf("%d ids keep %d KiB each", ids, grown/ids>>10)
	}
	runtime.KeepAlive(s)
}

// liveHeap is what a collection leaves.
func liveHeap() int64 {
	var m runtime.MemStats
	for range 2 {
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
