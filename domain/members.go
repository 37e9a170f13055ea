package domain

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"slices"
)

// MaxMembers bounds how many buyers a list may name.
const MaxMembers = 1_000_000

// MemberList names a stored list of buyers and what it holds. A list never
// changes: another one has another id.
type MemberList struct {
	ID      string
	Version int64 // counts the lists of a sale from 1
	Count   int64 // buyers, each once
	Digest  string
}

// memberBytes is how much of a buyer's SHA-256 stands in a set: enough that two
// buyers are never taken for each other.
const memberBytes = 16

// MemberSet is a set of buyers, 16 bytes each, whatever their names. The zero
// value is empty. It may be read by many once nobody adds any more.
type MemberSet struct{ all [][memberBytes]byte }

// Add puts a buyer into a set that is not sealed.
func (m *MemberSet) Add(buyer string) { m.all = append(m.all, memberOf(buyer)) }

// Seal ends adding. A buyer who was added twice is in it once.
func (m *MemberSet) Seal() {
	slices.SortFunc(m.all, compareMembers)
	m.all = slices.Clip(slices.Compact(m.all))
}

// Has tells whether a buyer is in a sealed set.
func (m *MemberSet) Has(buyer string) bool {
	_, found := slices.BinarySearchFunc(m.all, memberOf(buyer), compareMembers)
	return found
}

// Count gives the number of buyers in a sealed set.
func (m *MemberSet) Count() int64 { return int64(len(m.all)) }

// Digest gives a hexadecimal digest of a sealed set: the same for the same
// buyers, in whatever order they came.
func (m *MemberSet) Digest() string {
	h := sha256.New()
	for i := range m.all {
		h.Write(m.all[i][:])
	}
	return hex.EncodeToString(h.Sum(nil))
}

func compareMembers(a, b [memberBytes]byte) int { return bytes.Compare(a[:], b[:]) }

func memberOf(buyer string) [memberBytes]byte {
	sum := sha256.Sum256([]byte(buyer))
	return [memberBytes]byte(sum[:memberBytes])
}

// SetMembers decides that a list of buyers replaces the one before it. A nil
// event means that the sale is over, or has that very list.
func (s Sale) SetMembers(list MemberList, by string) Event {
	if s.Cleaned || s.Closed || (s.Members != nil && s.Members.ID == list.ID) {
		return nil
	}
	list.Version = 1
	if s.Members != nil {
		list.Version = s.Members.Version + 1
	}
	return &SaleMembersSet{SaleID: s.ID, Version: list.Version, List: list.ID, Count: list.Count, Digest: list.Digest, By: by}
}
