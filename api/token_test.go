package api

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"seckill/domain"
)

func signed(t *testing.T, method jwt.SigningMethod, key any, claims jwt.MapClaims) string {
	t.Helper()
	s, err := jwt.NewWithClaims(method, claims).SignedString(key)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestOnlyATokenOfOursThatIsStillGoodSignsIn(t *testing.T) {
	h := newHouse(t, nil)
	soon := time.Now().Add(time.Hour).Unix()
	hs := jwt.SigningMethodHS256
	good := signed(t, hs, testSecret, jwt.MapClaims{"sub": "b", "exp": soon})
	if got := h.buy(oneShoe, "Authorization", "bearer "+good); got.Status != http.StatusAccepted {
		t.Fatalf("got status %d for a good token, want 202\n%s", got.Status, got.Body)
	}
	for name, header := range map[string]string{
		"nothing":               "",
		"another scheme":        "Basic " + good,
		"no scheme":             good,
		"no token":              "Bearer ",
		"nonsense":              "Bearer nonsense",
		"another secret":        "Bearer " + signed(t, hs, []byte("another secret, quite long"), jwt.MapClaims{"sub": "b", "exp": soon}),
		"over":                  "Bearer " + signed(t, hs, testSecret, jwt.MapClaims{"sub": "b", "exp": time.Now().Add(-time.Second).Unix()}),
		"no exp":                "Bearer " + signed(t, hs, testSecret, jwt.MapClaims{"sub": "b"}),
		"not yet":               "Bearer " + signed(t, hs, testSecret, jwt.MapClaims{"sub": "b", "exp": soon, "nbf": time.Now().Add(time.Minute).Unix()}),
		"no sub":                "Bearer " + signed(t, hs, testSecret, jwt.MapClaims{"exp": soon}),
		"a sub that is none":    "Bearer " + signed(t, hs, testSecret, jwt.MapClaims{"sub": "with space", "exp": soon}),
		"a sub too long":        "Bearer " + signed(t, hs, testSecret, jwt.MapClaims{"sub": strings.Repeat("b", 129), "exp": soon}),
		"a sub of a number":     "Bearer " + signed(t, hs, testSecret, jwt.MapClaims{"sub": 7, "exp": soon}),
		"another algorithm":     "Bearer " + signed(t, jwt.SigningMethodHS512, testSecret, jwt.MapClaims{"sub": "b", "exp": soon}),
		"no algorithm":          "Bearer " + signed(t, jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, jwt.MapClaims{"sub": "b", "exp": soon}),
		"changed after signing": "Bearer " + changed(good),
		"a loose last letter":   "Bearer " + loose(good),
		"sub in capitals":       "Bearer " + signed(t, hs, testSecret, jwt.MapClaims{"Sub": "b", "SUB": "b", "exp": soon}),
		"exp in capitals":       "Bearer " + signed(t, hs, testSecret, jwt.MapClaims{"sub": "b", "Exp": soon}),
		"an extension we must understand": "Bearer " + withHeader(t, jwt.NewWithClaims(hs, jwt.MapClaims{"sub": "b", "exp": soon}),
			testSecret, "crit", []string{"b64"}),
	} {
		t.Run(name, func(t *testing.T) {
			got := h.buy(oneShoe, "Authorization", header)
			got.t = t
			got.problem(401, domain.CodeUnauthenticated)
			if got.Header.Get("WWW-Authenticate") == "" {
				t.Error("WWW-Authenticate is missing")
			}
		})
	}
}

// changed is a token with another signature.
func changed(token string) string {
	at, other := len(token)-2, "A"
	if token[at] == other[0] {
		other = "B"
	}
	return token[:at] + other + token[at+1:]
}

// loose gives a token the bits at its end that a lenient reader ignores.
func loose(token string) string {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	last := strings.IndexByte(letters, token[len(token)-1])
	return token[:len(token)-1] + letters[last^1:][:1]
}

func withHeader(t *testing.T, token *jwt.Token, key any, name string, value any) string {
	t.Helper()
	token.Header[name] = value
	text, err := token.SignedString(key)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestARoleInCapitalsIsNoRole(t *testing.T) {
	v, err := SecretVerifier(testSecret, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	token := signed(t, jwt.SigningMethodHS256, testSecret, jwt.MapClaims{"sub": "b", "Sub": "c", "Role": "admin", "TIER": "gold", "exp": time.Now().Add(time.Hour).Unix()})
	if got, err := v.Verify(t.Context(), token); err != nil || got != (Caller{Buyer: "b"}) {
		t.Errorf("got %+v, %v; want b, and neither role nor tier", got, err)
	}
}

func TestAGoodTokenWhoseSubNamesNoBuyerIsToldSo(t *testing.T) {
	h := newHouse(t, nil)
	for language, want := range map[string]string{"en": wantSub, "zh": "此令牌的 sub 不能作为买家标识：应为 1 至 128 个可见 ASCII 字符。"} {
		for secret, told := range map[string]bool{string(testSecret): true, "another secret, quite long": false} {
			token := signed(t, jwt.SigningMethodHS256, []byte(secret), jwt.MapClaims{"sub": "with space", "exp": time.Now().Add(time.Hour).Unix()})
			doc := h.buy(oneShoe, "Authorization", "Bearer "+token, "Accept-Language", language).problem(401, domain.CodeUnauthenticated)
			if (doc["detail"] == want) != told {
				t.Errorf("got %q in %s; whether it is told of its sub: want %t", doc["detail"], language, told)
			}
		}
	}
}

func TestAHeaderThatSaysWhoMayBuyIsReadOnceOnly(t *testing.T) {
	h := newHouse(t, nil)
	good := "Bearer " + tokenOf(t, "b", "")
	for name, c := range map[string]struct {
		header http.Header
		status int
	}{
		"one token":    {http.Header{"Authorization": {good}}, http.StatusAccepted},
		"two tokens":   {http.Header{"Authorization": {good, "Bearer " + tokenOf(t, "c", "")}}, http.StatusUnauthorized},
		"one twice":    {http.Header{"Authorization": {good, good}}, http.StatusUnauthorized},
		"an empty one": {http.Header{"Authorization": {good, ""}}, http.StatusUnauthorized},
		"two tickets":  {http.Header{"Authorization": {good}, headerTicket: {"a", "a"}}, http.StatusUnprocessableEntity},
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, h.url+"/api/v1/sales/"+testSale+"/purchases", strings.NewReader(oneShoe))
		if err != nil {
			t.Fatal(err)
		}
		r.Header = c.header
		r.Header.Set("Content-Type", "application/json")
		got, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		got.Body.Close()
		if got.StatusCode != c.status {
			t.Errorf("%s: got status %d, want %d", name, got.StatusCode, c.status)
		}
	}
}

func TestOnlyAdminsSteerSales(t *testing.T) {
	h := newHouse(t, nil)
	for _, path := range []string{"", "/" + testSale + "/close", "/" + testSale + "/pause", "/" + testSale + "/resume"} {
		h.ask(http.MethodPost, "/api/v1/admin/sales"+path, `{}`).problem(403, domain.CodeForbidden)
		h.ask(http.MethodPost, "/api/v1/admin/sales"+path, `{}`, "Authorization", "").problem(401, domain.CodeUnauthenticated)
	}
	if len(h.operator.did) != 0 {
		t.Errorf("the operator did %v, want nothing", h.operator.did)
	}
}

func TestASecretThatCouldBeGuessedIsRefused(t *testing.T) {
	if _, err := SecretVerifier([]byte("short"), time.Now); err == nil {
		t.Error("a secret of 5 bytes was taken")
	}
	for want, sign := range map[string]func() (string, error){
		"secret":       func() (string, error) { return SignToken([]byte("short"), "b", "", "", time.Hour) },
		`buyer "a b"`:  func() (string, error) { return SignToken(testSecret, "a b", "", "", time.Hour) },
		"time to live": func() (string, error) { return SignToken(testSecret, "b", "", "", -time.Second) },
	} {
		if _, err := sign(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v; want an error that names the %s", err, want)
		}
	}
	if _, err := SignToken([]byte("short"), "b", "", "", time.Hour); err == nil {
		t.Error("a token was signed with a secret of 5 bytes")
	}
}

// jwks serves one public key under a name.
func jwksServer(t *testing.T, name string, key ed25519.PublicKey, slow <-chan struct{}) *httptest.Server {
	t.Helper()
	var asked atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1) > 1 && slow != nil {
			select {
			case <-slow:
			case <-r.Context().Done():
			}
			return
		}
		fmt.Fprintf(w, `{"keys":[{"kty":"of the future","kid":"k0"},{"kty":"OKP","crv":"Ed25519","alg":"EdDSA","kid":%q,"x":%q}]}`, name, base64.RawURLEncoding.EncodeToString(key))
	}))
	t.Cleanup(s.Close)
	return s
}

func TestATokenSignedWithAKeyOfTheJWKSSignsIn(t *testing.T) {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	v, err := JWKSVerifier(t.Context(), JWKS{URL: jwksServer(t, "k1", public, nil).URL}, slog.New(slog.DiscardHandler), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	token := func(method jwt.SigningMethod, kid string, key any) string {
		tok := jwt.NewWithClaims(method, jwt.MapClaims{"sub": "b", "role": "admin", "tier": "gold", "exp": time.Now().Add(time.Hour).Unix()})
		tok.Header["kid"] = kid
		s, err := tok.SignedString(key)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	got, err := v.Verify(t.Context(), token(jwt.SigningMethodEdDSA, "k1", private))
	if want := (Caller{Buyer: "b", Role: "admin", Tier: "gold"}); err != nil || got != want {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
	// The public key is no secret: a token signed with it as one must not pass.
	if _, err := v.Verify(t.Context(), token(jwt.SigningMethodHS256, "k1", []byte(public))); err == nil {
		t.Error("a token signed with the public key as a shared secret passed")
	}
	if _, err := v.Verify(t.Context(), token(jwt.SigningMethodEdDSA, "k2", private)); err == nil {
		t.Error("a token of an unknown key passed")
	}
}

func TestAnUnknownKeyHoldsNoRequestLong(t *testing.T) {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	never := make(chan struct{})
	defer close(never)
	v, err := JWKSVerifier(ctx, JWKS{URL: jwksServer(t, "k1", public, never).URL}, slog.New(slog.DiscardHandler), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	tok := jwt.NewWithClaims(jwt.SigningMethodEdDSA, jwt.MapClaims{"sub": "b", "exp": time.Now().Add(time.Hour).Unix()})
	tok.Header["kid"] = "k2"
	text, err := tok.SignedString(private)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		start := time.Now()
		if _, err := v.Verify(ctx, text); err == nil {
			t.Error("a token of an unknown key passed")
		}
		if took := time.Since(start); took > 3*time.Second {
			t.Errorf("it took %s, want about 100 ms (a minute is the library's own bound)", took)
		}
	}
}

func TestAVerifierWhoseKeysWereNeverReadIsNotReady(t *testing.T) {
	t.Parallel()
	public, _, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	var there atomic.Bool
	keys := jwksServer(t, "k1", public, nil)
	behind, err := url.Parse(keys.URL)
	if err != nil {
		t.Fatal(err)
	}
	through := httputil.NewSingleHostReverseProxy(behind)
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !there.Load() {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		through.ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	v, err := JWKSVerifier(t.Context(), JWKS{URL: front.URL}, slog.New(slog.DiscardHandler), time.Now)
	if err != nil {
		t.Fatalf("while the address is away: %v, want a verifier", err)
	}
	ready := v.(interface{ Ready(context.Context) error }).Ready
	if err := ready(t.Context()); err == nil {
		t.Error("it is ready although no key was read")
	}
	there.Store(true)
	deadline := time.Now().Add(time.Minute)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for err := ready(t.Context()); err != nil; err = ready(t.Context()) {
		if <-tick.C; time.Now().After(deadline) {
			t.Fatalf("the keys are there, and still: %v", err)
		}
	}
}
