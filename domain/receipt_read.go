package domain

import (
	"crypto/subtle"
	"encoding/binary"
	"math"
	"time"
)

// Read gives what a receipt says. ErrBadReceipt unless we signed it.
func (s *ReceiptSigner) Read(text string) (Receipt, error) {
	r, b, err := parseReceipt(text)
	if err != nil {
		return Receipt{}, err
	}
	k := s.keys[r.Key]
	if k == nil {
		return Receipt{}, ErrBadReceipt
	}
	pen := k.pens.Get().(*receiptPen)
	defer k.pens.Put(pen)
	copy(pen.b[:receiptHead], b)
	pen.sign()
	if subtle.ConstantTimeCompare(pen.b[receiptHead:], b[receiptHead:]) != 1 {
		return Receipt{}, ErrBadReceipt
	}
	return r, nil
}

// IsOf tells whether a receipt was given to a buyer.
func (s *ReceiptSigner) IsOf(r Receipt, buyer string) bool {
	k := s.keys[r.Key]
	var sale [saleBytes]byte
	if k == nil || len(buyer) > MaxBuyer || !saleNumber(r.Sale, &sale) {
		return false
	}
	tag := k.buyer(sale, buyer)
	return subtle.ConstantTimeCompare(tag[:], r.Buyer[:]) == 1
}

// ParseReceipt gives what a receipt says, whoever signed it.
func ParseReceipt(text string) (Receipt, error) {
	r, _, err := parseReceipt(text)
	return r, err
}

func parseReceipt(text string) (r Receipt, b []byte, err error) {
	if len(text) != ReceiptLength {
		return r, nil, ErrBadReceipt
	}
	if b, err = receiptText.DecodeString(text); err != nil || len(b) != receiptBytes || b[0] != receiptForm ||
		b[2] == 0 || int(b[2]) >= len(receiptCodes) {
		return r, nil, ErrBadReceipt
	}
	r.Key, r.Code = b[1], receiptCodes[b[2]]
	rest := b[3:]
	r.Sale = SaleNumber(take40(&rest)).ID()
	rest = rest[copy(r.Buyer[:], rest):]
	r.At = time.UnixMicro(int64(binary.BigEndian.Uint64(rest))).UTC()
	bound := int64(binary.BigEndian.Uint16(rest[8:]))
	r.Left = int64(binary.BigEndian.Uint32(rest[10:]))
	r.Item, r.Quantity = binary.BigEndian.Uint16(rest[14:]), int(rest[16])
	r.Bucket = int(binary.BigEndian.Uint16(rest[17:]))
	rest = rest[19:]
	r.Epoch, r.Next = take40(&rest), take40(&rest)
	if r.Bound = time.Duration(bound) * time.Millisecond; bound == math.MaxUint16 {
		r.Bound = Unknown
	}
	if r.Left == math.MaxUint32 {
		r.Left = Unknown
	}
	if r.Bucket == math.MaxUint16 {
		r.Bucket = Unknown
	}
	return r, b, nil
}

func take40(b *[]byte) int64 {
	p := (*b)[:5]
	*b = (*b)[5:]
	return int64(p[0])<<32 | int64(p[1])<<24 | int64(p[2])<<16 | int64(p[3])<<8 | int64(p[4])
}
