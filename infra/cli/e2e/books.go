package e2e

import (
	"testing"
	"time"

	"seckill/domain"
	"seckill/eventstore"
)

// Books are what a log says of one sale.
type Books struct {
	Orders map[string]domain.Order
	Left   map[string]int64 // units by SKU, over all buckets
}

// ReadBooks folds the whole log, checking C1 and C6 as it goes, and gives what it
// says of a sale.
func ReadBooks(t testing.TB, log eventstore.Reader, sale string) Books {
	t.Helper()
	f := readFold(t, log)
	b := Books{Orders: map[string]domain.Order{}, Left: map[string]int64{}}
	for id, o := range f.orders {
		if o.SaleID == sale {
			b.Orders[id] = o
		}
	}
	for stream, account := range f.accounts {
		key, err := domain.ParseStockStream(stream)
		if err != nil {
			t.Fatal(err)
		}
		if key.Sale == sale {
			b.Left[key.SKU] += account.Left()
		}
	}
	return b
}

// patience is how long a check of this node waits for what must come.
func (n *Node) patience(d time.Duration) time.Duration {
	if n.Patience > 0 {
		return min(d, n.Patience)
	}
	return d
}
