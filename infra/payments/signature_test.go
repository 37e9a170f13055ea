package payments_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"seckill/infra/payments"
)

var (
	now    = time.Unix(1_700_000_000, 0)
	secret = []byte("a secret of the tests and of nobody else")
	other  = []byte("another secret of the tests, the older one")
	body   = []byte(`{"id":"e-1","type":"payment.succeeded"}`)
)

// The form is what providers implement: it must not change.
func TestTheFormOfASignatureIsFixed(t *testing.T) {
	want := "t=1700000000,v1=9d713ed406bb7076d4123f0dc2c39d2df5c654ed4b0cd56b52c8b4c940bd63ae"
	if got := payments.Sign([]byte("key"), now, []byte("{}")); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestASignatureHoldsForFiveMinutesEitherWay(t *testing.T) {
	for age, good := range map[time.Duration]bool{
		0: true, 5 * time.Minute: true, -5 * time.Minute: true,
		5*time.Minute + time.Second: false, -5*time.Minute - time.Second: false, 24 * time.Hour: false,
	} {
		err := payments.Verify(payments.Sign(secret, now.Add(-age), body), body, now, secret)
		if (err == nil) != good {
			t.Errorf("signed %s ago: got %v, want good %t", age, err, good)
		}
	}
}

func TestOnlyTheVeryBytesUnderAKnownSecretPass(t *testing.T) {
	signed := payments.Sign(secret, now, body)
	stamp, mac, _ := strings.Cut(signed, ",")
	for name, value := range map[string]string{
		"none":                    "",
		"no time":                 mac,
		"no signature":            stamp,
		"another time":            "t=1700000001," + mac,
		"a time with a sign":      strings.Replace(signed, "t=", "t=+", 1),
		"two times":               stamp + "," + signed,
		"a time with a fraction":  strings.Replace(signed, ",", ".0,", 1),
		"an enormous time":        "t=" + strings.Repeat("9", 40) + "," + mac,
		"another scheme alone":    strings.Replace(signed, "v1=", "v0=", 1),
		"a digit changed":         signed[:len(signed)-1] + string("0123456789abcdef"[(strings.IndexByte("0123456789abcdef", signed[len(signed)-1])+1)%16]),
		"cut short":               signed[:len(signed)-2],
		"no hexadecimal":          signed[:len(signed)-1] + "x",
		"signed with the wrong":   payments.Sign(other, now, body),
		"signed with an empty":    payments.Sign(nil, now, body),
		"a bare word":             signed + ",word",
		"more than are looked at": stamp + strings.Repeat(","+mac, 9),
	} {
		if err := payments.Verify(value, body, now, secret, nil); !errors.Is(err, payments.ErrSignature) {
			t.Errorf("%s: got %v, want ErrSignature", name, err)
		}
	}
	for _, changed := range []string{"", string(body) + " ", strings.Replace(string(body), "e-1", "e-2", 1)} {
		if err := payments.Verify(signed, []byte(changed), now, secret); err == nil {
			t.Errorf("the body %q passes with the signature of %q", changed, body)
		}
	}
	if err := payments.Verify(signed, body, now); err == nil {
		t.Error("a signature passes where there is no secret")
	}
}

func TestSecretsAreChangedWithoutAMessageBeingRefused(t *testing.T) {
	_, older, _ := strings.Cut(payments.Sign(other, now, body), ",")
	for name, c := range map[string]struct {
		value   string
		secrets [][]byte
	}{
		"signed with the old one, both known":   {payments.Sign(other, now, body), [][]byte{secret, other}},
		"signed with the new one, both known":   {payments.Sign(secret, now, body), [][]byte{other, secret}},
		"signed with both, only the old known":  {payments.Sign(secret, now, body) + "," + older, [][]byte{other}},
		"signed with both, only the new known":  {payments.Sign(secret, now, body) + "," + older, [][]byte{secret}},
		"with spaces and a scheme of the years": {"v2=abc, " + payments.Sign(secret, now, body), [][]byte{secret}},
	} {
		if err := payments.Verify(c.value, body, now, c.secrets...); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzOnlyWhatWasSignedPasses(f *testing.F) {
	signed := payments.Sign(secret, now, body)
	f.Add(signed, body)
	f.Add("t=1700000000,v1=", []byte(nil))
	f.Add("t=1700000000,v1="+strings.Repeat("0", 64)+",v1=zz", []byte("{}"))
	f.Fuzz(func(t *testing.T, value string, message []byte) {
		if payments.Verify(value, message, now, secret) == nil && !strings.Contains(value, signatureOf(message, value)) {
			t.Errorf("%q passes for %q", value, message)
		}
	})
}

// signatureOf gives the right signature of a message for the time that a value
// tells, if it is one near now.
func signatureOf(message []byte, value string) string {
	for d := -payments.Tolerance; d <= payments.Tolerance; d += time.Second {
		stamp, mac, _ := strings.Cut(payments.Sign(secret, now.Add(d), message), ",")
		if strings.Contains(value, stamp) && strings.Contains(strings.ToLower(value), mac) {
			return value
		}
	}
	return "\x00 no such"
}
