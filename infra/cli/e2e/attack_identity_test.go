package e2e

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"seckill/infra/testenv"
)

// forged makes a token with a header of any kind, signed with HMAC by a key.
func forged(t *testing.T, header map[string]any, claims jwt.MapClaims, key []byte) string {
	t.Helper()
	part := func(v any) string {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return base64.RawURLEncoding.EncodeToString(text)
	}
	text := part(header) + "." + part(claims)
	if key == nil {
		return text + "."
	}
	mac, err := jwt.SigningMethodHS256.Sign(text, key)
	if err != nil {
		t.Fatal(err)
	}
	return text + "." + base64.RawURLEncoding.EncodeToString(mac)
}

// wantStranger wants a token to open nothing: neither a purchase nor anything of
// operators.
func (a *target) wantStranger(t *testing.T, what, token string) {
	t.Helper()
	for path, body := range map[string]any{"/api/v1/sales/" + a.sale + "/purchases": oneItem, "/api/v1/admin/sales/" + a.sale + "/close": map[string]any{}} {
		answer, err := a.Call(http.MethodPost, path, "", "", body, "Authorization", "Bearer "+token)
		if err != nil || answer.Status != http.StatusUnauthorized || answer.Text("code") != "unauthenticated" {
			t.Errorf("%s at %s: got %d %s, %v; want 401", what, path, answer.Status, answer.Raw, err)
		}
	}
}

// lure is a server whose address stands in forged tokens, and that counts who asks.
func lure(t *testing.T) (url string, asked *atomic.Int64) {
	t.Helper()
	asked = new(atomic.Int64)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		fmt.Fprintf(w, `{"keys":[{"kty":"oct","kid":"k","k":%q}]}`, base64.RawURLEncoding.EncodeToString([]byte("a key of the attacker's own")))
	}))
	t.Cleanup(s.Close)
	return s.URL, asked
}

func TestForgedTokensOpenNothing(t *testing.T) {
	t.Parallel()
	a := newTarget(t)
	url, asked := lure(t)
	secret, soon := []byte(TestSecret), time.Now().Add(time.Hour).Unix()
	admin := jwt.MapClaims{"sub": "mallory", "role": "admin", "exp": soon}
	hs := map[string]any{"alg": "HS256", "typ": "JWT"}
	own := []byte("a key of the attacker's own")
	good := forged(t, hs, jwt.MapClaims{"sub": "alice", "exp": soon}, secret)
	if answer, err := a.Call(http.MethodPost, "/api/v1/sales/"+a.sale+"/purchases", "", "", oneItem, "Authorization", "Bearer "+good); err != nil || answer.Status != http.StatusAccepted {
		t.Fatalf("a good token: %d %s %v", answer.Status, answer.Raw, err)
	}
	parts := strings.Split(good, ".")
	for what, token := range map[string]string{
		"no algorithm, no signature":        forged(t, map[string]any{"alg": "none"}, admin, nil),
		"no algorithm in odd letters":       forged(t, map[string]any{"alg": "nOnE"}, admin, nil),
		"no algorithm, signed":              forged(t, map[string]any{"alg": "none"}, admin, secret),
		"an empty algorithm":                forged(t, map[string]any{"alg": ""}, admin, secret),
		"a list of algorithms":              forged(t, map[string]any{"alg": []string{"HS256", "none"}}, admin, secret),
		"no signature":                      forged(t, hs, admin, nil),
		"an empty key":                      forged(t, hs, admin, []byte{}),
		"the secret's name for a key":       forged(t, hs, admin, []byte("SECKILL_JWT_SECRET")),
		"a kid that is a file":              forged(t, map[string]any{"alg": "HS256", "kid": "../../../../dev/null"}, admin, []byte{}),
		"a kid that is a statement":         forged(t, map[string]any{"alg": "HS256", "kid": "x' UNION SELECT 'k"}, admin, []byte("k")),
		"where to find the key":             forged(t, map[string]any{"alg": "HS256", "kid": "k", "jku": url, "x5u": url}, admin, own),
		"the key itself":                    forged(t, map[string]any{"alg": "HS256", "jwk": map[string]any{"kty": "oct", "k": base64.RawURLEncoding.EncodeToString(own)}}, admin, own),
		"over":                              forged(t, hs, jwt.MapClaims{"sub": "alice", "exp": time.Now().Add(-time.Minute).Unix()}, secret),
		"of the future":                     forged(t, hs, jwt.MapClaims{"sub": "alice", "exp": soon, "nbf": soon - 60}, secret),
		"without an end":                    forged(t, hs, jwt.MapClaims{"sub": "alice"}, secret),
		"an end before all time":            forged(t, hs, jwt.MapClaims{"sub": "alice", "exp": -1e300}, secret),
		"claims of one, signature of other": parts[0] + "." + base64.RawURLEncoding.EncodeToString([]byte(fmt.Sprintf(`{"sub":"alice","role":"admin","exp":%d}`, soon))) + "." + parts[2],
		"with padding":                      good + "=",
		"four parts":                        good + "." + parts[2],
		"a blank within":                    parts[0] + ". " + parts[1] + "." + parts[2],
	} {
		a.wantStranger(t, what, token)
	}
	if n := asked.Load(); n != 0 {
		t.Errorf("the address in a token was asked %d times, want never", n)
	}
}

func TestTheKeysOfAnIssuerAreNoSecretToSignWith(t *testing.T) {
	t.Parallel()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	b64 := base64.RawURLEncoding.EncodeToString
	set := fmt.Sprintf(`{"keys":[{"kty":"RSA","kid":"k","n":%q,"e":%q}]}`, b64(key.N.Bytes()), b64(big.NewInt(int64(key.E)).Bytes()))
	issuer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, set) }))
	defer issuer.Close()
	rig := NewRig(t)
	child := ServeRig(t, rig, "SECKILL_JWT_SECRET=", "SECKILL_JWKS_URL="+issuer.URL)
	a := &target{t: t, rig: rig, child: child, Client: NewClient(child.URL), sale: "00000001"}
	soon := time.Now().Add(time.Hour).Unix()
	signed := jwt.NewWithClaims(jwt.SigningMethodRS256, jwt.MapClaims{"sub": "boss", "role": "admin", "exp": soon})
	signed.Header["kid"] = "k"
	good, err := signed.SignedString(key)
	if err != nil {
		t.Fatal(err)
	}
	testenv.Eventually(t, 30*time.Second, func() error {
		answer, err := a.Call(http.MethodGet, "/api/v1/admin/switches", "", "", nil, "Authorization", "Bearer "+good)
		if err == nil && answer.Status != http.StatusOK {
			err = errStatus(answer)
		}
		return err
	})
	der := x509.MarshalPKCS1PublicKey(&key.PublicKey)
	pkix, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	url, asked := lure(t)
	admin := jwt.MapClaims{"sub": "mallory", "role": "admin", "exp": soon}
	for what, public := range map[string][]byte{
		"its modulus": key.N.Bytes(), "its DER": der, "its PKIX": pkix, "the set": []byte(set),
		"its PEM": pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: pkix}), "its old PEM": pem.EncodeToMemory(&pem.Block{Type: "RSA PUBLIC KEY", Bytes: der}),
	} {
		for _, alg := range []string{"HS256", "RS256", "none"} {
			a.wantStranger(t, what+" as a secret, by "+alg, forged(t, map[string]any{"alg": alg, "kid": "k"}, admin, public))
		}
	}
	other, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	for what, header := range map[string]map[string]any{
		"under the known name": {"kid": "k"}, "under another name": {"kid": "../k"}, "without a name": {}, "a name that is none": {"kid": []string{"k"}},
		"with where it is": {"kid": "m", "jku": url, "x5u": url}, "with itself": {"jwk": map[string]any{"kty": "RSA", "n": b64(other.N.Bytes()), "e": "AQAB"}},
	} {
		token := jwt.NewWithClaims(jwt.SigningMethodRS256, admin)
		for name, value := range header {
			token.Header[name] = value
		}
		text, err := token.SignedString(other)
		if err != nil {
			t.Fatal(err)
		}
		a.wantStranger(t, "a key of the attacker's own "+what, text)
	}
	if n := asked.Load(); n != 0 {
		t.Errorf("the address in a token was asked %d times, want never", n)
	}
}

func TestNoCallOfOperatorsAnswersABuyer(t *testing.T) {
	t.Parallel()
	a := newTarget(t)
	tried := 0
	for _, c := range a.calls(t) {
		if !strings.HasPrefix(c.path, "/api/v1/admin/") {
			continue
		}
		tried++
		for role, want := range map[string]int{"": 403, "buyer": 403, "Admin": 403, "ADMIN": 403, "admin ": 403, "administrator": 403, "operator": 403} {
			answer, err := a.Call(c.method, c.path, "alice", role, "{}")
			if err != nil || answer.Status != want || answer.Text("code") != "forbidden" {
				t.Errorf("%s %s with the role %q: got %d %s, %v; want %d", c.method, c.path, role, answer.Status, answer.Raw, err, want)
			}
		}
		if answer, err := a.Call(c.method, c.path, "", "", "{}"); err != nil || answer.Status != http.StatusUnauthorized {
			t.Errorf("%s %s without a token: got %d %s, %v; want 401", c.method, c.path, answer.Status, answer.Raw, err)
		}
	}
	if tried < 20 {
		t.Errorf("only %d calls of operators were tried", tried)
	}
	token := strings.TrimPrefix(bearerOf(t, "alice", ""), "Bearer ")
	for _, path := range []string{
		"//api/v1/admin/switches", "/api//v1/admin/switches", "/api/v1/./admin/switches", "/api/v1/sales/../admin/switches", "/api/v1/admin%2fswitches",
		"/API/v1/admin/switches", "/api/v1/admin/switches/", "/api/v1/admin/switches;x", "/api/v1/admin/switches%00", "/api/v1/orders/..%2fadmin%2fswitches",
	} {
		got := a.sends(t, "GET "+path+" HTTP/1.1\r\nHost: h\r\nConnection: close\r\nAuthorization: Bearer "+token+"\r\nX-Original-URL: /api/v1/admin/switches\r\nX-Rewrite-URL: /api/v1/admin/switches\r\nX-Role: admin\r\n\r\n")
		if len(got) != 1 || got[0].status < 400 && !(got[0].status/100 == 3 && strings.HasPrefix(got[0].header.Get("Location"), "/")) {
			t.Errorf("%s: got %+v, want it refused", path, got)
		}
	}
}

// Whatever somebody does with the id of an order that is not theirs, it is as if there
// were none.
func TestNobodyTouchesTheOrderOfAnother(t *testing.T) {
	t.Parallel()
	a := newTarget(t)
	bought, err := a.Buy(a.sale, "alice", "k")
	if err != nil || bought.Status != http.StatusAccepted {
		t.Fatalf("buy: %d %s %v", bought.Status, bought.Raw, err)
	}
	order := bought.Text("order_id")
	before := await(t, a.Client, "alice", order)
	change := func(i int, c byte) string { return order[:i] + string(c) + order[i+1:] }
	ids := []string{order, strings.ToUpper(order), order + "0", order[1:], change(len(order)-1, '0'), change(0, 'z'), change(10, 'u'), order + "%00", order + "%20", "..%2f" + order, "'%20or%201=1--", "0"}
	for _, id := range ids {
		for _, c := range [][2]string{{"GET", ""}, {"GET", "?wait=1s"}, {"GET", "/proof"}, {"POST", "/cancellation"}, {"POST", "/payment"}} {
			answer, err := a.Call(c[0], "/api/v1/orders/"+id+c[1], "mallory", "", nil)
			if err != nil || answer.Status != http.StatusNotFound || answer.Text("code") != "order_not_found" && answer.Text("code") != "not_found" {
				t.Errorf("%s %s%s by another: got %d %s, %v; want 404", c[0], id, c[1], answer.Status, answer.Raw, err)
			}
			for _, told := range []string{"alice", "19.90", "placed"} {
				if strings.Contains(answer.Raw, told) {
					t.Errorf("%s %s%s tells %q: %s", c[0], id, c[1], told, answer.Raw)
				}
			}
		}
	}
	if list, err := a.Call(http.MethodGet, "/api/v1/orders?sale="+a.sale+"&buyer=alice&buyer_id=alice&sub=alice", "mallory", "", nil); err != nil || strings.Contains(list.Raw, order) {
		t.Errorf("the orders of another: %s, %v", list.Raw, err)
	}
	if after, err := a.Order("alice", order, ""); err != nil || after.Text("status") != before.Text("status") || after.Body["version"] != before.Body["version"] {
		t.Errorf("the order was %s, and is %s, %v", before.Raw, after.Raw, err)
	}
	StandingChecks(t, a.rig.Node(t, NodeOptions{APIOnly: true}), a.sale, map[string]string{order: "alice"})
}
