package api

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

func b64(raw []byte) string { return base64.RawURLEncoding.EncodeToString(raw) }

// rsaKey makes a key and its JWK without closing brace.
func rsaKey(t testing.TB, bits int, kid string) (*rsa.PrivateKey, string) {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, bits)
	if err != nil {
		t.Fatal(err)
	}
	return key, fmt.Sprintf(`{"kty":"RSA","kid":%q,"n":%q,"e":%q`, kid, b64(key.N.Bytes()), b64(big.NewInt(int64(key.E)).Bytes()))
}

// edKey makes a key and its JWK without closing brace.
func edKey(t testing.TB, kid string) (ed25519.PrivateKey, string) {
	t.Helper()
	public, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key, fmt.Sprintf(`{"kty":"OKP","crv":"Ed25519","kid":%q,"x":%q`, kid, b64(public))
}

func ofKey(t *testing.T, method jwt.SigningMethod, kid string, key any, more jwt.MapClaims) string {
	t.Helper()
	claims := jwt.MapClaims{"sub": "b", "exp": time.Now().Add(time.Hour).Unix()}
	for name, value := range more {
		claims[name] = value
	}
	return withHeader(t, jwt.NewWithClaims(method, claims), key, "kid", kid)
}

// answering serves what it is told to.
func answering(t *testing.T, text string) (url string, say func(string)) {
	t.Helper()
	var now atomic.Value
	now.Store(text)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, now.Load()) }))
	t.Cleanup(s.Close)
	return s.URL, func(text string) { now.Store(text) }
}

func TestKeysThatAreNotForSignaturesOrTooShortSignNobodyIn(t *testing.T) {
	t.Parallel()
	good, goodJWK := rsaKey(t, 2048, "good")
	short, shortJWK := rsaKey(t, 1024, "short")
	curve, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	point, err := curve.PublicKey.Bytes() // 4, x, y
	if err != nil {
		t.Fatal(err)
	}
	curveJWK := fmt.Sprintf(`{"kty":"EC","crv":"P-256","kid":"curve","x":%q,"y":%q`, b64(point[1:33]), b64(point[33:]))
	url, _ := answering(t, `{"keys":[`+strings.Join([]string{
		goodJWK + `}`, shortJWK + `}`, curveJWK + `}`,
		strings.Replace(goodJWK, "good", "sig", 1) + `,"use":"sig","alg":"RS256","key_ops":["verify"]}`,
		strings.Replace(goodJWK, "good", "enc", 1) + `,"use":"enc"}`,
		strings.Replace(goodJWK, "good", "wrap", 1) + `,"key_ops":["wrapKey"]}`,
		strings.Replace(goodJWK, "good", "oaep", 1) + `,"alg":"RSA-OAEP"}`,
		`{"kty":"oct","kid":"shared","k":"` + b64(testSecret) + `"}`,
	}, ",")+`]}`)
	v, err := JWKSVerifier(t.Context(), JWKS{URL: url}, slog.New(slog.DiscardHandler), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	for kid, want := range map[string]bool{"good": true, "sig": true, "curve": true, "short": false, "enc": false, "wrap": false, "oaep": false, "shared": false} {
		token := func() string {
			switch kid {
			case "short":
				return ofKey(t, jwt.SigningMethodRS256, kid, short, nil)
			case "curve":
				return ofKey(t, jwt.SigningMethodES256, kid, curve, nil)
			case "shared":
				return ofKey(t, jwt.SigningMethodHS256, kid, testSecret, nil)
			}
			return ofKey(t, jwt.SigningMethodRS256, kid, good, nil)
		}()
		if _, err := v.Verify(t.Context(), token); (err == nil) != want {
			t.Errorf("a token of the key %s: got %v; want that it signs in: %t", kid, err, want)
		}
	}
	// Without a kid every key that is left is tried.
	bare := jwt.NewWithClaims(jwt.SigningMethodRS256, jwt.MapClaims{"sub": "b", "exp": time.Now().Add(time.Hour).Unix()})
	for key, want := range map[*rsa.PrivateKey]bool{good: true, short: false} {
		text, err := bare.SignedString(key)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := v.Verify(t.Context(), text); (err == nil) != want {
			t.Errorf("a token without a kid: got %v; want that it signs in: %t", err, want)
		}
	}
}

func TestAnAnswerWithoutAUsableKeyTakesNoKeyAway(t *testing.T) {
	t.Parallel()
	key, jwk := edKey(t, "k1")
	_, short := rsaKey(t, 1024, "short")
	var log logBuffer
	url, say := answering(t, `{"keys":[`+jwk+`}]}`)
	v, err := JWKSVerifier(t.Context(), JWKS{URL: url}, slog.New(slog.NewTextHandler(&log, nil)), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	j := v.(*jwks)
	for i, answer := range []string{`{"keys":[]}`, `{"error":"maintenance"}`, `{"keys":null}`, `null`, `[]`, ``, `<html>`, `{"keys":[` + short + `}]}`, `{"keys":[` + jwk + `,"use":"enc"}]}`} {
		say(answer)
		j.read(t.Context())
		fresh := ofKey(t, jwt.SigningMethodEdDSA, "k1", key, jwt.MapClaims{"jti": fmt.Sprint(i)}) // never seen before
		if _, err := v.Verify(t.Context(), fresh); err != nil {
			t.Errorf("after the answer %q: %v", answer, err)
		}
		if got := strings.Count(log.String(), "level=WARN"); got != i+1 {
			t.Errorf("after the answer %q: got %d warnings, want %d", answer, got, i+1)
		}
	}
}

func TestKeysThatWereNeverUsableAreNoKeys(t *testing.T) {
	t.Parallel()
	url, _ := answering(t, `{"keys":[]}`)
	v, err := JWKSVerifier(t.Context(), JWKS{URL: url}, slog.New(slog.DiscardHandler), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	if err := v.(interface{ Ready(context.Context) error }).Ready(t.Context()); err == nil {
		t.Error("it is ready with a set of no keys")
	}
}

func TestATokenThatWasSeenIsForgottenOnlyWhereTheKeysChange(t *testing.T) {
	t.Parallel()
	key, jwk := edKey(t, "k1")
	_, other := edKey(t, "k2")
	url, say := answering(t, `{"keys":[`+jwk+`}]}`)
	v, err := JWKSVerifier(t.Context(), JWKS{URL: url}, slog.New(slog.DiscardHandler), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	j, token := v.(*jwks), ofKey(t, jwt.SigningMethodEdDSA, "k1", key, nil)
	if _, err := v.Verify(t.Context(), token); err != nil {
		t.Fatal(err)
	}
	j.read(t.Context())
	if len(j.seen.young) != 1 {
		t.Error("the same keys were read again, and a token that was seen is forgotten")
	}
	say(`{"keys":[` + other + `}]}`)
	j.read(t.Context())
	if _, err := v.Verify(t.Context(), token); err == nil {
		t.Error("a token of a key that went still passes")
	}
}

func TestWhereAnIssuerAndAnAudienceAreNamedATokenMustHaveThem(t *testing.T) {
	t.Parallel()
	key, jwk := edKey(t, "k1")
	url, _ := answering(t, `{"keys":[`+jwk+`}]}`)
	v, err := JWKSVerifier(t.Context(), JWKS{URL: url, Issuer: "https://issuer", Audience: "shop"}, slog.New(slog.DiscardHandler), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		claims jwt.MapClaims
		want   error
	}{
		"both":             {jwt.MapClaims{"iss": "https://issuer", "aud": "shop"}, nil},
		"one of several":   {jwt.MapClaims{"iss": "https://issuer", "aud": []string{"bank", "shop"}}, nil},
		"no iss":           {jwt.MapClaims{"aud": "shop"}, jwt.ErrTokenRequiredClaimMissing},
		"no aud":           {jwt.MapClaims{"iss": "https://issuer"}, jwt.ErrTokenRequiredClaimMissing},
		"another iss":      {jwt.MapClaims{"iss": "https://issuer/", "aud": "shop"}, jwt.ErrTokenInvalidIssuer},
		"another aud":      {jwt.MapClaims{"iss": "https://issuer", "aud": []string{"bank"}}, jwt.ErrTokenInvalidAudience},
		"neither":          {nil, jwt.ErrTokenRequiredClaimMissing},
		"names of capital": {jwt.MapClaims{"Iss": "https://issuer", "Aud": "shop"}, jwt.ErrTokenRequiredClaimMissing},
	} {
		if _, err := v.Verify(t.Context(), ofKey(t, jwt.SigningMethodEdDSA, "k1", key, c.claims)); !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", name, err, c.want)
		}
	}
}

// Whoever may make the address lead on must not have this node ask what only it reaches.
func TestAnAddressOfKeysThatLeadsToAnotherHostIsNotFollowed(t *testing.T) {
	_, jwk := edKey(t, "k1")
	var asked atomic.Int64
	inner := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		fmt.Fprint(w, `{"keys":[`+jwk+`}]}`)
	}))
	defer inner.Close()
	issuer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/away":
			http.Redirect(w, r, inner.URL+"/keys", http.StatusFound)
		case "/here":
			http.Redirect(w, r, "/keys", http.StatusFound)
		case "/round":
			http.Redirect(w, r, "/round", http.StatusFound)
		default:
			fmt.Fprint(w, `{"keys":[`+jwk+`}]}`)
		}
	}))
	defer issuer.Close()
	for path, want := range map[string]bool{"/keys": true, "/here": true, "/away": false, "/round": false} {
		v, err := JWKSVerifier(t.Context(), JWKS{URL: issuer.URL + path}, slog.New(slog.DiscardHandler), time.Now)
		if err != nil {
			t.Fatal(err)
		}
		if err := v.(*jwks).Ready(t.Context()); (err == nil) != want {
			t.Errorf("%s: got %v; want that its keys are read: %t", path, err, want)
		}
	}
	if n := asked.Load(); n != 0 {
		t.Errorf("the other host was asked %d times, want never", n)
	}
}
