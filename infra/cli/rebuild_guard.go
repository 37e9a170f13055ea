package cli

import (
	"context"
	"fmt"
	"strings"

	"seckill/commands"
	"seckill/eventstore/seal"
	"seckill/projections"
)

// checkLog looks for what has seen more of the log than there is: a rebuild would
// take from the views what they alone still show. It gives the sentence to refuse
// with, "" where the log is whole or its loss was accepted, and an error where the
// log never had an event.
func (k *rebuildCmd) checkLog(ctx context.Context, c console, side readSide) (refusal string, err error) {
	before, err := side.source.Log.Head(ctx)
	if err != nil {
		return "", err
	}
	places, lost, err := placesBeyond(ctx, c, side, before.Number)
	if err != nil {
		return "", err
	}
	// The log grows while it is looked at: only now is it known what it lacks.
	now, err := side.source.Log.Head(ctx)
	if err != nil {
		return "", err
	}
	head := now.Number
	var ahead []string
	for _, p := range places {
		if p.position > head {
			ahead = append(ahead, fmt.Sprintf("%s %d", p.what, p.position))
		}
	}
	switch {
	case len(ahead) > 0 && !k.AcceptLoss:
		return fmt.Sprintf("The log ends at position %d, but %s: its newest events were removed, or it was put back to an older state. "+
			"Nothing has changed. Restore the newer log; or if the loss is known and accepted, record it with `seckill audit accept-loss`, "+
			"or rebuild with --accept-log-loss (see docs/backup.md).", head, strings.Join(ahead, ", ")), nil
	case head == 0 && len(ahead) == 0 && !lost:
		return "", &told{"nothing to rebuild: the log is empty", nil}
	case len(ahead) > 0:
		c.say("The log ends at position %d, but %s; the views are built from what the log has.", head, strings.Join(ahead, ", "))
	}
	return "", nil
}

// beyond is a place that somebody has seen of the log, in words up to its number.
type beyond struct {
	what     string
	position int64
}

// placesBeyond gives what went beyond head and was not accepted as lost; lost is
// whether something was.
func placesBeyond(ctx context.Context, c console, side readSide, head int64) (places []beyond, lost bool, err error) {
	all, err := projections.Ahead(ctx, side.pool, side.source.Store, head)
	if err != nil {
		return nil, false, err
	}
	for _, p := range all {
		what := "the view " + p.Projection + " has applied position"
		if strings.HasPrefix(p.Projection, "relay") {
			what = "the " + p.Projection + " has published position"
		}
		if p.Accepted {
			lost = true
			continue
		}
		places = append(places, beyond{what, p.Position})
	}
	stored, exported, err := lastSeals(ctx, c, side)
	if err != nil {
		return nil, false, err
	}
	if stored != nil {
		places = append(places, beyond{fmt.Sprintf("seal %d in the database covers positions up to", stored.Number), stored.Last})
	}
	if exported != nil {
		places = append(places, beyond{fmt.Sprintf("exported seal %d covers positions up to", exported.Number), exported.Last})
	}
	return places, lost, nil
}

// sealedLog is a log with the seals that are kept beside it.
type sealedLog interface {
	LastSeal(ctx context.Context) (*seal.Seal, error)
}

// lastSeals gives the newest seals that count, nil where there is none.
func lastSeals(ctx context.Context, c console, side readSide) (stored, exported *seal.Seal, err error) {
	log, ok := side.source.Log.(sealedLog)
	if !ok {
		return nil, nil, fmt.Errorf("look at the seals: the log is a %T", side.source.Log)
	}
	if stored, err = log.LastSeal(ctx); err != nil {
		return nil, nil, err
	}
	var folder commands.SealExport = seal.NewFolder(c.settings.SealDir, side.uuid)
	exported, err = folder.Last()
	return stored, exported, err
}

// refuse tells why nothing is rebuilt.
func (k *rebuildCmd) refuse(c console, why string) error {
	if k.JSON {
		if err := c.json(rebuilt{Views: []rebuiltView{}, Fault: &rebuildFault{Detail: why}}); err != nil {
			return err
		}
		return errFound
	}
	c.say("%s", why)
	return errFound
}
