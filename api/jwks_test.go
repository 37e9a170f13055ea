package api

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// issuer signs tokens and serves the public halves of the keys it shows.
type issuer struct {
	mu    sync.Mutex
	shown []string
	keys  map[string]ed25519.PrivateKey
	away  atomic.Bool
	reads atomic.Int64
}

func (i *issuer) show(kids ...string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.shown = kids
}

func (i *issuer) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	i.reads.Add(1)
	if i.away.Load() {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	var keys []string
	for _, kid := range i.shown {
		x := base64.RawURLEncoding.EncodeToString(i.keys[kid].Public().(ed25519.PublicKey))
		keys = append(keys, fmt.Sprintf(`{"kty":"OKP","crv":"Ed25519","alg":"EdDSA","kid":%q,"x":%q}`, kid, x))
	}
	fmt.Fprintf(w, `{"keys":[%s]}`, strings.Join(keys, ","))
}

func (i *issuer) token(t *testing.T, kid string) string {
	t.Helper()
	tok := jwt.NewWithClaims(jwt.SigningMethodEdDSA, jwt.MapClaims{"sub": "b", "exp": time.Now().Add(time.Hour).Unix()})
	tok.Header["kid"] = kid
	text, err := tok.SignedString(i.keys[kid])
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestKeysOfTheIssuerRotate(t *testing.T) {
	t.Parallel()
	i := &issuer{keys: map[string]ed25519.PrivateKey{}}
	for _, kid := range []string{"old", "new"} {
		_, key, err := ed25519.GenerateKey(rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		i.keys[kid] = key
	}
	i.show("old")
	server := httptest.NewServer(i)
	t.Cleanup(server.Close)
	v, err := JWKSVerifier(t.Context(), JWKS{URL: server.URL}, slog.New(slog.DiscardHandler), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	old, fresh := i.token(t, "old"), i.token(t, "new")
	signedIn := func(token string) bool {
		_, err := v.Verify(t.Context(), token)
		return err == nil
	}
	// A crowd of tokens of unknown keys makes us read once in two seconds, and not
	// at all right after a reading.
	var crowd sync.WaitGroup
	for range 20 {
		crowd.Go(func() {
			if signedIn(fresh) {
				t.Error("a token of a key that is not shown yet passed")
			}
		})
	}
	crowd.Wait()
	if n := i.reads.Load(); n != 1 {
		t.Errorf("the keys were read %d times, want once", n)
	}
	i.show("old", "new")
	awaitSignedIn(t, func() bool { return signedIn(fresh) })
	if !signedIn(old) {
		t.Error("the old key is still shown, and its token does not pass")
	}
	i.away.Store(true)
	i.keys["other"] = i.keys["old"] // of a key that is not shown: makes us read
	other, before := i.token(t, "other"), i.reads.Load()
	awaitSignedIn(t, func() bool { signedIn(other); return i.reads.Load() > before })
	if signedIn(other) || !signedIn(old) || !signedIn(fresh) {
		t.Error("after a reading that failed, the keys that were read before do not go on")
	}
	i.away.Store(false)
	i.show("new")
	awaitSignedIn(t, func() bool { signedIn(other); return !signedIn(old) })
	if !signedIn(fresh) {
		t.Error("the new key does not pass after the old one went")
	}
}

func awaitSignedIn(t *testing.T, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(time.Minute); !ok(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatal("the keys were not read again in a minute")
		}
	}
}
