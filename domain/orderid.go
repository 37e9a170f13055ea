package domain

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/binary"
	"fmt"
)

// Widths of an order id in bytes: key number, store, lane, bucket, sale number,
// random, check.
const (
	orderHead   = 1 + 1 + 1 + 2 + saleBytes
	orderRandom = 10
	orderCheck  = 8
	orderBytes  = orderHead + orderRandom + orderCheck
	// OrderIDLength is the length of an order id in characters.
	OrderIDLength = 45
)

// OrderRef is what an order id says about itself.
type OrderRef struct {
	ID    string
	Key   uint8
	Lane  int
	Place Place
}

// Keys are the secrets that order ids are checked with, by key number. They are
// made once by migrate, kept in the event store and read by every node.
type Keys struct {
	Current uint8
	Secrets map[uint8][]byte
}

// NewOrderID makes the id of an order of buyer at p. random supplies 80 bits. It
// refuses a place that an id cannot name, and to sign without a secret.
func NewOrderID(keys Keys, p Place, buyer string, random [orderRandom]byte) (string, error) {
	sale, err := ParseSaleID(p.Sale)
	if err != nil {
		return "", fmt.Errorf("make order id for sale %q: %w", p.Sale, err)
	}
	secret := keys.Secrets[keys.Current]
	if p.Bucket < 0 || p.Bucket >= MaxBuckets || len(secret) == 0 {
		return "", fmt.Errorf("make order id: want a bucket from 0 to %d (got %d) and a secret under key %d", MaxBuckets-1, p.Bucket, keys.Current)
	}
	b := make([]byte, 0, orderBytes)
	b = append(b, keys.Current, p.Store, byte(p.Lane()))
	b = binary.BigEndian.AppendUint16(b, uint16(p.Bucket))
	b = append(b, byte(sale>>32), byte(sale>>24), byte(sale>>16), byte(sale>>8), byte(sale))
	b = append(b, random[:]...)
	b = append(b, orderMAC(secret, b, buyer)...)
	return base32Text.EncodeToString(b), nil
}

// ParseOrderID reads where an order lives out of its id. It does not check who
// owns it: Owned does. ErrBadID for anything NewOrderID would not write.
func ParseOrderID(id string) (OrderRef, error) {
	if len(id) != OrderIDLength {
		return OrderRef{}, ErrBadID
	}
	b, err := base32Text.DecodeString(id)
	if err != nil || len(b) != orderBytes || base32Text.EncodeToString(b) != id {
		return OrderRef{}, ErrBadID
	}
	s := b[5:]
	sale := SaleNumber(s[0])<<32 | SaleNumber(s[1])<<24 | SaleNumber(s[2])<<16 | SaleNumber(s[3])<<8 | SaleNumber(s[4])
	p := Place{Store: b[1], Sale: sale.ID(), Bucket: int(binary.BigEndian.Uint16(b[3:5]))}
	ref := OrderRef{ID: id, Key: b[0], Lane: int(b[2]), Place: p}
	if ref.Lane >= Lanes || p.Bucket >= MaxBuckets {
		return OrderRef{}, ErrBadID
	}
	return ref, nil
}

// Owned tells whether we issued this id, and to this buyer.
func (r OrderRef) Owned(keys Keys, buyer string) bool {
	secret, ok := keys.Secrets[r.Key]
	if !ok || len(secret) == 0 {
		return false
	}
	b, err := base32Text.DecodeString(r.ID)
	if err != nil || len(b) != orderBytes {
		return false
	}
	head := b[:orderHead+orderRandom]
	return subtle.ConstantTimeCompare(b[len(head):], orderMAC(secret, head, buyer)) == 1
}

func orderMAC(secret, head []byte, buyer string) []byte {
	m := hmac.New(sha256.New, secret)
	m.Write(head)
	m.Write([]byte(buyer))
	return m.Sum(nil)[:orderCheck]
}
