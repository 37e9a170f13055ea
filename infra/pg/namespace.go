package pg

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"regexp"
)

// DefaultNamespace is the schema used when nothing else was asked for.
const DefaultNamespace = "seckill"

var namespaceForm = regexp.MustCompile(`^[a-z][a-z0-9_]{0,39}$`)

// ValidNamespace tells in a sentence when ns cannot be a namespace. What it
// lets pass may stand unquoted in SQL, in role names and in key prefixes.
func ValidNamespace(ns string) error {
	if !namespaceForm.MatchString(ns) {
		return fmt.Errorf("the namespace %q is not usable: it begins with a lower-case letter, then up to 39 lower-case letters, digits or underscores", ns)
	}
	return nil
}

// OwnerRole is the role that owns everything in the namespace.
func OwnerRole(ns string) string { return ns + "_owner" }

// AppRole is the role every command but migrate works as.
func AppRole(ns string) string { return ns + "_app" }

// LockKey gives the advisory lock key of a name in a namespace. The locks of
// PostgreSQL are per database, so the namespace is part of the key.
func LockKey(ns, name string) int64 {
	sum := sha256.Sum256([]byte("seckill\x00" + ns + "\x00" + name))
	return int64(binary.BigEndian.Uint64(sum[:8]))
}
