package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"seckill/commands"
	"seckill/eventstore/pgstore"
	"seckill/eventstore/seal"
	"seckill/infra/pg"
)

type acceptLossCmd struct {
	Reason string `required:"" placeholder:"TEXT" help:"Why the loss is accepted, for whoever audits later."`
	JSON   bool   `name:"json" help:"Print JSON."`
}

// relays are the checkpoints of those who only pass records on.
var relays = [...]string{"relay", "relay-public"}

// lossLog is a store as commands.AcceptLoss asks for it.
type lossLog struct{ *pgstore.Store }

// AddLoss writes the loss down; relays that were ahead begin again.
func (l lossLog) AddLoss(ctx context.Context, loss seal.Loss) error {
	return l.Store.AddLoss(ctx, loss, relays[:])
}

// Run records the loss.
func (l *acceptLossCmd) Run(c console) error {
	if strings.TrimSpace(l.Reason) == "" {
		return usage("--reason is empty: say why the loss is accepted, for whoever audits later")
	}
	return c.withDatabase(func(ctx context.Context, pool *pgxpool.Pool) error {
		id, err := pg.LoadIdentity(ctx, pool)
		if err != nil {
			return err
		}
		store, err := pgstore.New(pool, c.settings.Namespace, pgstore.Options{Logger: warnings(c)})
		if err != nil {
			return err
		}
		defer store.Close(context.WithoutCancel(ctx)) // nothing was submitted
		folder := seal.NewFolder(c.settings.SealDir, id.UUID.String())
		loss, err := commands.AcceptLoss(ctx, lossLog{store}, folder, operatorName(), l.Reason, time.Now())
		switch {
		case err != nil:
			return err
		case l.JSON:
			return c.json(loss)
		}
		_, err = fmt.Fprintf(c.out, "Recorded in %s: what was sealed of the log after position %d, up to %d, is lost and no longer counts. Build views that were ahead again with `seckill rebuild --all`.\n",
			folder.File(), loss.Head, loss.Lost)
		return err
	})
}
