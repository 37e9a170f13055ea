package api

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/MicahParks/keyfunc/v3"
	"github.com/golang-jwt/jwt/v5"
)

// Bounds of reading a JWKS: how long a request waits for a key it does not know,
// how often unknown keys make us read, how soon we try again while no key was
// ever read, how often we read anyhow, and what one reading may take.
const (
	unknownKeyWait  = 100 * time.Millisecond
	unknownKeyEvery = 2 * time.Second
	firstKeysEvery  = time.Second
	refreshEvery    = 5 * time.Minute
	jwksTimeout     = 5 * time.Second
	maxJWKS         = 1 << 20
)

// minRSA is the length of an RSA key in bits below which it could be broken.
const minRSA = 2048

// JWKS is where the public keys of an issuer of tokens are, and what its tokens say.
type JWKS struct {
	URL string
	// Issuer and Audience are what the tokens' iss is and their aud holds; with "" that
	// is not looked at.
	Issuer, Audience string
}

// jwksMethods are the algorithms of tokens that are signed with a key of a JWKS.
var jwksMethods = []string{"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"}

// keySet is the usable keys of one reading, with their text.
type keySet struct {
	keyfunc.Keyfunc
	text []byte
}

// jwks verifies with the keys of an address.
type jwks struct {
	tokens
	url  string
	log  *slog.Logger
	keys atomic.Pointer[keySet] // nil until they were read once
	// wanted asks the reader to read; round is closed when it has.
	wanted chan struct{}
	mu     sync.Mutex
	round  chan struct{}
}

// JWKSVerifier verifies tokens signed with the keys at a JWKS address. Keys are
// read again every 5 minutes and, at most every 2 s, when a token names one that
// is not known; no request waits longer than 100 ms for that. An answer without a
// usable key counts as none: the keys that were read before go on. It starts also
// while the address is away, which is tried again every second: until then nobody
// is signed in, and Ready says so. Reading ends with ctx.
func JWKSVerifier(ctx context.Context, from JWKS, log *slog.Logger, now func() time.Time) (Verifier, error) {
	j := &jwks{url: from.URL, log: log, wanted: make(chan struct{}, 1), round: make(chan struct{})}
	var more []jwt.ParserOption
	if from.Issuer != "" {
		more = append(more, jwt.WithIssuer(from.Issuer))
	}
	if from.Audience != "" {
		more = append(more, jwt.WithAudience(from.Audience))
	}
	j.tokens = tokens{parser: parser(now, jwksMethods, more...), keys: j.find, now: now}
	if _, err := http.NewRequest(http.MethodGet, from.URL, nil); err != nil {
		return nil, fmt.Errorf("read the keys for tokens: %w", err)
	}
	j.read(ctx)
	go j.keepReading(ctx)
	return j, nil
}

// Ready says why no token can be verified yet: the keys were never read.
func (j *jwks) Ready(context.Context) error {
	if j.keys.Load() == nil {
		return errors.New("no key for tokens was read yet")
	}
	return nil
}

// find gives the key a token names. One that is not known makes us read, and the
// request waits a moment for it.
func (j *jwks) find(ctx context.Context) jwt.Keyfunc {
	return func(t *jwt.Token) (any, error) {
		key, err := j.known(ctx, t)
		if err == nil {
			return key, nil
		}
		j.mu.Lock()
		round := j.round
		j.mu.Unlock()
		select {
		case j.wanted <- struct{}{}:
		default: // asked already
		}
		wait := time.NewTimer(unknownKeyWait)
		defer wait.Stop()
		select {
		case <-round:
		case <-wait.C:
		case <-ctx.Done():
		}
		return j.known(ctx, t)
	}
}

func (j *jwks) known(ctx context.Context, t *jwt.Token) (any, error) {
	keys := j.keys.Load()
	if keys == nil {
		return nil, j.Ready(ctx)
	}
	return keys.KeyfuncCtx(ctx)(t)
}

// keepReading reads when the time has come or somebody wants it, until ctx ends.
func (j *jwks) keepReading(ctx context.Context) {
	for {
		least, most := unknownKeyEvery, refreshEvery
		if j.keys.Load() == nil {
			least, most = firstKeysEvery, firstKeysEvery
		}
		rest := time.NewTimer(least)
		select {
		case <-rest.C:
		case <-ctx.Done():
			rest.Stop()
			return
		}
		rest.Reset(most - least)
		select {
		case <-rest.C:
		case <-j.wanted:
			rest.Stop()
		case <-ctx.Done():
			rest.Stop()
			return
		}
		j.read(ctx)
	}
}

// read reads the keys; what was read before stays when that fails. Tokens that were
// verified are forgotten only with the keys: who makes up unknown keys cannot make us
// verify the tokens of all others anew.
func (j *jwks) read(ctx context.Context) {
	keys, err := j.fetch(ctx)
	before := j.keys.Load()
	switch {
	case err != nil && ctx.Err() == nil:
		j.log.Warn("keys for tokens not read", "error", err)
	case err == nil && (before == nil || !bytes.Equal(before.text, keys.text)):
		j.keys.Store(keys)
		j.seen.forget()
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	close(j.round)
	j.round = make(chan struct{})
}

func (j *jwks) fetch(ctx context.Context) (*keySet, error) {
	ctx, cancel := context.WithTimeout(ctx, jwksTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, j.url, nil)
	if err != nil {
		return nil, fmt.Errorf("ask for the keys: %w", err)
	}
	answer, err := keysClient().Do(r)
	if err != nil {
		return nil, fmt.Errorf("ask for the keys: %w", err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("ask for the keys: status %d", answer.StatusCode)
	}
	raw, err := io.ReadAll(io.LimitReader(answer.Body, maxJWKS))
	if err != nil {
		return nil, fmt.Errorf("read the keys: %w", err)
	}
	return usableKeys(ctx, raw)
}

// errElsewhere: whoever may make the address lead on could otherwise have us ask what
// only this node reaches.
var errElsewhere = errors.New("the address leads on to another host, or out of TLS")

// keysClient follows where the address leads on only on its own host, and not out of TLS.
func keysClient() *http.Client {
	return &http.Client{CheckRedirect: func(next *http.Request, before []*http.Request) error {
		asked := before[0].URL
		if next.URL.Host != asked.Host || next.URL.Scheme != asked.Scheme || len(before) > 3 {
			return errElsewhere
		}
		return nil
	}}
}

var errNoKey = errors.New("no key in the answer can verify a token")

// usableKeys leaves out the keys of a set that verify no token of ours: one such key
// must not keep all others from being used. A set without any other is an error.
func usableKeys(ctx context.Context, raw []byte) (*keySet, error) {
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(raw, &set); err != nil {
		return nil, fmt.Errorf("understand the keys: %w", err)
	}
	set.Keys = slices.DeleteFunc(set.Keys, func(key json.RawMessage) bool { return !usable(ctx, key) })
	if len(set.Keys) == 0 {
		return nil, fmt.Errorf("understand the keys: %w", errNoKey)
	}
	kept, err := json.Marshal(set)
	if err != nil {
		return nil, fmt.Errorf("understand the keys: %w", err)
	}
	keys, err := keyfunc.NewJWKSetJSON(kept)
	if err != nil {
		return nil, fmt.Errorf("understand the keys: %w", err)
	}
	return &keySet{Keyfunc: keys, text: kept}, nil
}

// usable tells whether a key is one to verify tokens with: of a kind we know, long
// enough, and not said to be for anything else.
func usable(ctx context.Context, key json.RawMessage) bool {
	alone, err := keyfunc.NewJWKJSON(key)
	if err != nil {
		return false
	}
	all, err := alone.Storage().KeyReadAll(ctx)
	if err != nil || len(all) != 1 {
		return false
	}
	says := all[0].Marshal()
	if (says.USE != "" && says.USE != "sig") || (len(says.KEYOPS) > 0 && !slices.Contains(says.KEYOPS, "verify")) ||
		(says.ALG != "" && !slices.Contains(jwksMethods, says.ALG.String())) {
		return false
	}
	public := all[0].Key()
	if private, ok := public.(crypto.Signer); ok {
		public = private.Public()
	}
	switch k := public.(type) {
	case *rsa.PublicKey:
		return k.N.BitLen() >= minRSA
	case *ecdsa.PublicKey, ed25519.PublicKey:
		return true
	}
	return false
}
