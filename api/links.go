package api

import (
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"sync"
	"time"

	"seckill/api/console"
)

// Times of a link and of what it signs in.
const (
	// LinkFor is for how long a link signs in.
	LinkFor = 15 * time.Minute
	// linkedFor is for how long whoever used one stays signed in.
	linkedFor = 12 * time.Hour
)

// Links are addresses that sign an operator in at the console of this process, each
// once and for LinkFor. Only digests of them are kept, and in memory alone. It is safe
// for concurrent use; nil knows none.
type Links struct {
	secret []byte
	now    func() time.Time

	mu   sync.Mutex
	made map[[sha256.Size]byte]madeLink
}

// madeLink is a link that nobody has used.
type madeLink struct {
	who   string
	until time.Time
}

// NewLinks makes links whose tokens are signed with the secret of SecretVerifier.
func NewLinks(secret []byte, now func() time.Time) *Links {
	return &Links{secret: secret, now: now, made: map[[sha256.Size]byte]madeLink{}}
}

// Path makes a link for somebody: what follows scheme and host. Its code stands behind
// a #, which browsers send nowhere.
func (l *Links) Path(who string) string {
	code := rand.Text()
	l.mu.Lock()
	defer l.mu.Unlock()
	for digest, m := range l.made {
		if !l.now().Before(m.until) {
			delete(l.made, digest)
		}
	}
	l.made[sha256.Sum256([]byte(code))] = madeLink{who: who, until: l.now().Add(LinkFor)}
	return fmt.Sprintf("%s#in=%s", console.Path, code)
}

// redeem gives the token of a link, once; ok is false for a code that is not good.
func (l *Links) redeem(code string) (token string, ok bool, err error) {
	if l == nil {
		return "", false, nil
	}
	digest := sha256.Sum256([]byte(code))
	l.mu.Lock()
	m, ok := l.made[digest]
	delete(l.made, digest)
	l.mu.Unlock()
	if !ok || !l.now().Before(m.until) {
		return "", false, nil
	}
	token, err = SignToken(l.secret, m.who, RoleAdmin, "", linkedFor)
	return token, err == nil, err
}
