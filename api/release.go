package api

import (
	"context"
	"net/http"

	"seckill/commands"
)

const releaseDescription = "A quantity above 0 puts so many units more on sale than the sale was scheduled with. One below 0 takes units off sale: 409 `below_reserved` where fewer are left, and nothing is taken then. " +
	"It is answered once the log has it; 503 `busy` where that is not known in time: ask again with the same Idempotency-Key, which changes nothing more. A key is of one release or one withdrawal: another quantity under it, the opposite too, is 422. A sale that is over is 410, but what became of a key before is answered."

// ReleaseBody is how many units more are put on sale, or fewer.
type ReleaseBody struct {
	Quantity int64 `json:"quantity" minimum:"-2147483647" maximum:"2147483647" doc:"Not 0; below 0 takes units off sale"`
}

// ReleaseAnswer is where an item stands after a release.
type ReleaseAnswer struct {
	Released  int64 `json:"released" doc:"Units that were ever put on sale, those taken off again included"`
	Available int64 `json:"available" doc:"Units that are left"`
}

type releaseRequest struct {
	Sale string `path:"sale"`
	SKU  string `path:"sku"`
	Key  string `header:"Idempotency-Key" maxLength:"255" doc:"The same again under the same key changes nothing more; 422 idempotency_mismatch for another quantity"`
	Body ReleaseBody
}

type releaseAnswer struct {
	Body ReleaseAnswer
}

func (s *Server) release(ctx context.Context, in *releaseRequest) (*releaseAnswer, error) {
	if in.Key != "" {
		if _, err := idempotencyKey(http.Header{headerKey: {in.Key}}); err != nil {
			return nil, err
		}
	}
	done, err := s.Operator.Release(ctx, commands.Release{Sale: in.Sale, SKU: in.SKU, Quantity: in.Body.Quantity, Key: in.Key}, actorOf(ctx, ""))
	if err != nil {
		return nil, err
	}
	s.logAction(ctx, "release-stock", in.Sale)
	return &releaseAnswer{Body: ReleaseAnswer(done)}, nil
}
