package api

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"seckill/domain"
)

// FuzzToken: whatever header and claims say, only what our secret signed, with our
// algorithm and a time to come, signs in, and as who it says.
func FuzzToken(f *testing.F) {
	const hs256, good = `{"alg":"HS256","typ":"JWT"}`, `{"sub":"b","role":"admin","exp":4102444800}`
	for _, header := range []string{
		hs256, `{"alg":"none"}`, `{"alg":"HS512"}`, `{"alg":"hs256"}`, `{"alg":["HS256"]}`, `{"alg":"HS256","crit":["b64"]}`, `{"alg":"HS256","kid":"../../secret","jku":"http://h/","jwk":{"kty":"oct","k":"AA"}}`,
	} {
		f.Add([]byte(header), []byte(good), uint8(2))
		f.Add([]byte(header), []byte(good), uint8(0))
	}
	for _, claims := range []string{
		`{"sub":"b","exp":1e300}`, `{"sub":"b","exp":-1e300}`, `{"sub":"b","exp":"4102444800"}`, `{"sub":"b","exp":9.3e18}`, `{"sub":"b","exp":4102444800,"nbf":4102444799}`,
		`{"Sub":"b","exp":4102444800}`, `{"sub":"a","sub":"b","exp":4102444800}`, `{"sub":"b","exp":4102444800,"exp":1}`, `{"sub":"ｂ","exp":4102444800}`, `null`, `[]`,
	} {
		f.Add([]byte(hs256), []byte(claims), uint8(2))
	}
	v, err := SecretVerifier(testSecret, time.Now)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, header, claims []byte, by uint8) {
		text := base64.RawURLEncoding.EncodeToString(header) + "." + base64.RawURLEncoding.EncodeToString(claims)
		secret := [][]byte{nil, []byte("another secret, quite long"), testSecret}[by%3]
		mac := hmac.New(sha256.New, secret)
		mac.Write([]byte(text))
		caller, err := v.Verify(t.Context(), text+"."+base64.RawURLEncoding.EncodeToString(mac.Sum(nil)))
		if err != nil {
			return
		}
		var h, c map[string]any
		if json.Unmarshal(header, &h) != nil || json.Unmarshal(claims, &c) != nil || h["alg"] != "HS256" || h["crit"] != nil || by%3 != 2 {
			t.Fatalf("%s %s signed by %d signs in as %+v", header, claims, by%3, caller)
		}
		// The reader of tokens takes a number in quotes for the number.
		exp, err := strconv.ParseFloat(fmt.Sprint(c["exp"]), 64)
		if err != nil || exp < float64(time.Now().Unix()) || !domain.ValidBuyer(caller.Buyer) {
			t.Errorf("%s signs in as %+v", claims, caller)
		}
		for name, got := range map[string]string{"sub": caller.Buyer, "role": caller.Role, "tier": caller.Tier} {
			if says, ok := c[name].(string); ok && says != got {
				t.Errorf("%s: %s is %q, got %q", claims, name, says, got)
			}
		}
	})
}

// FuzzKeys: of whatever an issuer answers, only keys are taken that can verify, and
// verifying with them refuses nonsense without a panic.
func FuzzKeys(f *testing.F) {
	_, ed := edKey(f, "k")
	_, long := rsaKey(f, 2048, "r")
	f.Add([]byte(`{"keys":[` + ed + `},` + long + `}]}`))
	f.Add([]byte(`{"keys":[{"kty":"OKP","crv":"Ed25519","kid":"short","x":"AAAA"}]}`))
	f.Add([]byte(`{"keys":[{"kty":"EC","crv":"P-256","kid":"off the curve","x":"AAAA","y":"AAAA"}]}`))
	f.Add([]byte(`{"keys":[{"kty":"RSA","kid":"zero","n":"AA","e":"AA"},{"kty":"oct","k":"AAAA"},null,7]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		set, err := usableKeys(t.Context(), raw)
		if err != nil {
			return
		}
		all, err := set.Storage().KeyReadAll(t.Context())
		if err != nil || len(all) == 0 {
			t.Fatalf("%s is a set of %d keys, %v", raw, len(all), err)
		}
		for _, k := range all {
			refusesNonsense(t, k.Key())
		}
	})
}

func refusesNonsense(t *testing.T, key any) {
	t.Helper()
	var methods []jwt.SigningMethod
	switch k := key.(type) {
	case *rsa.PublicKey:
		if k.N.BitLen() < minRSA {
			t.Errorf("an RSA key of %d bits is taken", k.N.BitLen())
		}
		methods = []jwt.SigningMethod{jwt.SigningMethodRS256, jwt.SigningMethodPS512}
	case *ecdsa.PublicKey:
		methods = []jwt.SigningMethod{jwt.SigningMethodES256, jwt.SigningMethodES512}
	case ed25519.PublicKey:
		methods = []jwt.SigningMethod{jwt.SigningMethodEdDSA}
	default:
		return // a private key: its public half is a key that is handed out anyhow
	}
	for _, m := range methods {
		if m.Verify("a.b", bytes.Repeat([]byte{1}, 64), key) == nil {
			t.Errorf("%s takes nonsense for a signature", m.Alg())
		}
	}
}

// FuzzMemberLines: what is read as the buyer of a line, encoding/json reads too.
func FuzzMemberLines(f *testing.F) {
	f.Add([]byte("\"a\"\n{\"buyer_id\":\"b\"}\r\n"))
	f.Add([]byte("{\"buyer_id\":\"b\",\"buyer_id\":\"c\"}\n{\"BUYER_ID\":\"d\"}"))
	f.Add([]byte("\"\\u0061\"\n\n \"x\" "))
	f.Fuzz(func(t *testing.T, body []byte) {
		lines := newMemberLines(bytes.NewReader(body))
		texts := bytes.Split(body, []byte("\n"))
		for n := 0; ; n++ {
			buyer, err := lines.next()
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				if r := (*refusal)(nil); !errors.As(err, &r) || r.Code != domain.CodeInvalidRequest {
					t.Errorf("line %d of %q: %v, want invalid_request", n+1, body, err)
				}
				return
			}
			var want string
			var object map[string]string
			if json.Unmarshal(texts[n], &want) != nil {
				if err := json.Unmarshal(texts[n], &object); err != nil || len(object) != 1 {
					t.Fatalf("line %d of %q was read as %q, but: %v, %v", n+1, body, buyer, object, err)
				}
				want = object["buyer_id"]
			}
			if buyer != want || !domain.ValidBuyer(buyer) {
				t.Errorf("line %d of %q was read as %q, want %q", n+1, body, buyer, want)
			}
		}
	})
}

var wholeKey = regexp.MustCompile(`^[!-~]{1,255}\z`)

// FuzzSmallTexts: idempotency keys, waits and bearer tokens are what their documents
// say and nothing else.
func FuzzSmallTexts(f *testing.F) {
	for _, text := range []string{"k", "ключ", "a b", "5s", "30s", "30.000000001s", "-1ns", "1h", "Bearer x", "bearer  ", "\x7f", "ＡＢＣ", strings.Repeat("x", 256)} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := idempotencyKey(http.Header{headerKey: {text}}); (err == nil) != wholeKey.MatchString(text) {
			t.Errorf("key %q: %v", text, err)
		}
		if wait, err := readWait(text); err == nil {
			if again, err := readWait(wait.String()); err != nil || again != wait || wait < 0 || wait > 30*time.Second {
				t.Errorf("wait %q is %s, and then %s, %v", text, wait, again, err)
			}
		}
		if token, ok := bearer(http.Header{"Authorization": {text}}); ok && (token == "" || strings.TrimSpace(token) != token || !strings.HasSuffix(strings.TrimSpace(text), token)) {
			t.Errorf("%q holds the token %q", text, token)
		}
	})
}

// FuzzNesting: the depth that is counted is the one that a decoder meets, and what is
// no deeper is walked to its end.
func FuzzNesting(f *testing.F) {
	for _, text := range []string{`{"a":[1,{"b":"]}"}]}`, `[[[]]]`, `"["`, `{"a":"\\\"["}`, `1`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if validJSON(text) != nil {
			return
		}
		depth, deepest := 0, 0
		for d := json.NewDecoder(bytes.NewReader(text)); ; {
			token, err := d.Token()
			if err != nil {
				break
			}
			switch token {
			case json.Delim('{'), json.Delim('['):
				depth++
				deepest = max(deepest, depth)
			case json.Delim('}'), json.Delim(']'):
				depth--
			}
		}
		if got := nesting(skipSpace(text)); got != deepest {
			t.Errorf("%s: got depth %d, want %d", text, got, deepest)
		}
		if deepest <= maxNesting {
			checkJSON("", skipSpace(text), nil)
		}
	})
}
