package domain

import (
	"encoding/base32"
	"errors"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
)

// Lanes is the number of lanes of an event store. A lane is the unit of
// recording, epoch and recovery; it is stored in every order id, so this number
// never changes.
const Lanes = 64

// MaxBuckets bounds the buckets of a sale.
const MaxBuckets = 1024

// base32Text is Crockford's alphabet in small letters: no i, l, o, u.
var base32Text = base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz").WithPadding(base32.NoPadding)

// SaleNumber is the 40-bit number behind a sale id.
type SaleNumber uint64

// saleBytes is the width of a sale number.
const saleBytes = 5

// ErrBadID is given for text that is no id of ours.
var ErrBadID = errors.New("this is not an id of ours")

// ID gives the sale id: eight characters of base32.
func (n SaleNumber) ID() string {
	return base32Text.EncodeToString([]byte{byte(n >> 32), byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)})
}

// ParseSaleID reads a sale id back; ErrBadID for anything ID would not write.
func ParseSaleID(id string) (SaleNumber, error) {
	b, err := base32Text.DecodeString(id)
	if err != nil || len(b) != saleBytes {
		return 0, ErrBadID
	}
	n := SaleNumber(b[0])<<32 | SaleNumber(b[1])<<24 | SaleNumber(b[2])<<16 | SaleNumber(b[3])<<8 | SaleNumber(b[4])
	if n.ID() != id {
		return 0, ErrBadID
	}
	return n, nil
}

// Place is where the state of a purchase lives: a bucket of a sale of an event
// store, and the lane that follows from sale and bucket.
type Place struct {
	Store  uint8
	Sale   string
	Bucket int
	// Direct: the sale has no gate, and so no lane.
	Direct bool
}

// Lane gives the lane of this place, 0 to Lanes-1; 0 where there is none.
func (p Place) Lane() int {
	if p.Direct {
		return 0
	}
	h := fnv.New64a()
	h.Write([]byte(p.Sale))
	h.Write([]byte{'/', byte(p.Bucket >> 8), byte(p.Bucket)})
	// fnv's low bits mix poorly for short keys; fold the high half in.
	s := h.Sum64()
	s ^= s >> 32
	s *= 0x9E3779B97F4A7C15
	return int(s >> 58)
}

// HomeBucket gives the one bucket, 0 to buckets-1, that serves a buyer in a sale.
func HomeBucket(sale, buyer string, buckets int) int {
	if buckets <= 1 {
		return 0
	}
	h := fnv.New64a()
	h.Write([]byte(sale))
	h.Write([]byte{0})
	h.Write([]byte(buyer))
	s := h.Sum64()
	s ^= s >> 32
	s *= 0x9E3779B97F4A7C15
	return int((s >> 32) % uint64(buckets))
}

// SaleStream names the stream of a sale.
func SaleStream(sale string) string { return "sale-" + sale }

// StockStream names the stock stream of an item in a bucket of a sale.
func StockStream(sale, sku string, bucket int) string {
	return "stock-" + sale + "-" + sku + "-" + strconv.Itoa(bucket)
}

// OrderStream names the stream of an order.
func OrderStream(order string) string { return "order-" + order }

// StockKey names one stock stream by its parts.
type StockKey struct {
	Sale   string
	SKU    string
	Bucket int
}

// Stream gives the name of the stream.
func (k StockKey) Stream() string { return StockStream(k.Sale, k.SKU, k.Bucket) }

// ParseStockStream takes a stock stream's name apart. A SKU may hold '-'; sale
// ids and buckets cannot. A name that Stream would not write is refused.
func ParseStockStream(name string) (StockKey, error) {
	rest, ok := strings.CutPrefix(name, "stock-")
	sale, rest, ok2 := strings.Cut(rest, "-")
	i := strings.LastIndexByte(rest, '-')
	if !ok || !ok2 || i < 1 {
		return StockKey{}, fmt.Errorf("stream %q is no stock stream", name)
	}
	bucket, err := strconv.Atoi(rest[i+1:])
	k := StockKey{Sale: sale, SKU: rest[:i], Bucket: bucket}
	if err != nil || sale == "" || bucket < 0 || k.Stream() != name {
		return StockKey{}, fmt.Errorf("stream %q is no stock stream", name)
	}
	return k, nil
}

// ValidSKU tells whether s may name an item: 1 to 64 letters, digits, '.', '_'
// or '-'.
func ValidSKU(s string) bool {
	if len(s) == 0 || len(s) > 64 {
		return false
	}
	for _, c := range s {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '.' && c != '_' && c != '-' {
			return false
		}
	}
	return true
}

// MaxBuyer is the length of the longest buyer id.
const MaxBuyer = 128

// ValidBuyer tells whether s may name a buyer: 1 to 128 bytes of printable
// ASCII without space.
func ValidBuyer(s string) bool {
	if len(s) == 0 || len(s) > MaxBuyer {
		return false
	}
	for i := 0; i < len(s); i++ {
		if s[i] <= ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}
