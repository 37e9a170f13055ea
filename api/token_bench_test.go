package api

import (
	"strconv"
	"testing"
	"time"
)

// BenchmarkNewToken is what it costs to verify a token that was not seen before, as that
// of each buyer in a rush.
func BenchmarkNewToken(b *testing.B) {
	secret := []byte("a secret of the benchmark")
	v, err := SecretVerifier(secret, time.Now)
	if err != nil {
		b.Fatal(err)
	}
	tokens := make([]string, b.N)
	for i := range tokens {
		if tokens[i], err = SignToken(secret, "buyer-"+strconv.Itoa(i), "", "", time.Hour); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	b.ResetTimer()
	for _, token := range tokens {
		if _, err := v.Verify(b.Context(), token); err != nil {
			b.Fatal(err)
		}
	}
}

func TestNamesOfClaimsArePlain(t *testing.T) {
	for raw, want := range map[string]bool{
		`{"sub":"Buyer-1","exp":1,"role":"ADMIN"}`:       true, // capitals of values are no names
		`{"sub":"b","nested":{"aud":["A","B"]},"exp":1}`: true,
		`{"Sub":"b"}`: false,
		"{\"sub\":\"b\",\"rolE\" \t\n:\"admin\",\"exp\":1}": false,
		`{"sub":"b","x":{"Role":"admin"}}`:                  false, // not ours, but read in full
		`{"\u0053ub":"b"}`:                                  false,
		`{"ſub":"b"}`:                                       false, // folds to s
		`{"sub":"买"}`:                                       false,
	} {
		if got := plainNames([]byte(raw)); got != want {
			t.Errorf("%s: got plain %t, want %t", raw, got, want)
		}
	}
}
