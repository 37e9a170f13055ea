package memgate

import (
	"context"
	"time"

	"seckill/commands"
	"seckill/domain"
	"seckill/eventstore"
)

// Read gives entries after the cursors: see commands.Journal.
func (g *Gate) Read(ctx context.Context, after []eventstore.Cursor, max int, wait time.Duration) ([]commands.JournalEntry, error) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for {
		entries, grown := g.readNow(after, max)
		if len(entries) > 0 || wait <= 0 {
			return entries, nil
		}
		select {
		case <-grown:
		case <-timer.C:
			return nil, nil
		case <-ctx.Done():
			return nil, nothing(ctx.Err())
		}
	}
}

// readNow reads without waiting; grown is closed when a journal grows.
func (g *Gate) readNow(after []eventstore.Cursor, max int) (entries []commands.JournalEntry, grown <-chan struct{}) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, c := range after {
		from := domain.EntryID{Epoch: c.Epoch, N: c.N}
		entries = append(entries, g.lanes[c.Lane].after(from, max-len(entries))...)
	}
	return entries, g.written
}

// after gives up to max entries of the lane after an id.
func (l *lane) after(id domain.EntryID, max int) []commands.JournalEntry {
	var some []commands.JournalEntry
	for _, e := range l.journal {
		if len(some) >= max {
			break
		}
		if e.ID.Epoch > id.Epoch || (e.ID.Epoch == id.Epoch && e.ID.N > id.N) {
			some = append(some, e)
		}
	}
	return some
}

// ReadLane pages through a lane's journal: see commands.Journal.
func (g *Gate) ReadLane(_ context.Context, lane int, after domain.EntryID, max int) ([]commands.JournalEntry, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.lanes[lane].after(after, max), nil
}

// Entry gives one entry: see commands.Journal.
func (g *Gate) Entry(_ context.Context, lane int, id domain.EntryID) (commands.JournalEntry, bool, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, e := range g.lanes[lane].journal {
		if e.ID.Epoch == id.Epoch && e.ID.N == id.N {
			return e, true, nil
		}
	}
	return commands.JournalEntry{}, false, nil
}
