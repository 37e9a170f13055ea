package cli

import (
	"crypto/ed25519"
	"fmt"

	"github.com/google/uuid"

	"seckill/eventstore/seal"
)

// witness is what is believed about seals: the keys and the seals in a folder
// outside of the database. Nothing that the database says counts, as it may be in
// the hands of who forged it.
type witness struct {
	folder *seal.Folder
	keys   map[string]ed25519.PublicKey
}

// openWitness refuses a folder without a trusted key, saying the way forward.
func openWitness(folder *seal.Folder) (witness, error) {
	keys, err := folder.Keys()
	if err != nil {
		return witness{}, err
	}
	if len(keys) == 0 {
		return witness{}, usage(
			"there is no trusted key in %s: name the folder of exported seals with --seals (it holds key-….pem and seals-….jsonl; serve writes it where SECKILL_SEAL_DIR says); keys that the database names are not believed",
			folder.Dir())
	}
	return witness{folder, keys}, nil
}

// judge says what is wrong with seals, "" when each is signed with a trusted key
// and stands identically among the exported ones.
func (w witness) judge(seals []seal.Seal) (what string, err error) {
	wires := make([]seal.Wire, len(seals))
	for i := range seals {
		s := &seals[i]
		key, ok := w.keys[s.KeyID]
		switch {
		case !ok:
			return fmt.Sprintf("seal %d is signed with the key %s, which is not in %s", s.Number, s.KeyID, w.folder.Dir()), nil
		case !s.SignedBy(key):
			return fmt.Sprintf("the signature of seal %d is not that of its key", s.Number), nil
		}
		wires[i] = s.Wire()
	}
	return w.compare(wires)
}

// compare says which seal was not exported, or differently; "" when all were.
func (w witness) compare(seals []seal.Wire) (what string, err error) {
	exported := make(map[int64]seal.Wire, len(seals))
	for _, s := range seals {
		exported[s.Number] = seal.Wire{}
	}
	err = w.folder.Each(func(s *seal.Seal) error {
		if _, asked := exported[s.Number]; asked {
			exported[s.Number] = s.Wire()
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	for _, s := range seals {
		switch exported[s.Number] {
		case s:
		case seal.Wire{}:
			return fmt.Sprintf("seal %d was not exported to %s", s.Number, w.folder.Dir()), nil
		default:
			return fmt.Sprintf("seal %d is not the one that was exported", s.Number), nil
		}
	}
	return "", nil
}

// storeName gives the first of the names that can be one of an event store, and
// the zero one where none is: a name out of a file becomes part of a path.
func storeName(names ...string) string {
	for _, name := range names {
		if id, err := uuid.Parse(name); err == nil {
			return id.String()
		}
	}
	return uuid.Nil.String()
}

// trustedBy says whose keys and seals an audit of the database counts, where the
// folder may have none.
func trustedBy(folder *seal.Folder) (string, error) {
	keys, err := folder.Keys()
	if err != nil {
		return "", err
	}
	last, err := folder.Last()
	switch {
	case len(keys) > 0 && last != nil:
		return "the keys and seals in " + folder.Dir(), err
	case len(keys) > 0:
		return "the keys in " + folder.Dir() + " and the seals in the database, as none was exported there", err
	case last != nil:
		return "keys that the database names and the seals in " + folder.Dir(), err
	}
	return "keys and seals of the database alone", err
}
