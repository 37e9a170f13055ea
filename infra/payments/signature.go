package payments

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strconv"
	"strings"
	"time"
)

// Header is the name of the header that holds the signature.
const Header = "Seckill-Signature"

// Tolerance is how far the time of a signature may be from now.
const Tolerance = 5 * time.Minute

// ErrSignature: the message is not shown to be the provider's. Callers are told
// no more than that.
var ErrSignature = errors.New("the signature is missing, wrong, or not of the last minutes")

// maxSignatures bounds how many signatures of one message are looked at.
const maxSignatures = 8

// Sign gives the value of Header for a body, signed at a time (to the second).
func Sign(secret []byte, at time.Time, body []byte) string {
	t := strconv.FormatInt(at.Unix(), 10)
	return "t=" + t + ",v1=" + hex.EncodeToString(mac(secret, t, body))
}

func mac(secret []byte, t string, body []byte) []byte {
	m := hmac.New(sha256.New, secret)
	m.Write([]byte(t))
	m.Write([]byte{'.'})
	m.Write(body)
	return m.Sum(nil)
}

// Verify gives nil if one of the secrets signed body within Tolerance of now, as
// the value of Header says, else ErrSignature. An empty secret signs nothing.
func Verify(value string, body []byte, now time.Time, secrets ...[]byte) error {
	t, signatures, ok := parse(value)
	if !ok {
		return ErrSignature
	}
	seconds, err := strconv.ParseInt(t, 10, 64)
	if err != nil {
		return ErrSignature
	}
	if age := now.Sub(time.Unix(seconds, 0)); age > Tolerance || age < -Tolerance {
		return ErrSignature
	}
	good := false
	for _, secret := range secrets {
		if len(secret) == 0 {
			continue
		}
		want := mac(secret, t, body)
		for _, got := range signatures {
			good = hmac.Equal(got, want) || good
		}
	}
	if !good {
		return ErrSignature
	}
	return nil
}

// parse reads t, a plain number that stands once, and the signatures of v1.
// Names that it does not know are passed over: later schemes may stand beside.
func parse(value string) (t string, signatures [][]byte, ok bool) {
	for part := range strings.SplitSeq(value, ",") {
		name, text, found := strings.Cut(strings.TrimSpace(part), "=")
		switch {
		case !found:
			return "", nil, false
		case name == "t" && (t != "" || !plainSeconds(text)):
			return "", nil, false
		case name == "t":
			t = text
		case name == "v1":
			signature, err := hex.DecodeString(text)
			if err != nil || len(signature) != sha256.Size || len(signatures) == maxSignatures {
				return "", nil, false
			}
			signatures = append(signatures, signature)
		}
	}
	return t, signatures, t != "" && len(signatures) > 0
}

// plainSeconds tells whether text is 1 to 12 digits: no sign, no fraction.
func plainSeconds(text string) bool {
	if text == "" || len(text) > 12 {
		return false
	}
	for _, c := range text {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}
