package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"seckill/infra/pg"
)

type migrateCmd struct {
	Up     migrateUpCmd     `cmd:"" help:"Bring the schema up to this program."`
	Status migrateStatusCmd `cmd:"" help:"Tell where the schema stands."`
}

type migrateUpCmd struct {
	JSON bool `name:"json" help:"Print JSON."`
}

type migrateStatusCmd struct {
	JSON bool `name:"json" help:"Print JSON."`
}

// schema is what the migrate commands print.
type schema struct {
	Namespace string `json:"namespace"`
	Version   int    `json:"version"`
	Latest    int    `json:"latest"`
	// OldestProgram is what latest must at least be for a program to work on it.
	OldestProgram int      `json:"oldest_program"`
	Pending       []string `json:"pending"`
}

// Run migrates.
func (m *migrateUpCmd) Run(c console) error {
	if c.settings.Several() {
		return c.migrateEach(m.JSON)
	}
	return c.withOwner(func(ctx context.Context, a addresses) error {
		if err := pg.Migrate(ctx, string(a.owner), c.settings.Namespace); err != nil {
			return err
		}
		return c.printSchema(ctx, a, m.JSON)
	})
}

// Run tells where the schema stands.
func (m *migrateStatusCmd) Run(c console) error {
	if c.settings.Several() {
		return c.statusOfEach(m.JSON)
	}
	return c.withOwner(func(ctx context.Context, a addresses) error { return c.printSchema(ctx, a, m.JSON) })
}

// withOwner does f with the database's owner address.
func (c console) withOwner(f func(context.Context, addresses) error) error {
	ctx, done := c.stoppable()
	defer done()
	a, err := c.addresses(ctx, needDatabase)
	if err != nil {
		return err
	}
	return joinClose(f(ctx, a), a.stop(ctx))
}

func (c console) printSchema(ctx context.Context, a addresses, asJSON bool) error {
	s, err := pg.Status(ctx, string(a.owner), c.settings.Namespace)
	if err != nil {
		return err
	}
	seen := schemaOf(s)
	if asJSON {
		return errors.Join(c.json(seen), tooNew(s))
	}
	seen.print(c.out)
	return tooNew(s)
}

func schemaOf(s pg.SchemaStatus) schema {
	return schema{Namespace: s.Namespace, Version: s.Version, Latest: s.Latest, OldestProgram: s.OldestProgram, Pending: append([]string{}, s.Pending...)}
}

func (s schema) print(out io.Writer) {
	fmt.Fprintf(out, "schema %s: version %d of %d\n", s.Namespace, s.Version, s.Latest)
	if len(s.Pending) > 0 {
		fmt.Fprintf(out, "to be applied: %s\n", strings.Join(s.Pending, ", "))
	}
	if s.Version > s.Latest && s.OldestProgram <= s.Latest {
		fmt.Fprintf(out, "newer than this program, which may work on it all the same: it knows version %d\n", s.OldestProgram)
	}
}

// tooNew is a failure: this program may not work on such a schema.
func tooNew(s pg.SchemaStatus) error {
	if s.Version <= s.Latest || s.OldestProgram <= s.Latest {
		return nil
	}
	return &told{sentence: fmt.Sprintf("the schema %s is newer than this program, which knows versions up to %d: use a newer seckill", s.Namespace, s.Latest)}
}

// joinClose gives what went wrong, in the work or in closing after it. Where
// both did, only the work is told to a person: sentence picks the first.
func joinClose(err, closing error) error {
	if err != nil {
		return err
	}
	if closing != nil {
		return fmt.Errorf("close: %w", closing)
	}
	return nil
}
