package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jedib0t/go-pretty/v6/table"

	"seckill/eventstore"
	"seckill/eventstore/archive"
	"seckill/eventstore/pgstore"
	"seckill/eventstore/seal"
	"seckill/infra/pg"
	"seckill/projections"
)

type archiveCmd struct {
	List   archiveListCmd   `cmd:"" help:"Tell the parts of the log, and which are sealed, exported and detached."`
	Export archiveExportCmd `cmd:"" help:"Write closed, sealed parts of the log to files."`
	Verify archiveVerifyCmd `cmd:"" help:"Check files: chain, seals, and that they are what was exported."`
	Detach archiveDetachCmd `cmd:"" help:"Take an exported part out of the log."`
}

// archives is what these commands work with.
type archives struct {
	store *pgstore.Store
	// read tells how far the views and the relay have read.
	read   projections.Progress
	uuid   string
	folder *seal.Folder
	dir    string
}

// withArchives opens the event store and does f. dir and seals name other folders
// than the usual ones.
func (c console) withArchives(dir, seals string, f func(ctx context.Context, a archives) error) error {
	return c.withDatabase(func(ctx context.Context, pool *pgxpool.Pool) error {
		id, err := pg.LoadIdentity(ctx, pool)
		if err != nil {
			return err
		}
		store, err := pgstore.New(pool, c.settings.Namespace, pgstore.Options{Logger: warnings(c)})
		if err != nil {
			return err
		}
		uuid := id.UUID.String()
		a := archives{
			store: store, uuid: uuid,
			read: projections.Progress{
				DB: pool, Source: projections.Source{Store: int16(id.Store), Log: store}, Projections: projections.All(),
			},
			folder: seal.NewFolder(firstText(seals, c.settings.SealDir), uuid),
			dir:    firstText(dir, filepath.Join(c.settings.DataDir, "archive")),
		}
		return joinClose(f(ctx, a), store.Close(context.WithoutCancel(ctx)))
	})
}

type archiveListCmd struct {
	JSON bool `name:"json" help:"Print JSON."`
}

// archivePart is a part of the log as it is listed.
type archivePart struct {
	First  int64  `json:"first"`
	Last   int64  `json:"last"`
	State  string `json:"state"`
	File   string `json:"file"`
	Digest string `json:"sha256"`
}

// stateOf says how far a part is on its way out of the log.
func stateOf(p pgstore.Partition) string {
	switch {
	case !p.Detached.IsZero():
		return "detached"
	case !p.Detaching.IsZero():
		return "detaching"
	case p.File != "":
		return "exported"
	case p.Closed && p.Sealed:
		return "sealed"
	case p.Closed:
		return "closed"
	}
	return "open"
}

func partOf(p pgstore.Partition) archivePart {
	part := archivePart{First: p.First, Last: p.Last, State: stateOf(p), File: p.File}
	if p.File != "" {
		part.Digest = p.Digest.String()
	}
	return part
}

// Run lists the parts.
func (l *archiveListCmd) Run(c console) error {
	return c.withArchives("", "", func(ctx context.Context, a archives) error {
		parts, err := a.store.Partitions(ctx)
		if err != nil {
			return err
		}
		list := make([]archivePart, len(parts))
		for i, p := range parts {
			list[i] = partOf(p)
		}
		return c.printParts(list, l.JSON)
	})
}

func (c console) printParts(list []archivePart, asJSON bool) error {
	if asJSON {
		return c.json(map[string][]archivePart{"parts": list})
	}
	t := newTable("first", "last", "state", "file", "sha256")
	numbers(t, 1, 2)
	for _, p := range list {
		t.AppendRow(table.Row{p.First, p.Last, p.State, p.File, p.Digest})
	}
	return c.print(t)
}

type archiveExportCmd struct {
	Dir   string  `placeholder:"DIR" help:"Where the files go. Default: archive in the data folder."`
	Seals string  `placeholder:"DIR" help:"Folder of exported seals and trusted keys. Default: that of the settings."`
	Gzip  bool    `help:"Pack the files."`
	First []int64 `arg:"" optional:"" help:"First positions of the parts. Default: all that are sealed and not exported yet."`
	JSON  bool    `name:"json" help:"Print JSON."`
}

// Run exports, and reads each file back before it says so.
func (e *archiveExportCmd) Run(c console) error {
	return c.withArchives(e.Dir, e.Seals, func(ctx context.Context, a archives) error {
		parts, err := a.store.Partitions(ctx)
		if err != nil {
			return err
		}
		w, err := openWitness(a.folder)
		if err != nil {
			return err
		}
		list := []archivePart{}
		for _, first := range e.First {
			if !hasPart(parts, first) {
				return usage("no part of the log begins at position %d: see `seckill archive list`", first)
			}
		}
		for _, p := range parts {
			if !e.wants(p) {
				continue
			}
			if !p.Closed || !p.Sealed || !p.Detached.IsZero() {
				return &told{fmt.Sprintf("The part of positions %d to %d is %s: only closed parts that are sealed to their end and still in the log can be exported.", p.First, p.Last, stateOf(p)), nil}
			}
			if p, err = a.export(ctx, p, w, e.Gzip); err != nil {
				return err
			}
			list = append(list, partOf(p))
		}
		return c.printParts(list, e.JSON)
	})
}

func hasPart(parts []pgstore.Partition, first int64) bool {
	for _, p := range parts {
		if p.First == first {
			return true
		}
	}
	return false
}

func (e *archiveExportCmd) wants(p pgstore.Partition) bool {
	for _, first := range e.First {
		if p.First == first {
			return true
		}
	}
	return len(e.First) == 0 && p.Closed && p.Sealed && p.File == "" && p.Detached.IsZero()
}

func (a archives) export(ctx context.Context, p pgstore.Partition, w witness, gz bool) (pgstore.Partition, error) {
	seals, err := a.store.SealsOver(ctx, p.First, p.Last)
	if err != nil {
		return p, err
	}
	if err := w.sealed(p, seals); err != nil {
		return p, err
	}
	var before eventstore.Hash
	if p.First > 1 {
		var ok bool
		if before, ok, err = a.store.HashAt(ctx, p.First-1); err != nil || !ok {
			return p, errors.Join(err, fmt.Errorf("export positions %d to %d: the record before is missing", p.First, p.Last))
		}
	}
	if err := os.MkdirAll(a.dir, 0o755); err != nil {
		return p, fmt.Errorf("make the folder of archives: %w", err)
	}
	file := filepath.Join(a.dir, archive.FileName(a.uuid, p.First, p.Last, gz))
	header := archive.Header{Store: a.uuid, First: p.First, Last: p.Last, Previous: before.String()}
	var digest, head eventstore.Hash
	err = archive.Create(file, func(w io.Writer) (err error) {
		digest, head, err = archive.Write(w, header, func(do func(*eventstore.Record) error) error {
			return a.store.Scan(ctx, p.First-1, p.Last, do)
		}, seals)
		return err
	})
	if err != nil {
		return p, err
	}
	if _, err := readBack(file, digest); err != nil {
		return p, err
	}
	if file, err = filepath.Abs(file); err != nil {
		return p, fmt.Errorf("name the archive: %w", err)
	}
	p.File, p.Digest = file, digest
	return p, a.store.AddArchive(ctx, p.First, file, digest, head)
}

// readBack reads a file whole, and refuses another one than was exported.
func readBack(file string, digest eventstore.Hash) (archive.Summary, error) {
	s, err := archive.ReadFile(file, nil)
	if err == nil && s.Digest != digest {
		err = fmt.Errorf("%w: %s has SHA-256 %s, and %s was exported", archive.ErrBroken, file, s.Digest, digest)
	}
	return s, err
}

// sealed refuses a part of the log whose seals are not those that were exported:
// nobody could check its archive.
func (w witness) sealed(p pgstore.Partition, seals []seal.Seal) error {
	what, err := w.judge(seals)
	if err == nil && what != "" {
		err = &told{fmt.Sprintf("The part of positions %d to %d stays as it is: %s. `seckill audit verify` says more.", p.First, p.Last, what), nil}
	}
	return err
}
