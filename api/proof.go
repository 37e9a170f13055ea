package api

import (
	"context"

	"seckill/eventstore/seal"
)

// Prover proves that an order stands in the log.
type Prover interface {
	Prove(ctx context.Context, buyer, id string) (seal.Proof, error)
}

type proofRequest struct {
	Order string `path:"order"`
}

type proofAnswer struct {
	Body seal.Proof
}

// proveOrder gives the proof of an own order: its events, their paths to the roots
// of their seals, and the seals. docs/seals.md says how to check it.
func (s *Server) proveOrder(ctx context.Context, in *proofRequest) (*proofAnswer, error) {
	proof, err := s.Prover.Prove(ctx, callOf(ctx).caller.Buyer, in.Order)
	if err != nil {
		return nil, err
	}
	return &proofAnswer{Body: proof}, nil
}

// proofDescription is what the document says of the proof.
const proofDescription = `Every event of the order with its Merkle path, and the signed seals that they are under. Anybody can check it with SHA-256 and
Ed25519 alone: docs/seals.md says how. Answers 503 not_ready until every event of the order is under a seal, which takes about ten seconds.`
