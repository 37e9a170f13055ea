package api

import (
	"context"

	"seckill/commands"
)

// ReleaseBody is how many units more are put on sale.
type ReleaseBody struct {
	Quantity int64 `json:"quantity" minimum:"-2147483647" maximum:"2147483647" doc:"At least 1: this version cannot withdraw"`
}

// ReleaseAnswer is where an item stands after a release.
type ReleaseAnswer struct {
	Released  int64 `json:"released" doc:"Units that were ever put on sale"`
	Available int64 `json:"available" doc:"Units that are left"`
}

type releaseRequest struct {
	Sale string `path:"sale"`
	SKU  string `path:"sku"`
	Body ReleaseBody
}

type releaseAnswer struct {
	Body ReleaseAnswer
}

func (s *Server) release(ctx context.Context, in *releaseRequest) (*releaseAnswer, error) {
	done, err := s.Operator.Release(ctx, commands.Release{Sale: in.Sale, SKU: in.SKU, Quantity: in.Body.Quantity}, actorOf(ctx, ""))
	if err != nil {
		return nil, err
	}
	s.logAction(ctx, "release-stock", in.Sale)
	return &releaseAnswer{Body: ReleaseAnswer(done)}, nil
}
