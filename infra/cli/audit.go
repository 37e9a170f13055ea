package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
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
	for flag, dir := range map[string]string{"--seals": v.Seals, "--archive": v.Archive} {
		if dir == "" {
			continue
		}
		if info, err := os.Stat(dir); err != nil {
			return usage("%s names no folder: %w", flag, err)
		} else if !info.IsDir() {
			return usage("%s names no folder: %s", flag, dir)
		}
	}
	return c.withEvidence(func(ctx context.Context, e *pgstore.Evidence, uuid string) error {
		report, err := v.verify(ctx, c, e, uuid)
		if err != nil {
			return err
		}
		told := auditTold{AuditReport: report}
		if told.Trusted, err = trustedBy(seal.NewFolder(firstText(v.Seals, c.settings.SealDir), uuid)); err != nil {
			return err
		}
		if v.JSON {
			err = c.json(told)
		} else {
			err = c.printAudit(told)
		}
		if err == nil && !report.OK {
			err = errFound
		}
		return err
	})
}

// verify audits with the seals and keys of the folder; only where nobody named one,
// and the usual one has no key, with those that the database names.
func (v *auditVerifyCmd) verify(ctx context.Context, c console, e *pgstore.Evidence, uuid string) (report commands.AuditReport, err error) {
	folder := seal.NewFolder(firstText(v.Seals, c.settings.SealDir), uuid)
	if v.Seals != "" {
		if _, err := openWitness(folder); err != nil {
			return report, err
		}
	}
	keys, err := e.SealKeys(ctx)
	if err != nil {
		return commands.AuditReport{}, err
	}
	if err := v.inRange(ctx, e, folder); err != nil {
		return commands.AuditReport{}, err
	}
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
	auditor := commands.Auditor{Log: log, Stored: e, Exported: folder, KeysOfStore: keys, Heads: e}
	report, err = auditor.Verify(ctx, opts)
	if err != nil {
		return report, err
	}
	if warning != "" {
		report.Warnings = append(report.Warnings, warning)
	}
	guarded, err := e.Guarded(ctx)
	for _, line := range guarded {
		addFault(&report, commands.AuditFault{Position: firstNamed(line), Kind: faultTable, Detail: line})
	}
	if err == nil && report.Events == 0 && report.OK {
		err = readBeforeEmpty(ctx, e, &report)
	}
	return report, err
}

// auditTold is a report as it is told. Trusted says whose keys and seals the log
// was measured against.
type auditTold struct {
	commands.AuditReport
	Trusted string `json:"trusted"`
}

func addFault(r *commands.AuditReport, f commands.AuditFault) {
	r.OK = false
	r.FaultsTotal++
	r.Faults = append(r.Faults, f)
}

// firstNamed gives the first of the positions that a line about a partition names,
// 0 where it names none.
func firstNamed(line string) (first int64) {
	if _, positions, ok := strings.Cut(line, ", positions "); ok {
		_, _ = fmt.Sscanf(positions, "%d", &first) // 0 where it is no number
	}
	return first
}

// readBeforeEmpty finds that somebody has read a log that is empty now.
func readBeforeEmpty(ctx context.Context, e *pgstore.Evidence, r *commands.AuditReport) error {
	read, err := e.ReadTo(ctx)
	if err == nil && read > 0 {
		addFault(r, commands.AuditFault{Position: 1, Kind: commands.FaultMissing, Detail: fmt.Sprintf(
			"the log is empty, and views have read it up to position %d", read)})
	}
	return err
}

// inRange refuses a range that begins behind the log, unless exported seals know
// that the log went on there.
func (v *auditVerifyCmd) inRange(ctx context.Context, e *pgstore.Evidence, folder *seal.Folder) error {
	if v.From <= 1 {
		return nil
	}
	head, err := e.Head(ctx)
	if err != nil || v.From <= head.Number {
		return err
	}
	last, err := folder.Last()
	if err != nil || (last != nil && last.Last >= v.From) {
		return err
	}
	return usage("there is nothing from position %d on: the log ends at position %d", v.From, head.Number)
}

// faultTable is a fault of the tables that hold the log.
const faultTable = "table"

// skipArchived begins behind what was archived, and says so.
func skipArchived(ctx context.Context, e *pgstore.Evidence, opts *commands.AuditOptions) (warning string, err error) {
	archived, err := e.Archived(ctx)
	if err != nil || archived == 0 || opts.From > archived {
		return "", err
	}
	if opts.To > 0 && opts.To <= archived {
		return "", usage("positions 1 to %d are archived: give --archive with the folder of the archives to check them", archived)
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

func (c console) printAudit(r auditTold) error {
	switch {
	case r.OK && r.Events == 0:
		fmt.Fprintln(c.out, "The log is empty: there is nothing to check.")
	case r.OK:
		sealed := "under no seal"
		if r.Seals > 0 {
			sealed = fmt.Sprintf("%s, up to position %d, checked with %s", countOf(r.Seals, "seal"), r.SealedTo, r.Trusted)
		}
		fmt.Fprintf(c.out, "The log holds: %s from position %d to %d, hash %s; %s.\n", countOf(r.Events, "event"), r.From, r.Head, r.Hash, sealed)
	default:
		fmt.Fprintf(c.out, "The log does NOT hold: %s in %s.\n", countOf(int64(r.FaultsTotal), "fault"), countOf(r.Events, "event"))
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

// sealFile is where the key is, from the settings.
func sealFile(s config.Settings) string {
	return firstText(s.SealKey, filepath.Join(s.DataDir, "seal.key"))
}
