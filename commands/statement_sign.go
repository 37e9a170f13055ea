package commands

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"seckill/eventstore/seal"
)

// SignedStatement is a statement as it is handed out. The signature (Ed25519, by a
// key that also seals the log) is over the text of SignedText, which carries the
// digest of the statement: so the statement alone is the same each time it is
// made, and when and over which log it was made is signed with it.
type SignedStatement struct {
	Statement json.RawMessage `json:"statement"`
	Issued    Issued          `json:"issued"`
	SHA256    string          `json:"sha256" doc:"Of the statement in its canonical form"`
	KeyID     string          `json:"key_id"`
	Signature string          `json:"signature" doc:"Hexadecimal"`
}

// Issued is when a statement was made, and over which log: up to the record at
// Head. Seals are those over the sale's events, 0 where none is sealed yet;
// SealedTo is the last position of the sale's range that is under one.
type Issued struct {
	At        string `json:"at"`
	Head      int64  `json:"head"`
	HeadHash  string `json:"head_hash"`
	SealFirst int64  `json:"seal_first"`
	SealLast  int64  `json:"seal_last"`
	SealHash  string `json:"seal_hash" doc:"SHA-256 of the text of the last one"`
	SealedTo  int64  `json:"sealed_to"`
}

// CanonicalJSON writes a JSON value in the one form that digests are over: keys
// sorted, no spaces, ASCII alone. Python writes it with
// json.dumps(value, sort_keys=True, separators=(",", ":")).
func CanonicalJSON(raw []byte) ([]byte, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var value any
	if err := d.Decode(&value); err != nil {
		return nil, fmt.Errorf("read a JSON value: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("read a JSON value: something follows it")
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(value); err != nil {
		return nil, fmt.Errorf("write a JSON value: %w", err)
	}
	return ascii(bytes.TrimSuffix(b.Bytes(), []byte("\n"))), nil
}

// ascii writes every other character of JSON text as an escape.
func ascii(text []byte) []byte {
	out := make([]byte, 0, len(text))
	for _, c := range string(text) {
		switch {
		case c < 0x7f:
			out = append(out, byte(c))
		case c > 0xffff:
			c -= 0x10000
			out = fmt.Appendf(out, `\u%04x\u%04x`, 0xd800+c>>10, 0xdc00+c&0x3ff)
		default:
			out = fmt.Appendf(out, `\u%04x`, c)
		}
	}
	return out
}

// digestOf gives the digest of a statement as it stands in a file.
func digestOf(raw []byte) (string, error) {
	text, err := CanonicalJSON(raw)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), nil
}

// SignStatement signs a statement.
func SignStatement(s *Statement, issued Issued, key seal.Key) (*SignedStatement, error) {
	raw, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("write the statement of sale %s: %w", s.Sale.ID, err)
	}
	signed := &SignedStatement{Issued: issued, KeyID: key.ID()}
	if signed.Statement, err = CanonicalJSON(raw); err != nil {
		return nil, err
	}
	if signed.SHA256, err = digestOf(signed.Statement); err != nil {
		return nil, err
	}
	signed.Signature = hex.EncodeToString(key.Sign([]byte(signed.SignedText(s))))
	return signed, nil
}

// SignedText is what the signature is over: lines that name what the statement is
// about, its digest, and when and over which log it was made.
func (x *SignedStatement) SignedText(s *Statement) string {
	var b strings.Builder
	line := func(name string, values ...any) {
		b.WriteString(name)
		for _, v := range values {
			fmt.Fprintf(&b, " %v", v)
		}
		b.WriteByte('\n')
	}
	line("seckill-statement", s.Form)
	line("store", s.Store)
	line("sale", s.Sale.ID)
	line("sha256", x.SHA256)
	line("log", s.Log.First, s.Log.Last, s.Log.Hash)
	line("at", x.Issued.At)
	line("head", x.Issued.Head, x.Issued.HeadHash)
	line("seals", x.Issued.SealFirst, x.Issued.SealLast, x.Issued.SealHash, x.Issued.SealedTo)
	line("key", x.KeyID)
	return b.String()
}

// ErrNotStated: a statement is not what was signed, or not what the log says.
var ErrNotStated = errors.New("the statement does not hold")

// Check tells whether the statement is what one of the keys signed, and gives it.
// Everything that is wrong with it is ErrNotStated.
func (x *SignedStatement) Check(keys map[string]ed25519.PublicKey) (*Statement, error) {
	digest, err := digestOf(x.Statement)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotStated, err)
	}
	var s Statement
	if err := json.Unmarshal(x.Statement, &s); err != nil {
		return nil, fmt.Errorf("%w: it cannot be read: %w", ErrNotStated, err)
	}
	key, trusted := keys[x.KeyID]
	signature, err := hex.DecodeString(x.Signature)
	switch {
	case digest != x.SHA256:
		return nil, fmt.Errorf("%w: it was changed: its digest is %s and not %s", ErrNotStated, digest, x.SHA256)
	case !trusted:
		return nil, fmt.Errorf("%w: it is signed with the key %s, which is not trusted", ErrNotStated, x.KeyID)
	case err != nil || !ed25519.Verify(key, []byte(x.SignedText(&s)), signature):
		return nil, fmt.Errorf("%w: the signature is not that of its key", ErrNotStated)
	}
	return &s, nil
}

// statedTime is a time as it is signed: UTC with microseconds.
func statedTime(t time.Time) string { return t.UTC().Format(seal.TimeForm) }
