package seal

import (
	"crypto/ed25519"
	"crypto/sha256"
	"fmt"
	"strings"
	"time"
)

// Seal stands for a run of the log: the records First to Last, Count of them,
// whose hashes have the Merkle root Root. Head is the hash of the record at Last
// and so, by the chain of the log, stands for everything before it as well.
// Number counts the seals of a store from 1; Previous is the hash of the seal
// before, zero for the first. SealedAt has microseconds.
type Seal struct {
	StoreUUID string // 36 characters
	Number    int64
	First     int64
	Last      int64
	Root      Hash
	Head      Hash
	Previous  Hash
	SealedAt  time.Time
	KeyID     string
	Signature []byte
}

// Count is how many records are sealed.
func (s *Seal) Count() int64 { return s.Last - s.First + 1 }

// TimeForm writes SealedAt with all its microseconds.
const TimeForm = "2006-01-02T15:04:05.000000Z"

// Text is what is signed: lines of name and value, each ended by a line feed.
func (s *Seal) Text() string {
	var b strings.Builder
	line := func(name string, value any) { fmt.Fprintf(&b, "%s %v\n", name, value) }
	line("seckill-seal", 1)
	line("store", s.StoreUUID)
	line("number", s.Number)
	line("first", s.First)
	line("last", s.Last)
	line("count", s.Count())
	line("root", s.Root)
	line("head", s.Head)
	line("previous", s.Previous)
	line("sealed_at", s.SealedAt.UTC().Format(TimeForm))
	line("key", s.KeyID)
	return b.String()
}

// Hash is the hash of the seal, which the next one carries: SHA-256 over Text.
func (s *Seal) Hash() Hash { return sha256.Sum256([]byte(s.Text())) }

// Sign signs the seal with a key, whose id becomes part of what is signed.
func (s *Seal) Sign(k Key) {
	s.SealedAt = s.SealedAt.UTC().Truncate(time.Microsecond)
	s.KeyID = k.ID()
	s.Signature = ed25519.Sign(k.private, []byte(s.Text()))
}

// SignedBy tells whether the signature is that of a public key.
func (s *Seal) SignedBy(public ed25519.PublicKey) bool {
	return KeyID(public) == s.KeyID && ed25519.Verify(public, []byte(s.Text()), s.Signature)
}

// Equal tells whether two seals are the same to the last bit.
func (s *Seal) Equal(o *Seal) bool {
	return s.Text() == o.Text() && string(s.Signature) == string(o.Signature)
}

// Follows says in a sentence what is wrong when s does not stand right behind
// previous, nil for the first seal; "" when it does.
func (s *Seal) Follows(previous *Seal) string {
	number, first, hash, store := int64(1), int64(1), Hash{}, s.StoreUUID
	if previous != nil {
		number, first, hash, store = previous.Number+1, previous.Last+1, previous.Hash(), previous.StoreUUID
	}
	switch {
	case s.StoreUUID != store:
		return fmt.Sprintf("seal %d is of the store %s, want %s", s.Number, s.StoreUUID, store)
	case s.Number != number:
		return fmt.Sprintf("seal %d stands where seal %d is due", s.Number, number)
	case s.First != first || s.Last < s.First:
		return fmt.Sprintf("seal %d is over positions %d to %d, want it to begin at %d", s.Number, s.First, s.Last, first)
	case s.Previous != hash:
		return fmt.Sprintf("seal %d does not carry the hash of the seal before it", s.Number)
	}
	return ""
}
