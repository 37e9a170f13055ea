// Package seal owns the form of seals: a Merkle tree over the hashes of a run
// of records, the text that is signed, the chain from each seal to the one
// before, the keys that sign, and the file that seals are exported to.
//
// It promises that whoever has one exported seal can tell whether the log up to
// it was changed, with nothing but SHA-256 and Ed25519, and that a record can be
// proved to be under a seal by about ten hashes. docs/seals.md is the spec.
//
// It refuses to know where records or seals are stored: it reads no database,
// and touches files only where keys and exported seals are concerned.
package seal
