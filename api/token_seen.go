package api

import (
	"crypto/sha256"
	"sync"
	"time"
)

// maxSeen bounds the tokens of one generation; two are kept, of about 200 bytes each.
const maxSeen = 32_768

// tokenDigest stands for a token: nobody finds two of one digest.
type tokenDigest [sha256.Size]byte

// seenToken is whom a verified token was signed for, and when it expires.
type seenToken struct {
	caller Caller
	until  time.Time
}

// seenTokens remembers, within bounds, tokens that were verified, so that a buyer who
// comes again does not cost another verification. Only the digest of a token is kept.
// What is remembered ends with the token and with the keys it was verified by.
type seenTokens struct {
	mu         sync.RWMutex
	young, old map[tokenDigest]seenToken
	keys       uint64 // counts the sets of keys
}

// get gives what is known of a token at a moment, and the set of keys to put it
// under where nothing is.
func (s *seenTokens) get(d tokenDigest, now time.Time) (caller Caller, keys uint64, ok bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	seen, ok := s.young[d]
	if !ok {
		seen, ok = s.old[d]
	}
	return seen.caller, s.keys, ok && now.Before(seen.until)
}

// put remembers a token that was verified by a set of keys, unless there are newer
// ones.
func (s *seenTokens) put(d tokenDigest, keys uint64, seen seenToken) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if keys != s.keys {
		return
	}
	if len(s.young) >= maxSeen {
		s.old, s.young = s.young, nil
	}
	if s.young == nil {
		s.young = map[tokenDigest]seenToken{}
	}
	s.young[d] = seen
}

// forget drops everything: the keys are others now.
func (s *seenTokens) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.young, s.old = nil, nil
	s.keys++
}
