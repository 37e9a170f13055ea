package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jedib0t/go-pretty/v6/table"

	"seckill/commands"
	"seckill/eventstore/pgstore"
	"seckill/eventstore/seal"
	"seckill/infra/config"
	"seckill/infra/pg"
)

type auditCmd struct {
	Verify      auditVerifyCmd `cmd:"" help:"Check positions, versions, hashes, seals and the stock rule of the whole log."`
	VerifyProof auditProofCmd  `cmd:"" name:"verify-proof" help:"Check the proof of an order, as a buyer got it."`
	AcceptLoss  acceptLossCmd  `cmd:"" name:"accept-loss" help:"Record that the log was put back to an older state on purpose, so that it can be served again."`
}

type auditVerifyCmd struct {
	From    int64  `placeholder:"POSITION" help:"From this position on. Default: the first."`
	To      int64  `placeholder:"POSITION" help:"Up to this position, included. Default: the last."`
	Seals   string `placeholder:"DIR" help:"Folder of exported seals and trusted keys. Default: that of the settings."`
	Archive string `placeholder:"DIR" help:"Folder of archives: what was detached is read from there."`
	Workers int    `placeholder:"N" help:"How many read and hash at once. Default: one a processor."`
	JSON    bool   `name:"json" help:"Print JSON."`
}

// Run verifies and reports; exit 3 when something is wrong.
func (v *auditVerifyCmd) Run(c console) error {
	if v.From < 0 || v.To < 0 || (v.To > 0 && v.From > v.To) || v.Workers < 0 {
		return usage("--from and --to are positions from 1 on, --from not after --to")
	}
	if v.Seals != "" {
		if _, err := os.Stat(v.Seals); err != nil {
			return usage("--seals names no folder: %w", err)
		}
	}
	return c.withEvidence(func(ctx context.Context, e *pgstore.Evidence, uuid string) error {
		report, err := v.verify(ctx, c, e, uuid)
		if err != nil {
			return err
		}
		if v.JSON {
			err = c.json(report)
		} else {
			err = c.printAudit(report)
		}
		if err == nil && !report.OK {
			err = errFound
		}
		return err
	})
}

func (v *auditVerifyCmd) verify(ctx context.Context, c console, e *pgstore.Evidence, uuid string) (commands.AuditReport, error) {
	keys, err := e.SealKeys(ctx)
	if err != nil {
		return commands.AuditReport{}, err
	}
	folder := seal.NewFolder(firstText(v.Seals, c.settings.SealDir), uuid)
	opts := commands.AuditOptions{From: v.From, To: v.To, Workers: v.Workers, Progress: c.auditProgress()}
	var log commands.AuditLog = e
	warning := ""
	if v.Archive != "" {
		archived, err := openArchives(v.Archive, uuid, e)
		if err != nil {
			return commands.AuditReport{}, err
		}
		defer archived.close()
		log = archived
	} else if warning, err = skipArchived(ctx, e, &opts); err != nil {
		return commands.AuditReport{}, err
	}
	auditor := commands.Auditor{Log: log, Stored: e, Exported: folder, KeysOfStore: keys}
	report, err := auditor.Verify(ctx, opts)
	if err != nil {
		return report, err
	}
	if warning != "" {
		report.Warnings = append(report.Warnings, warning)
	}
	guarded, err := e.Guarded(ctx)
	for _, line := range guarded {
		report.OK = false
		report.FaultsTotal++
		report.Faults = append(report.Faults, commands.AuditFault{Kind: faultTable, Detail: line})
	}
	return report, err
}

// faultTable is a fault of the tables that hold the log.
const faultTable = "table"

// skipArchived begins behind what was archived, and says so.
func skipArchived(ctx context.Context, e *pgstore.Evidence, opts *commands.AuditOptions) (warning string, err error) {
	archived, err := e.Archived(ctx)
	if err != nil || archived == 0 || opts.From > archived {
		return "", err
	}
	opts.From = archived + 1
	return fmt.Sprintf("positions 1 to %d are archived and were not read: give --archive with the folder of the archives to prove them too", archived), nil
}

func firstText(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}

// auditProgressEvery is how often progress is told.
const auditProgressEvery = 2 * time.Second

// auditProgress says on stderr how far it is, when it takes longer.
func (c console) auditProgress() func(done, total int64) {
	began := time.Now()
	said := began
	return func(done, total int64) {
		now := time.Now()
		if now.Sub(said) < auditProgressEvery || done == total {
			return
		}
		said = now
		rate := float64(done) / now.Sub(began).Seconds()
		c.say("audit: %d of %d positions, %.0f a second, %s left", done, total, rate,
			time.Duration(float64(total-done)/rate*float64(time.Second)).Round(time.Second))
	}
}

func (c console) printAudit(r commands.AuditReport) error {
	if r.OK {
		fmt.Fprintf(c.out, "The log holds: %d events from position %d to %d, hash %s; %d seals, up to position %d.\n", r.Events, r.From, r.Head, r.Hash, r.Seals, r.SealedTo)
	} else {
		fmt.Fprintf(c.out, "The log does NOT hold: %d faults in %d events.\n", r.FaultsTotal, r.Events)
		t := newTable("position", "stream", "version", "kind", "what is wrong")
		numbers(t, 1, 3)
		for _, f := range r.Faults {
			t.AppendRow(table.Row{f.Position, f.Stream, f.Version, f.Kind, f.Detail})
		}
		if more := r.FaultsTotal - len(r.Faults); more > 0 {
			t.AppendFooter(table.Row{"", "", "", "", fmt.Sprintf("and %d more", more)})
		}
		if err := c.print(t); err != nil {
			return err
		}
	}
	for _, w := range r.Warnings {
		if _, err := fmt.Fprintln(c.out, "Note: "+w+"."); err != nil {
			return err
		}
	}
	return nil
}

// withEvidence opens the log and its seals, to read and for nothing else.
func (c console) withEvidence(f func(ctx context.Context, e *pgstore.Evidence, uuid string) error) error {
	ctx, done := c.stoppable()
	defer done()
	a, err := c.addresses(ctx, needDatabase)
	if err != nil {
		return err
	}
	pool, err := openToAudit(ctx, a, c.settings)
	if err != nil {
		return joinClose(err, a.stop(ctx))
	}
	err = func() error {
		id, err := pg.LoadIdentity(ctx, pool)
		if err != nil {
			return err
		}
		return f(ctx, pgstore.NewEvidence(pool), id.UUID.String())
	}()
	pool.Close()
	return joinClose(err, a.stop(ctx))
}

// auditConns is enough for every worker of a large machine.
const auditConns = 16

// openToAudit opens the database read-only; a private one that is older than the
// program is migrated first, as nobody else would.
func openToAudit(ctx context.Context, a addresses, s config.Settings) (*pgxpool.Pool, error) {
	if s.NeedsPrivatePostgres() {
		if err := pg.Migrate(ctx, string(a.owner), s.Namespace); err != nil {
			return nil, fmt.Errorf("migrate the private database: %w", err)
		}
	}
	pool, err := pg.Open(ctx, string(a.database), pg.Options{
		Namespace: s.Namespace, MaxConns: auditConns, AppName: "seckill audit", ReadOnly: true, StatementTimeout: 30 * time.Second,
	})
	if err != nil {
		return nil, fmt.Errorf("open the database: %w", err)
	}
	return pool, nil
}

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

// sealFile is where the key is, from the settings.
func sealFile(s config.Settings) string {
	return firstText(s.SealKey, filepath.Join(s.DataDir, "seal.key"))
}
