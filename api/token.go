package api

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"seckill/domain"
)

// Caller is who a signed token says is asking.
type Caller struct {
	Buyer string
	Role  string
	Tier  string
}

// RoleAdmin is the role that may schedule and steer sales.
const RoleAdmin = "admin"

// Verifier tells who a bearer token was signed for.
type Verifier interface {
	// Verify gives the caller of a token. Any error means: not signed in.
	Verify(ctx context.Context, token string) (Caller, error)
}

// claims are what we read of a token.
type claims struct {
	Role string `json:"role,omitempty"`
	Tier string `json:"tier,omitempty"`
	jwt.RegisteredClaims
}

// tokens verifies with one way to find keys.
type tokens struct {
	parser *jwt.Parser
	keys   func(ctx context.Context) jwt.Keyfunc
	now    func() time.Time
	seen   seenTokens
}

// MinSecret is the number of bytes below which a secret could be guessed.
const MinSecret = 16

// SecretVerifier verifies tokens signed with a shared secret (HS256) of at least
// 16 bytes. Tokens without an expiry are refused.
func SecretVerifier(secret []byte, now func() time.Time) (Verifier, error) {
	if len(secret) < MinSecret {
		return nil, fmt.Errorf("the token secret has %d bytes; want at least %d", len(secret), MinSecret)
	}
	key := func(*jwt.Token) (any, error) { return secret, nil }
	return &tokens{
		parser: parser(now, "HS256"), now: now,
		keys: func(context.Context) jwt.Keyfunc { return key },
	}, nil
}

func parser(now func() time.Time, methods ...string) *jwt.Parser {
	return jwt.NewParser(jwt.WithValidMethods(methods), jwt.WithExpirationRequired(), jwt.WithTimeFunc(now))
}

var errBuyer = errors.New("the token's sub cannot name a buyer")

// Verify checks signature, algorithm, times and sub. A token that was verified
// before by the same keys is only looked at for its expiry.
func (t *tokens) Verify(ctx context.Context, token string) (Caller, error) {
	digest := tokenDigest(sha256.Sum256([]byte(token)))
	caller, keys, ok := t.seen.get(digest, t.now())
	if ok {
		return caller, nil
	}
	var c claims
	if _, err := t.parser.ParseWithClaims(token, &c, t.keys(ctx)); err != nil {
		return Caller{}, fmt.Errorf("verify token: %w", err)
	}
	if !domain.ValidBuyer(c.Subject) {
		return Caller{}, errBuyer
	}
	caller = Caller{Buyer: c.Subject, Role: c.Role, Tier: c.Tier}
	t.seen.put(digest, keys, seenToken{caller: caller, until: c.ExpiresAt.Time})
	return caller, nil
}

// SignToken signs a token for a buyer that SecretVerifier accepts for ttl from
// now. It is meant for the command line, demos and tests.
func SignToken(secret []byte, buyer, role, tier string, ttl time.Duration) (string, error) {
	if len(secret) < MinSecret || !domain.ValidBuyer(buyer) || ttl <= 0 {
		return "", fmt.Errorf("sign a token: want a secret of at least %d bytes, a buyer id and a time to live", MinSecret)
	}
	now := time.Now()
	c := claims{Role: role, Tier: tier, RegisteredClaims: jwt.RegisteredClaims{
		Subject: buyer, IssuedAt: jwt.NewNumericDate(now), ExpiresAt: jwt.NewNumericDate(now.Add(ttl)),
	}}
	signed, err := jwt.NewWithClaims(jwt.SigningMethodHS256, c).SignedString(secret)
	if err != nil {
		return "", fmt.Errorf("sign a token: %w", err)
	}
	return signed, nil
}

// bearer takes the token out of an Authorization header; the scheme is read in
// any case.
func bearer(header string) (string, bool) {
	const scheme = "bearer "
	if len(header) <= len(scheme) || !strings.EqualFold(header[:len(scheme)], scheme) {
		return "", false
	}
	token := strings.TrimSpace(header[len(scheme):])
	return token, token != ""
}
