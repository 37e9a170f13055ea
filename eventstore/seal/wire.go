package seal

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"seckill/eventstore"
)

// Wire is a seal as JSON, in exported files, archives and proofs. The names are
// part of the spec.
type Wire struct {
	Store     string `json:"store"`
	Number    int64  `json:"number"`
	First     int64  `json:"first"`
	Last      int64  `json:"last"`
	Count     int64  `json:"count"`
	Root      string `json:"root"`
	Head      string `json:"head"`
	Previous  string `json:"previous"`
	SealedAt  string `json:"sealed_at"`
	Key       string `json:"key"`
	Signature string `json:"signature"`
}

// Wire gives the JSON form of s.
func (s *Seal) Wire() Wire {
	return Wire{
		Store: s.StoreUUID, Number: s.Number, First: s.First, Last: s.Last, Count: s.Count(),
		Root: s.Root.String(), Head: s.Head.String(), Previous: s.Previous.String(),
		SealedAt: s.SealedAt.UTC().Format(TimeForm), Key: s.KeyID, Signature: hex.EncodeToString(s.Signature),
	}
}

// Seal reads the JSON form back.
func (w Wire) Seal() (Seal, error) {
	s := Seal{StoreUUID: w.Store, Number: w.Number, First: w.First, Last: w.Last, KeyID: w.Key}
	if w.Count != s.Count() || w.First < 1 || w.Last < w.First || w.Number < 1 {
		return s, fmt.Errorf("read seal %d: positions %d to %d are not %d", w.Number, w.First, w.Last, w.Count)
	}
	for _, h := range []struct {
		to   *Hash
		text string
	}{{&s.Root, w.Root}, {&s.Head, w.Head}, {&s.Previous, w.Previous}} {
		var err error
		if *h.to, err = eventstore.ParseHash(h.text); err != nil {
			return s, fmt.Errorf("read seal %d: %w", w.Number, err)
		}
	}
	var err error
	if s.SealedAt, err = time.Parse(TimeForm, w.SealedAt); err != nil {
		return s, fmt.Errorf("read seal %d: %w", w.Number, err)
	}
	if s.Signature, err = hex.DecodeString(w.Signature); err != nil {
		return s, fmt.Errorf("read seal %d: its signature: %w", w.Number, err)
	}
	return s, nil
}

// MarshalLine writes the seal as one line of JSON, line feed included.
func (s *Seal) MarshalLine() ([]byte, error) {
	line, err := json.Marshal(s.Wire())
	if err != nil {
		return nil, fmt.Errorf("write seal %d: %w", s.Number, err)
	}
	return append(line, '\n'), nil
}

// ParseLine reads what MarshalLine writes.
func ParseLine(line []byte) (Seal, error) {
	var w Wire
	if err := strict(line, &w); err != nil {
		return Seal{}, fmt.Errorf("read a seal: %w", err)
	}
	return w.Seal()
}

// strict reads one JSON object without unknown fields, and nothing behind it.
func strict(line []byte, to any) error {
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(to); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows it")
	}
	return nil
}
