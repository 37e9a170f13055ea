package seal

import (
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"seckill/eventstore"
)

// Proof shows that events stand in the log: each event whole, the hash before it,
// its path to the root of the seal it is under, and the seals. The names are part
// of the spec.
type Proof struct {
	OrderID string        `json:"order_id"`
	Events  []ProvenEvent `json:"events" nullable:"false"`
	Seals   []Wire        `json:"seals" nullable:"false"`
	Keys    []ProofKey    `json:"keys" nullable:"false" doc:"Public keys of the seals; compare them with those that were published"`
}

// ProvenEvent is an event under a seal. Payload and Metadata are base64 of the
// stored bytes; Previous is the hash of the record before, which its own covers.
type ProvenEvent struct {
	Position   int64    `json:"position"`
	EventID    string   `json:"event_id"`
	Stream     string   `json:"stream"`
	Version    int64    `json:"version"`
	Type       string   `json:"type"`
	Schema     int      `json:"schema"`
	RecordedAt string   `json:"recorded_at"`
	Payload    string   `json:"payload" doc:"Base64 of the stored bytes"`
	Metadata   string   `json:"metadata" doc:"Base64 of the stored bytes"`
	Previous   string   `json:"previous" doc:"Hash of the record before"`
	Hash       string   `json:"hash"`
	Seal       int64    `json:"seal" doc:"Number of its seal"`
	Path       []string `json:"path" nullable:"false" doc:"Hashes from the event to the root of its seal, nearest first"`
}

// ProofKey is a public key.
type ProofKey struct {
	Key       string `json:"key" doc:"Its id: the first 16 hexadecimal digits of its SHA-256"`
	PublicKey string `json:"public_key" doc:"Base64 of the 32 bytes of an Ed25519 key"`
}

// Prove makes the part of a proof about a record, from the hash before it and the
// hashes of all records under its seal.
func Prove(r *eventstore.Record, previous Hash, s *Seal, sealed []Hash) (ProvenEvent, error) {
	if r.Position < s.First || r.Position > s.Last || int64(len(sealed)) != s.Count() || Root(sealed) != s.Root {
		return ProvenEvent{}, fmt.Errorf("prove position %d: it is not under seal %d", r.Position, s.Number)
	}
	e := ProvenEvent{
		Position: r.Position, EventID: r.ID.String(), Stream: r.Stream, Version: r.Version, Type: r.Type, Schema: r.Schema,
		RecordedAt: r.RecordedAt.UTC().Format(TimeForm),
		Payload:    base64.StdEncoding.EncodeToString(r.Payload), Metadata: base64.StdEncoding.EncodeToString(r.Metadata),
		Previous: previous.String(), Hash: r.Hash.String(), Seal: s.Number, Path: []string{},
	}
	for _, h := range Path(sealed, int(r.Position-s.First)) {
		e.Path = append(e.Path, h.String())
	}
	return e, nil
}

// ProofKeyOf names a key in a proof.
func ProofKeyOf(public ed25519.PublicKey) ProofKey {
	return ProofKey{Key: KeyID(public), PublicKey: base64.StdEncoding.EncodeToString(public)}
}

// ErrNotProven: a proof does not prove. The error says why.
var ErrNotProven = errors.New("the proof does not hold")

// Check tells whether the proof proves its events: that each hash is that of its
// event, each path leads to its seal, and each seal is signed with one of keys.
func (p *Proof) Check(keys map[string]ed25519.PublicKey) error {
	if len(p.Events) == 0 {
		return fmt.Errorf("%w: it has no event", ErrNotProven)
	}
	seals := map[int64]*Seal{}
	for _, w := range p.Seals {
		s, err := w.Seal()
		if err != nil {
			return fmt.Errorf("%w: %w", ErrNotProven, err)
		}
		key, ok := keys[s.KeyID]
		if !ok {
			return fmt.Errorf("%w: seal %d is signed with the key %s, which is not trusted", ErrNotProven, s.Number, s.KeyID)
		}
		if !s.SignedBy(key) {
			return fmt.Errorf("%w: the signature of seal %d is not that of its key", ErrNotProven, s.Number)
		}
		seals[s.Number] = &s
	}
	for i := range p.Events {
		if err := p.Events[i].check(p.OrderID, seals); err != nil {
			return fmt.Errorf("%w: event at position %d: %w", ErrNotProven, p.Events[i].Position, err)
		}
	}
	return nil
}

func (e *ProvenEvent) check(order string, seals map[int64]*Seal) error {
	s, ok := seals[e.Seal]
	if !ok {
		return fmt.Errorf("its seal %d is not there", e.Seal)
	}
	r, previous, err := e.record()
	if err != nil {
		return err
	}
	if r.Stream != "order-"+order {
		return fmt.Errorf("it is of %s and not of the order", r.Stream)
	}
	if eventstore.ComputeHash(previous, &r) != r.Hash {
		return errors.New("its hash is not that of its content")
	}
	path := make([]Hash, len(e.Path))
	for i, text := range e.Path {
		if path[i], err = eventstore.ParseHash(text); err != nil {
			return err
		}
	}
	if !VerifyPath(r.Hash, r.Position-s.First, s.Count(), path, s.Root) {
		return fmt.Errorf("its path does not lead to the root of seal %d", s.Number)
	}
	return nil
}

// record reads the event back.
func (e *ProvenEvent) record() (r eventstore.Record, previous Hash, err error) {
	r = eventstore.Record{Position: e.Position, Stream: e.Stream, Version: e.Version, Type: e.Type, Schema: e.Schema}
	var errs [6]error
	r.ID, errs[0] = uuid.Parse(e.EventID)
	r.RecordedAt, errs[1] = time.Parse(TimeForm, e.RecordedAt)
	r.Payload, errs[2] = base64.StdEncoding.DecodeString(e.Payload)
	r.Metadata, errs[3] = base64.StdEncoding.DecodeString(e.Metadata)
	previous, errs[4] = eventstore.ParseHash(e.Previous)
	r.Hash, errs[5] = eventstore.ParseHash(e.Hash)
	return r, previous, errors.Join(errs[:]...)
}
