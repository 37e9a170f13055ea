package memgate

import (
	"context"

	"seckill/commands"
	"seckill/domain"
)

var _ commands.Strengths = (*Gate)(nil)

// Strength says that there is nothing but memory: see commands.Strengths.
func (g *Gate) Strength(context.Context, domain.Place) (commands.Strength, error) {
	const why = "This gate keeps everything in the memory of its process."
	return commands.Strength{domain.AcknowledgeAOF: why, domain.AcknowledgeFsync: why, domain.AcknowledgeReplicated: why}, nil
}
