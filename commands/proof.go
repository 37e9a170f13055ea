package commands

import (
	"context"
	"crypto/ed25519"
	"fmt"

	"seckill/domain"
	"seckill/eventstore"
	"seckill/eventstore/seal"
)

// ProofLog is what a proof is made of.
type ProofLog interface {
	ReadStream(ctx context.Context, stream string, after int64, max int) ([]eventstore.Record, error)
	// Hashes gives the hashes of the records from first to last.
	Hashes(ctx context.Context, first, last int64) ([]eventstore.Hash, error)
	HashAt(ctx context.Context, position int64) (h eventstore.Hash, ok bool, err error)
	// SealOver gives the seal over a position, nil where there is none yet.
	SealOver(ctx context.Context, position int64) (*seal.Seal, error)
	SealKeys(ctx context.Context) ([]ed25519.PublicKey, error)
}

// Prover shows a buyer that his order stands in the log.
type Prover struct {
	Env *Env
	Log ProofLog
}

// maxProven bounds the events of a proof; an order has a handful.
const maxProven = 100

// notSealed is what is said of an order whose events are under no seal yet.
const notSealed = "The proof exists once every event of the order is under a seal, within seconds of the event."

// Prove gives the proof of a buyer's order. An id that we did not issue to this
// buyer is a *domain.Problem with code order_not_found; an order that the log has
// not decided, or with an event under no seal yet, is one with code not_ready.
func (p *Prover) Prove(ctx context.Context, buyer, id string) (seal.Proof, error) {
	proof := seal.Proof{OrderID: id, Events: []seal.ProvenEvent{}, Seals: []seal.Wire{}, Keys: []seal.ProofKey{}}
	ref, err := domain.ParseOrderID(id)
	if err != nil || !ref.Owned(p.Env.Keys, buyer) {
		return proof, &domain.Problem{Code: domain.CodeOrderNotFound}
	}
	records, err := p.Log.ReadStream(ctx, domain.OrderStream(id), 0, maxProven)
	if err != nil {
		return proof, fmt.Errorf("prove order %s: %w", id, err)
	}
	if len(records) == 0 {
		return proof, &domain.Problem{Code: domain.CodeNotReady, Note: notSealed}
	}
	var last *seal.Seal
	var hashes []eventstore.Hash
	for i := range records {
		r := &records[i]
		if last == nil || r.Position > last.Last {
			if last, hashes, err = p.seal(ctx, r.Position); err != nil {
				return proof, err
			}
			proof.Seals = append(proof.Seals, last.Wire())
		}
		event, err := p.event(ctx, r, last, hashes)
		if err != nil {
			return proof, fmt.Errorf("prove order %s: %w", id, err)
		}
		proof.Events = append(proof.Events, event)
	}
	return proof, p.addKeys(ctx, &proof)
}

// seal gives the seal over a position and the hashes under it.
func (p *Prover) seal(ctx context.Context, position int64) (*seal.Seal, []eventstore.Hash, error) {
	s, err := p.Log.SealOver(ctx, position)
	if err != nil {
		return nil, nil, fmt.Errorf("prove position %d: %w", position, err)
	}
	if s == nil || s.First > position {
		return nil, nil, &domain.Problem{Code: domain.CodeNotReady, Note: notSealed}
	}
	hashes, err := p.Log.Hashes(ctx, s.First, s.Last)
	if err != nil {
		return nil, nil, fmt.Errorf("prove position %d: %w", position, err)
	}
	return s, hashes, nil
}

func (p *Prover) event(ctx context.Context, r *eventstore.Record, s *seal.Seal, hashes []eventstore.Hash) (seal.ProvenEvent, error) {
	var previous eventstore.Hash
	switch {
	case r.Position > s.First && int(r.Position-s.First) <= len(hashes):
		previous = hashes[r.Position-s.First-1]
	case r.Position > 1:
		h, ok, err := p.Log.HashAt(ctx, r.Position-1)
		if err != nil {
			return seal.ProvenEvent{}, err
		}
		if !ok {
			return seal.ProvenEvent{}, fmt.Errorf("position %d: %w", r.Position-1, ErrLogBroken)
		}
		previous = h
	}
	return seal.Prove(r, previous, s, hashes)
}

// addKeys puts the keys of the proof's seals into it.
func (p *Prover) addKeys(ctx context.Context, proof *seal.Proof) error {
	keys, err := p.Log.SealKeys(ctx)
	if err != nil {
		return fmt.Errorf("prove order %s: %w", proof.OrderID, err)
	}
	for _, k := range keys {
		for _, s := range proof.Seals {
			if s.Key == seal.KeyID(k) {
				proof.Keys = append(proof.Keys, seal.ProofKeyOf(k))
				break
			}
		}
	}
	return nil
}
