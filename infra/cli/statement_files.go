package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"seckill/commands"
)

// statementFiles keeps closing statements in a folder: statement-SALE.json, and
// one that says something else later as statement-SALE-2.json and so on. What is
// there is never replaced.
type statementFiles struct {
	stater commands.Stater
	dir    string
}

// Keep makes a statement and keeps it; see commands.StatementKeeper.
func (k statementFiles) Keep(ctx context.Context, sale string) (commands.KeptStatement, error) {
	x, err := k.stater.State(ctx, sale)
	if err != nil {
		return commands.KeptStatement{}, err
	}
	text, err := json.MarshalIndent(x, "", "  ")
	if err != nil {
		return commands.KeptStatement{}, fmt.Errorf("write the statement of sale %s: %w", sale, err)
	}
	if err := os.MkdirAll(k.dir, 0o755); err != nil {
		return commands.KeptStatement{}, fmt.Errorf("make the folder of statements: %w", err)
	}
	for {
		newest, next, err := k.newest(sale)
		if err != nil {
			return commands.KeptStatement{}, err
		}
		if newest != nil && newest.SHA256 == x.SHA256 && newest.Issued.SealedTo == x.Issued.SealedTo {
			return commands.KeptStatement{File: k.file(sale, next-1), SHA256: x.SHA256}, nil
		}
		file := k.file(sale, next)
		err = writeNew(file, append(text, '\n'))
		if errors.Is(err, fs.ErrExist) {
			continue // somebody was faster
		}
		if err != nil {
			return commands.KeptStatement{}, fmt.Errorf("keep the statement of sale %s: %w", sale, err)
		}
		return commands.KeptStatement{File: file, SHA256: x.SHA256, Fresh: true}, nil
	}
}

func (k statementFiles) file(sale string, number int) string {
	name := "statement-" + sale
	if number > 1 {
		name += fmt.Sprintf("-%d", number)
	}
	return filepath.Join(k.dir, name+".json")
}

// newest gives the newest statement of a sale that is kept, and the next number.
func (k statementFiles) newest(sale string) (x *commands.SignedStatement, next int, err error) {
	for next = 1; ; next++ {
		text, err := os.ReadFile(k.file(sale, next))
		if errors.Is(err, fs.ErrNotExist) {
			return x, next, nil
		}
		if err != nil {
			return nil, 0, fmt.Errorf("read a statement that is kept: %w", err)
		}
		x = nil
		if err := json.Unmarshal(text, &x); err != nil {
			x = nil // not ours any more; the next one goes beside it
		}
	}
}

// writeNew writes a file that is not there yet, whole or not at all.
func writeNew(file string, content []byte) error {
	fresh, err := os.CreateTemp(filepath.Dir(file), ".new-*")
	if err != nil {
		return err
	}
	defer os.Remove(fresh.Name())
	_, err = fresh.Write(content)
	if err = errors.Join(err, fresh.Chmod(0o644), fresh.Sync(), fresh.Close()); err != nil {
		return err
	}
	return os.Link(fresh.Name(), file)
}
