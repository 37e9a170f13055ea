package api

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/golang-jwt/jwt/v5"
	"github.com/labstack/echo/v4"

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
	// Verify gives the caller of a token. Any error means: not signed in; ErrBuyer
	// that the token itself is good.
	Verify(ctx context.Context, token string) (Caller, error)
}

// claims are what we read of a token.
type claims struct {
	Role string `json:"role,omitempty"`
	Tier string `json:"tier,omitempty"`
	jwt.RegisteredClaims
}

// claimNames are the names of claims that we read.
var claimNames = [...]string{"sub", "role", "tier", "iss", "aud", "exp", "nbf", "iat", "jti"}

// UnmarshalJSON reads claims by their exact names: Sub is another claim than sub,
// and none that we read.
func (c *claims) UnmarshalJSON(raw []byte) error {
	type plain claims
	if plainNames(raw) {
		return json.Unmarshal(raw, (*plain)(c))
	}
	var named map[string]json.RawMessage
	if err := json.Unmarshal(raw, &named); err != nil {
		return err
	}
	others := len(named)
	maps.DeleteFunc(named, func(name string, _ json.RawMessage) bool {
		return !slices.Contains(claimNames[:], name) &&
			slices.ContainsFunc(claimNames[:], func(ours string) bool { return strings.EqualFold(ours, name) })
	})
	if len(named) < others {
		var err error
		if raw, err = json.Marshal(named); err != nil {
			return err
		}
	}
	return json.Unmarshal(raw, (*plain)(c))
}

// plainNames tells that every name in a JSON object is of ASCII without capitals and
// escapes, as those of almost all tokens are: then none of them is ours in another case,
// and the object need not be read twice.
func plainNames(raw []byte) bool {
	inside, capital := false, false
	for i, b := range raw {
		switch {
		case b == '\\' || b >= utf8.RuneSelf:
			return false
		case b == '"':
			if inside = !inside; inside {
				capital = false
			} else if capital && bytes.HasPrefix(bytes.TrimLeft(raw[i+1:], " \t\r\n"), []byte(":")) {
				return false
			}
		case inside && 'A' <= b && b <= 'Z':
			capital = true
		}
	}
	return true
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
		parser: parser(now, []string{"HS256"}), now: now,
		keys: func(context.Context) jwt.Keyfunc { return key },
	}, nil
}

func parser(now func() time.Time, methods []string, more ...jwt.ParserOption) *jwt.Parser {
	return jwt.NewParser(append(more, jwt.WithValidMethods(methods), jwt.WithExpirationRequired(),
		jwt.WithStrictDecoding(), jwt.WithTimeFunc(now))...)
}

// ErrBuyer is the error of a token that is good and whose sub cannot name a buyer.
var ErrBuyer = errors.New("the token's sub cannot name a buyer")

// errCritical refuses a token as RFC 7515 wants it: we understand no extension.
var errCritical = errors.New("the token's header has crit")

// uncritical finds no key for a token that has to be understood in ways we do not know.
func uncritical(find jwt.Keyfunc) jwt.Keyfunc {
	return func(t *jwt.Token) (any, error) {
		if _, critical := t.Header["crit"]; critical {
			return nil, errCritical
		}
		return find(t)
	}
}

// Verify checks signature, algorithm, times and sub. A token that was verified
// before by the same keys is only looked at for its expiry.
func (t *tokens) Verify(ctx context.Context, token string) (Caller, error) {
	digest := tokenDigest(sha256.Sum256([]byte(token)))
	caller, keys, ok := t.seen.get(digest, t.now())
	if ok {
		return caller, nil
	}
	var c claims
	if _, err := t.parser.ParseWithClaims(token, &c, uncritical(t.keys(ctx))); err != nil {
		return Caller{}, fmt.Errorf("verify token: %w", err)
	}
	if !domain.ValidBuyer(c.Subject) {
		return Caller{}, ErrBuyer
	}
	caller = Caller{Buyer: c.Subject, Role: c.Role, Tier: c.Tier}
	t.seen.put(digest, keys, seenToken{caller: caller, until: c.ExpiresAt.Time})
	return caller, nil
}

// SignToken signs a token for a buyer that SecretVerifier accepts for ttl from
// now. It is meant for the command line, demos and tests.
func SignToken(secret []byte, buyer, role, tier string, ttl time.Duration) (string, error) {
	switch {
	case len(secret) < MinSecret:
		return "", fmt.Errorf("sign a token: want a secret of at least %d bytes", MinSecret)
	case !domain.ValidBuyer(buyer):
		return "", fmt.Errorf("sign a token: buyer %q: want 1 to 128 printable characters of ASCII without blanks", buyer)
	case ttl <= 0:
		return "", fmt.Errorf("sign a token: want a time to live above 0, not %s", ttl)
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

// bearer takes the token out of the one Authorization header: of several, whoever
// stands before us may have looked at another one. The scheme is read in any case.
func bearer(h http.Header) (string, bool) {
	const scheme = "bearer "
	values := h[echo.HeaderAuthorization]
	if len(values) != 1 {
		return "", false
	}
	header := values[0]
	if len(header) <= len(scheme) || !strings.EqualFold(header[:len(scheme)], scheme) {
		return "", false
	}
	token := strings.TrimSpace(header[len(scheme):])
	return token, token != ""
}
