package api

import (
	"context"

	"seckill/commands"
)

const rehydrateDescription = "Every stock of the sale starts again from the first event, under a new epoch. Meanwhile purchases meet 503 not_ready, " +
	"and the sale shows paused. It goes on when the caller hangs up."

type rehydrateRequest struct {
	Sale string `path:"sale"`
}

type rehydrateAnswer struct {
	Body commands.Rehydration
}

// rehydrate builds the gate of a sale again. Once begun it is not given up with
// its caller: the lane would stay closed until a keeper finds it.
func (s *Server) rehydrate(ctx context.Context, in *rehydrateRequest) (*rehydrateAnswer, error) {
	s.logAction(ctx, "rehydrate", in.Sale)
	done, err := s.Rehydrator.Rehydrate(context.WithoutCancel(ctx), in.Sale, nil)
	if err != nil {
		return nil, err
	}
	return &rehydrateAnswer{Body: done}, nil
}
