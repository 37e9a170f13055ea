package commands

import (
	"crypto/sha256"
	"encoding/binary"
	"time"
)

// rowDigest gathers the columns of a row into one number: rows that differ have
// different ones, but for one in 2^64.
type rowDigest struct{ buf []byte }

func (d *rowDigest) text(texts ...string) {
	for _, s := range texts {
		d.buf = binary.AppendUvarint(d.buf, uint64(len(s)))
		d.buf = append(d.buf, s...)
	}
}

func (d *rowDigest) number(numbers ...int64) {
	for _, n := range numbers {
		d.buf = binary.AppendVarint(d.buf, n)
	}
}

// time takes a time as PostgreSQL keeps it.
func (d *rowDigest) time(times ...time.Time) {
	for _, t := range times {
		d.number(t.UnixMicro())
	}
}

func (d *rowDigest) sum() uint64 {
	sum := sha256.Sum256(d.buf)
	return binary.BigEndian.Uint64(sum[:])
}

// OrderDigest stands for everything in an order's row of order_view that its first
// event decides.
func OrderDigest(o OrderAnswer) uint64 {
	d := rowDigest{buf: make([]byte, 0, 256)}
	d.text(o.SaleID, o.BuyerID, o.Amount.Currency, string(o.Reason), o.Entry, o.TraceID)
	d.number(int64(o.Bucket), o.Amount.Minor, int64(len(o.Lines)))
	for _, l := range o.Lines {
		d.text(l.SKU, l.Price.Currency)
		d.number(l.Quantity, l.Price.Minor)
	}
	d.time(o.PlacedAt, o.AcceptedAt, o.PayBy)
	return d.sum()
}

// StockRow is a row of stock_log.
type StockRow struct {
	Position   int64
	SKU, Order string
	Quantity   int64
	At         time.Time
}

// Add adds a row to what is told of its item. The order of rows does not matter.
func (v *ViewStock) Add(r StockRow) {
	d := rowDigest{buf: make([]byte, 0, 128)}
	d.text(r.SKU, r.Order)
	d.number(r.Position, r.Quantity)
	d.time(r.At)
	v.Rows++
	v.Left += r.Quantity
	v.Digest += d.sum() // wraps around: the sum of a set
}

// keyDigest stands for an idempotency key and the body it came with.
func keyDigest(key, body string) uint64 {
	if key == "" && body == "" {
		return 0
	}
	var d rowDigest
	d.text(key, body)
	return d.sum()
}
