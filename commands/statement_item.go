package commands

import (
	"context"
	"path/filepath"
)

// StatementItem is the line of a clean-up's checklist that keeps the closing
// statement: register it with Cleanup.Before, so that it is made while all that it
// tells of is there.
type StatementItem struct{ Keeper StatementKeeper }

// Name is that of the item.
func (StatementItem) Name() string { return "statement" }

// Do makes and keeps the statement, and names its file and digest.
func (i StatementItem) Do(ctx context.Context, run *CleanupRun) (found string, err error) {
	kept, err := i.Keeper.Keep(ctx, run.Sale.ID)
	if err != nil {
		return "", err
	}
	return filepath.Base(kept.File) + ", SHA-256 " + kept.SHA256, nil
}
