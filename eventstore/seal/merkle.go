package seal

import (
	"crypto/sha256"

	"seckill/eventstore"
)

// Hash is a hash of a record, of a node of the tree, or of a seal.
type Hash = eventstore.Hash

// Leaf and inner nodes begin with different bytes, so that neither can be taken
// for the other (RFC 6962, section 2.1).
const (
	leafPrefix = 0
	nodePrefix = 1
)

// LeafHash is the leaf of a record: SHA-256 over a zero byte and its hash.
func LeafHash(record Hash) Hash {
	var b [1 + len(record)]byte
	b[0] = leafPrefix
	copy(b[1:], record[:])
	return sha256.Sum256(b[:])
}

func nodeHash(left, right Hash) Hash {
	var b [1 + 2*len(left)]byte
	b[0] = nodePrefix
	copy(b[1:], left[:])
	copy(b[1+len(left):], right[:])
	return sha256.Sum256(b[:])
}

// Tree builds the root over the hashes of records, one after the other, in
// memory that grows with the logarithm of their number. The zero Tree is empty.
type Tree struct {
	count int64
	// peaks are the roots of the full subtrees, largest first.
	peaks []Hash
}

// Append adds the next record by its hash.
func (t *Tree) Append(record Hash) {
	node := LeafHash(record)
	for n := t.count; n&1 == 1; n >>= 1 {
		last := len(t.peaks) - 1
		node = nodeHash(t.peaks[last], node)
		t.peaks = t.peaks[:last]
	}
	t.peaks = append(t.peaks, node)
	t.count++
}

// Count is how many records were added.
func (t *Tree) Count() int64 { return t.count }

// Root gives the root over all records so far; of an empty tree it is the
// SHA-256 of nothing.
func (t *Tree) Root() Hash {
	if t.count == 0 {
		return sha256.Sum256(nil)
	}
	root := t.peaks[len(t.peaks)-1]
	for i := len(t.peaks) - 2; i >= 0; i-- {
		root = nodeHash(t.peaks[i], root)
	}
	return root
}

// Reset empties the tree.
func (t *Tree) Reset() { t.count, t.peaks = 0, t.peaks[:0] }

// Root gives the root over the hashes of records.
func Root(records []Hash) Hash {
	var t Tree
	for _, h := range records {
		t.Append(h)
	}
	return t.Root()
}

// Path gives the hashes that lead from record index (from 0) to the root, nearest
// first. An index without a record has no path.
func Path(records []Hash, index int) []Hash {
	if index < 0 || index >= len(records) || len(records) < 2 {
		return nil
	}
	k := split(len(records))
	if index < k {
		return append(Path(records[:k], index), Root(records[k:]))
	}
	return append(Path(records[k:], index-k), Root(records[:k]))
}

// split is the largest power of two below n.
func split(n int) int {
	k := 1
	for k*2 < n {
		k *= 2
	}
	return k
}

// VerifyPath tells whether a path leads from the record with this hash, number
// index of count, to the root.
func VerifyPath(record Hash, index, count int64, path []Hash, root Hash) bool {
	if index < 0 || index >= count {
		return false
	}
	node, at, last := LeafHash(record), index, count-1
	for _, other := range path {
		if last == 0 {
			return false
		}
		if at&1 == 1 || at == last {
			node = nodeHash(other, node)
			for at&1 == 0 && at != 0 {
				at, last = at>>1, last>>1
			}
		} else {
			node = nodeHash(node, other)
		}
		at, last = at>>1, last>>1
	}
	return last == 0 && node == root
}
