package domain

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"time"
)

// A ticket is 25 bytes: key number, until when it is good in microseconds since
// 1970, and a MAC over both, the sale and the buyer.
const (
	ticketHead  = 1 + 8
	ticketMAC   = 16
	ticketBytes = ticketHead + ticketMAC
	// TicketLength is the length of a ticket in characters.
	TicketLength = 34
)

// ErrBadTicket: this is no ticket of ours for this buyer and sale.
var ErrBadTicket = errors.New("not a ticket for this buyer and sale")

var ticketText = base64.RawURLEncoding.Strict()

// NewTicket signs a ticket of a buyer for a sale. The same arguments give the same
// ticket.
func NewTicket(keys Keys, sale, buyer string, expires time.Time) (string, error) {
	secret := keys.Secrets[keys.Current]
	if len(secret) == 0 {
		return "", fmt.Errorf("sign a ticket: there is no secret under key %d", keys.Current)
	}
	b := binary.BigEndian.AppendUint64([]byte{keys.Current}, uint64(expires.UnixMicro()))
	return ticketText.EncodeToString(append(b, macOfTicket(secret, b, sale, buyer)...)), nil
}

// ParseTicket gives the id under which a ticket is used up, and until when it is
// good. ErrBadTicket unless we gave it to this buyer for this sale.
func ParseTicket(keys Keys, sale, buyer, text string) (id string, expires time.Time, err error) {
	if len(text) != TicketLength {
		return "", time.Time{}, ErrBadTicket
	}
	b, err := ticketText.DecodeString(text)
	if err != nil || len(b) != ticketBytes {
		return "", time.Time{}, ErrBadTicket
	}
	secret, head := keys.Secrets[b[0]], b[:ticketHead]
	if len(secret) == 0 || subtle.ConstantTimeCompare(b[ticketHead:], macOfTicket(secret, head, sale, buyer)) != 1 {
		return "", time.Time{}, ErrBadTicket
	}
	return hex.EncodeToString(b[ticketHead:]), time.UnixMicro(int64(binary.BigEndian.Uint64(b[1:]))).UTC(), nil
}

// DerivedKey gives a key for one purpose out of the current secret, so that what is
// signed for one purpose never passes for another.
func (k Keys) DerivedKey(purpose string) []byte { return derivedKey(k.Secrets[k.Current], purpose) }

func derivedKey(secret []byte, purpose string) []byte {
	m := hmac.New(sha256.New, secret)
	m.Write([]byte("seckill " + purpose))
	return m.Sum(nil)
}

func macOfTicket(secret, head []byte, sale, buyer string) []byte {
	m := hmac.New(sha256.New, derivedKey(secret, "ticket"))
	m.Write(head)
	m.Write([]byte(sale + " " + buyer)) // neither holds a space
	return m.Sum(nil)[:ticketMAC]
}
