package cli

import (
	"context"
	"crypto/ed25519"

	"seckill/eventstore/seal"
)

// keyring is the keys that seals are checked with: those of the folder of exported
// seals, or where it has none, those that the database names.
type keyring struct {
	keys    map[string]ed25519.PublicKey
	trusted bool
}

func loadKeyring(ctx context.Context, folder *seal.Folder, stored func(context.Context) ([]ed25519.PublicKey, error)) (keyring, error) {
	keys, err := folder.Keys()
	if err != nil || len(keys) > 0 {
		return keyring{keys, true}, err
	}
	named, err := stored(ctx)
	for _, k := range named {
		keys[seal.KeyID(k)] = k
	}
	return keyring{keys, false}, err
}

// judge says what is wrong with a signature, "" when nothing is.
func (k keyring) judge(s *seal.Seal) string {
	key, ok := k.keys[s.KeyID]
	switch {
	case !ok:
		return "a seal is signed with the key " + s.KeyID + ", which is not trusted here"
	case !s.SignedBy(key):
		return "the signature of a seal is not that of its key"
	}
	return ""
}
