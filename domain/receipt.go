package domain

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"hash"
	"math"
	"sync"
	"time"
)

// A receipt is 57 bytes: form, key number, code, sale, buyer (keyed hash), the gate's
// time and how far it may be off, units left, item (hash), quantity, bucket, epoch and
// next entry of the journal, and a MAC over all of it.
const (
	receiptForm  = 1
	receiptBuyer = 8
	receiptHead  = 1 + 1 + 1 + saleBytes + receiptBuyer + 8 + 2 + 4 + 2 + 1 + 2 + 5 + 5
	receiptMAC   = 12
	receiptBytes = receiptHead + receiptMAC
	// ReceiptLength is the length of a receipt in characters.
	ReceiptLength = 76
)

// ErrBadReceipt: this is no receipt of ours, or not as we wrote it.
var ErrBadReceipt = errors.New("not a receipt of ours")

var receiptText = base64.RawURLEncoding.Strict()

// receiptCodes gives every code its number in receipts. Numbers never change; a code
// without one has no receipt.
var receiptCodes = [...]Code{
	1: CodeInvalidRequest, 2: CodeForbidden, 3: CodeNotEligible, 4: CodeTicketRequired, 5: CodeTicketInvalid,
	6: CodeSaleNotFound, 7: CodeSKUNotFound, 8: CodeSoldOut, 9: CodeLimitExceeded, 10: CodeInProgress, 11: CodeSaleEnded,
	12: CodeIdempotencyMismatch, 13: CodeTooEarly, 14: CodeRateLimited, 15: CodeBusy, 16: CodeNotReady, 17: CodePaused,
	18: CodeArchived, 19: CodeInternal,
}

func receiptCode(c Code) byte {
	for i, code := range receiptCodes {
		if code == c && i > 0 {
			return byte(i)
		}
	}
	return 0
}

// Unknown stands in a receipt for a number that nobody knew.
const Unknown = -1

// Receipt is what a refusal of a purchase was told by, for later.
type Receipt struct {
	Key  uint8
	Code Code
	Sale string
	// Buyer is a keyed hash of the buyer and the sale: see ReceiptSigner.IsOf.
	Buyer [receiptBuyer]byte
	// At is the gate's time, give or take Bound, in whole milliseconds rounded up; with
	// Bound Unknown it is the node's own clock.
	At    time.Time
	Bound time.Duration
	// Left is the units of the item that were left for this buyer, Unknown where the
	// refusal was not about units or nobody counted.
	Left int64
	// Item is a hash of the SKU that was asked for, 0 where several or none were; Quantity
	// is how many in all, 255 for that many and more, 0 where it was not read.
	Item     uint16
	Quantity int
	// Bucket is the buyer's home bucket, Unknown where the refusal was not of a gate. With
	// it Epoch and Next say where the journal of its lane stood: everything accepted
	// before lies before entry Next of Epoch. Next is 0 where only the epoch is known, and
	// Epoch where neither is.
	Bucket      int
	Epoch, Next int64
}

// Refusal is what a receipt is made of.
type Refusal struct {
	Code   Code
	Sale   string
	Buyer  string
	At     time.Time
	Bound  time.Duration // negative: not known
	Left   int64         // negative: not known
	Lines  []Line
	Bucket int // negative: not known
	Epoch  int64
	Next   int64
}

// ReceiptSigner signs and reads receipts. It is safe for concurrent use, and allocates
// nothing when it signs.
type ReceiptSigner struct {
	current uint8
	keys    map[uint8]*receiptKey
}

// receiptKey holds what follows from one secret: the key of buyers' hashes, and HMACs
// that are ready to begin, which costs half of keying one.
type receiptKey struct {
	pens   sync.Pool // *receiptPen
	buyers [sha256.Size]byte
}

// receiptPen writes one receipt at a time.
type receiptPen struct {
	mac hash.Hash
	b   [receiptBytes]byte
	sum [sha256.Size]byte
}

// NewReceiptSigner makes a signer; what it signs passes for nothing else that is signed
// by the same secrets.
func NewReceiptSigner(keys Keys) *ReceiptSigner {
	s := &ReceiptSigner{current: keys.Current, keys: map[uint8]*receiptKey{}}
	for number, secret := range keys.Secrets {
		if len(secret) == 0 {
			continue
		}
		k, key := new(receiptKey), derivedKey(secret, "receipt")
		copy(k.buyers[:], derivedKey(secret, "receipt buyer"))
		k.pens.New = func() any { return &receiptPen{mac: hmac.New(sha256.New, key)} }
		s.keys[number] = k
	}
	return s
}

// sign puts the MAC behind the head that the pen holds: HMAC-SHA-256, cut short.
func (p *receiptPen) sign() {
	p.mac.Reset()
	p.mac.Write(p.b[:receiptHead])
	copy(p.b[receiptHead:], p.mac.Sum(p.sum[:0]))
}

// buyer is SHA-256 over key, sale and buyer, cut short: only who has the key can try
// whose it is. A key before the text is enough here, since nearly all of the sum is cut off.
func (k *receiptKey) buyer(sale [saleBytes]byte, buyer string) (tag [receiptBuyer]byte) {
	var in [sha256.Size + saleBytes + MaxBuyer]byte
	n := copy(in[:], k.buyers[:])
	n += copy(in[n:], sale[:])
	n += copy(in[n:], buyer)
	sum := sha256.Sum256(in[:n])
	copy(tag[:], sum[:])
	return tag
}

// ItemHash is what a receipt has of a SKU; never 0.
func ItemHash(sku string) uint16 {
	h := uint32(2166136261) // FNV-1a
	for i := 0; i < len(sku); i++ {
		h = (h ^ uint32(sku[i])) * 16777619
	}
	return max(uint16(h>>16)^uint16(h), 1)
}

// Append appends the receipt of a refusal to dst. ok is false where there can be none:
// the sale is none of our ids, the buyer none of ours, or the code has no number.
func (s *ReceiptSigner) Append(dst []byte, r *Refusal) (text []byte, ok bool) {
	k, code := s.keys[s.current], receiptCode(r.Code)
	var sale [saleBytes]byte
	if k == nil || code == 0 || r.Buyer == "" || len(r.Buyer) > MaxBuyer || !saleNumber(r.Sale, &sale) {
		return dst, false
	}
	pen := k.pens.Get().(*receiptPen)
	defer k.pens.Put(pen)
	at := append(pen.b[:0], receiptForm, s.current, code)
	at = append(at, sale[:]...)
	buyer := k.buyer(sale, r.Buyer)
	at = append(at, buyer[:]...)
	at = binary.BigEndian.AppendUint64(at, uint64(r.At.UnixMicro()))
	at = binary.BigEndian.AppendUint16(at, uint16(bounded(boundMillis(r.Bound), math.MaxUint16)))
	at = binary.BigEndian.AppendUint32(at, uint32(bounded(r.Left, math.MaxUint32)))
	item, quantity := asked(r.Lines)
	at = binary.BigEndian.AppendUint16(at, item)
	at = append(at, quantity)
	at = binary.BigEndian.AppendUint16(at, uint16(bounded(int64(r.Bucket), math.MaxUint16)))
	at = append40(at, r.Epoch)
	_ = append40(at, r.Next)
	pen.sign()
	return receiptText.AppendEncode(dst, pen.b[:]), true
}

// boundMillis rounds a bound up, so that it still holds.
func boundMillis(d time.Duration) int64 {
	if d < 0 {
		return Unknown
	}
	return int64((d + time.Millisecond - 1) / time.Millisecond)
}

// bounded gives a number that fits below most, which stands for Unknown.
func bounded(n, most int64) int64 {
	if n < 0 {
		return most
	}
	return min(n, most-1)
}

func asked(lines []Line) (item uint16, quantity byte) {
	var units int64
	for _, l := range lines {
		units = min(units+l.Quantity, math.MaxUint8)
	}
	if len(lines) == 1 {
		item = ItemHash(lines[0].SKU)
	}
	return item, byte(max(units, 0))
}

func append40(b []byte, n int64) []byte {
	if n < 0 || n >= 1<<40 {
		n = 0
	}
	return append(b, byte(n>>32), byte(n>>24), byte(n>>16), byte(n>>8), byte(n))
}

// saleNumber is ParseSaleID without its text checks, for an id that a sale has.
func saleNumber(id string, n *[saleBytes]byte) bool {
	if len(id) != 8 {
		return false
	}
	var text [8]byte
	copy(text[:], id)
	count, err := base32Text.Decode(n[:], text[:])
	return err == nil && count == saleBytes
}
