package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"seckill/api"
	"seckill/commands"
	"seckill/eventstore/pgstore"
	"seckill/eventstore/seal"
	"seckill/infra/config"
	"seckill/infra/pg"
)

type statementCmd struct {
	Make   statementMakeCmd   `cmd:"" help:"Make the closing statement of a sale that has ended, and keep it."`
	Verify statementVerifyCmd `cmd:"" help:"Check a statement against the exported seals and keys, and with --recompute against the log."`
}

type statementMakeCmd struct {
	Sale string `required:"" placeholder:"ID" help:"The sale."`
	Out  string `placeholder:"DIR" help:"Folder to keep it in. Default: that of the settings."`
	HTML bool   `name:"html" help:"Also write a page to print beside it."`
	JSON bool   `name:"json" help:"Print the statement."`
}

// newCloser makes closing statements signed with the sealing key of this process,
// which is made if there is none; its public half is kept in the log, so that it
// is exported and trusted as those of all sealers are.
func newCloser(env *commands.Env, store *pgstore.Store, uuid string, s config.Settings) *commands.Closer {
	return &commands.Closer{Env: env, Log: store, Store: uuid, Key: func(ctx context.Context) (seal.Key, error) {
		key, err := seal.LoadOrMakeKey(sealFile(s))
		if err == nil {
			err = store.AddSealKey(ctx, key.Public())
		}
		return key, err
	}}
}

// withCloser opens the log alone and does f.
func (c console) withCloser(f func(ctx context.Context, closer *commands.Closer) error) error {
	return c.withDatabase(func(ctx context.Context, pool *pgxpool.Pool) error {
		id, err := pg.LoadIdentity(ctx, pool)
		if err != nil {
			return err
		}
		store, err := pgstore.New(pool, c.settings.Namespace, pgstore.Options{Logger: warnings(c)})
		if err != nil {
			return err
		}
		env := &commands.Env{Now: time.Now, Log: warnings(c)}
		err = f(ctx, newCloser(env, store, id.UUID.String(), c.settings))
		return joinClose(err, store.Close(context.WithoutCancel(ctx)))
	})
}

// Run makes the statement and says where it is.
func (m *statementMakeCmd) Run(c console) error {
	return c.withCloser(func(ctx context.Context, closer *commands.Closer) error {
		files := statementFiles{stater: closer, dir: firstText(m.Out, c.settings.StatementDir)}
		kept, err := files.Keep(ctx, m.Sale)
		if err != nil {
			return err
		}
		text, err := os.ReadFile(kept.File)
		if err != nil {
			return fmt.Errorf("read the statement again: %w", err)
		}
		if m.HTML {
			page, err := writePage(kept.File, text)
			if err != nil {
				return err
			}
			c.say("Page: %s", page)
		}
		if m.JSON {
			_, err = c.out.Write(text)
			return err
		}
		return c.printStatement(kept, text)
	})
}

func (c console) printStatement(kept commands.KeptStatement, text []byte) error {
	_, s, err := readStatement(text)
	if err != nil {
		return err
	}
	how := "The newest statement says the same"
	if kept.Fresh {
		how = "Statement written"
	}
	_, err = fmt.Fprintf(c.out, "%s: %s\nSHA-256 %s\n%s, %s, %s.\n", how, kept.File, kept.SHA256,
		countOf(s.Findings.Total, "finding"), countOf(s.Repairs.Total, "repair"), standingOut(len(s.Chances.Flags)))
	return err
}

// readStatement reads the JSON form.
func readStatement(text []byte) (x *commands.SignedStatement, s *commands.Statement, err error) {
	if x, err = commands.ReadSigned(text); err != nil {
		return nil, nil, err
	}
	return x, s, json.Unmarshal(x.Statement, &s)
}

// writePage writes the page beside the JSON form; the same file gives the same
// page.
func writePage(file string, text []byte) (page string, err error) {
	x, s, err := readStatement(text)
	if err != nil {
		return "", err
	}
	html, err := api.StatementPage(s, x)
	if err != nil {
		return "", err
	}
	page = strings.TrimSuffix(file, ".json") + ".html"
	if err := os.WriteFile(page, html, 0o644); err != nil {
		return "", fmt.Errorf("write the page: %w", err)
	}
	return page, nil
}

type statementVerifyCmd struct {
	File      string `arg:"" help:"The statement, as JSON."`
	Seals     string `placeholder:"DIR" help:"Folder of exported seals and trusted keys. Default: that of the settings."`
	Recompute bool   `help:"Also make it again from the log, as it stood then."`
	JSON      bool   `name:"json" help:"Print JSON."`
}

// Run checks a statement by the exported seals and the keys beside them; the
// database is asked with --recompute alone. Exit 3 when it does not hold.
func (v *statementVerifyCmd) Run(c console) error {
	text, err := os.ReadFile(v.File)
	if err != nil {
		return usage("read the statement: %w", err)
	}
	x, s, err := readStatement(text)
	if errors.Is(err, commands.ErrNotStated) {
		c.say("seckill: %s: %s.", v.File, err)
		return errFound
	}
	if err != nil {
		return usage("%s is no statement: %w", v.File, err)
	}
	w, err := openWitness(seal.NewFolder(firstText(v.Seals, c.settings.SealDir), storeName(s.Store)))
	if err != nil {
		return err
	}
	fault := w.statement(x)
	if fault == nil && v.Recompute {
		fault = c.withCloser(func(ctx context.Context, closer *commands.Closer) error { return closer.Recompute(ctx, x, s) })
	}
	if fault != nil && !errors.Is(fault, commands.ErrNotStated) {
		return fault
	}
	return c.printVerified(v, x, s, fault)
}

// statement is whether a statement is signed with a trusted key and over exported
// seals.
func (w witness) statement(x *commands.SignedStatement) error {
	if _, err := x.Check(w.keys); err != nil || x.Issued.SealLast == 0 {
		return err
	}
	hash := ""
	err := w.folder.Each(func(s *seal.Seal) error {
		if s.Number == x.Issued.SealLast {
			hash = s.Hash().String()
		}
		return nil
	})
	if err == nil && hash != x.Issued.SealHash {
		err = fmt.Errorf("%w: seal %d is not the one that was exported to %s", commands.ErrNotStated, x.Issued.SealLast, w.folder.Dir())
	}
	return err
}

func (c console) printVerified(v *statementVerifyCmd, x *commands.SignedStatement, s *commands.Statement, fault error) error {
	detail := ""
	if fault != nil {
		detail = strings.TrimPrefix(fault.Error(), commands.ErrNotStated.Error()+": ")
	}
	var err error
	switch {
	case v.JSON:
		err = c.json(map[string]any{"sale": s.Sale.ID, "sha256": x.SHA256, "findings": s.Findings.Total, "sealed_to": x.Issued.SealedTo, "ok": fault == nil, "detail": detail})
	case fault != nil:
		_, err = fmt.Fprintf(c.out, "The statement does NOT hold: %s.\n", detail)
	default:
		how, sealed := holdsBy(x, v.Recompute)
		_, err = fmt.Fprintf(c.out, "The statement of sale %s holds (%s): positions %d to %d, %s, %s.\n",
			s.Sale.ID, how, s.Log.First, s.Log.Last, sealed, countOf(s.Findings.Total, "finding"))
	}
	if err == nil && fault != nil {
		err = errFound
	}
	return err
}

// holdsBy says what was checked of a statement that holds, and how much of its log is
// under seals: nothing is claimed of seals where none covers it.
func holdsBy(x *commands.SignedStatement, recomputed bool) (how, sealed string) {
	checked := []string{"signature"}
	sealed = "no seal covers it yet"
	if x.Issued.SealLast > 0 {
		checked, sealed = append(checked, "seals"), fmt.Sprintf("sealed up to %d", x.Issued.SealedTo)
	}
	if recomputed {
		checked = append(checked, "the log itself")
	}
	last := len(checked) - 1
	if last == 0 {
		return checked[0], sealed
	}
	return strings.Join(checked[:last], ", ") + " and " + checked[last], sealed
}

// standingOut says how many chances stand out.
func standingOut(n int) string {
	if n == 1 {
		return "1 chance that stands out"
	}
	return fmt.Sprintf("%d chances that stand out", n)
}
