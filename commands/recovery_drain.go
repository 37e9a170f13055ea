package commands

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"seckill/domain"
	"seckill/eventstore"
)

// drain records, in a recovery of a lane under an epoch, what the lane's journal has
// and the log has not.
type drain struct {
	*Keeper
	lane  int
	epoch int64
	// last is the newest event that it stored; zero for none.
	last eventstore.Mark
}

// errLogWentBack: the log has lost what was recorded a moment ago.
var errLogWentBack = errors.New("the log went back while the lane was recovered")

// stands checks that the log still has what was recorded: one that went back since
// may be under our epoch all the same, and nobody would read the journal's older
// epochs again.
func (d *drain) stands(ctx context.Context) error {
	if d.last == (eventstore.Mark{}) {
		return nil
	}
	records, err := d.log.ReadAll(ctx, d.last.Number-1, 1)
	if err != nil {
		return fmt.Errorf("read what was recorded: %w", err)
	}
	if len(records) == 0 || records[0].Head() != d.last {
		return fmt.Errorf("event %d is gone: %w", d.last.Number, errLogWentBack)
	}
	return nil
}

// stored notes what was recorded.
func (d *drain) stored(records []eventstore.Record) {
	if n := len(records); n > 0 && records[n-1].Position > d.last.Number {
		d.last = records[n-1].Head()
	}
}

// all records every purchase of the journal whose order is undecided. It
// reads the whole journal from its cut, all epochs.
func (d *drain) all(ctx context.Context, cut JournalCut) error {
	k, lane := d.Keeper, d.lane
	after := cut.ID
	chain := journalChain{lane: lane, last: cut.ID, digest: cut.Digest}
	for {
		entries, err := k.gate.ReadLane(ctx, lane, after, drainPage)
		if err != nil {
			return fmt.Errorf("read the journal after %s: %w", after, err)
		}
		var page []accepted
		for _, e := range entries {
			if err := chain.follow(e); err != nil {
				k.env.Log.Error("journal read in a recovery", "alarm", AlarmJournalChain, "lane", lane, "error", err)
				k.opts.Alarm(Alarm{Kind: AlarmJournalChain, Lane: lane, Detail: err.Error(), Logged: true})
			}
			entry, err := openEntry(e)
			if err != nil {
				return err
			}
			if entry.taken != nil {
				if err := d.page(ctx, page); err != nil {
					return err
				}
				page = nil
				if err := d.taken(ctx, entry.taken); err != nil {
					return err
				}
			}
			page = append(page, entry.purchases...)
			after = e.ID
		}
		if err := d.page(ctx, page); err != nil {
			return err
		}
		if len(entries) < drainPage {
			return nil
		}
	}
}

// drainPage bounds how many entries of a journal are read at once.
const drainPage = 100

// journalChain checks the digests of a journal from its cut on. Where no cut is
// known, the first entry it sees starts the chain unless it is the first of its
// epoch.
type journalChain struct {
	lane   int
	last   domain.EntryID
	digest string
}

func (c *journalChain) follow(e JournalEntry) error {
	previous, known := c.digest, c.digest != ""
	if e.ID.N == 1 {
		previous, known = domain.FirstDigest(c.lane, e.ID.Epoch), true
	}
	last := c.last
	c.last, c.digest = e.ID, e.Digest
	if known && (domain.NextDigest(previous, e.Body) != e.Digest || (e.ID.N != 1 && e.ID.N != last.N+1)) {
		return fmt.Errorf("entry %s does not follow %s by its digest", e.ID, last)
	}
	return nil
}

// page records a page, each transaction checking that the epoch is still
// ours. A purchase that cannot be recorded is tried alone, and in the end
// rejected as poison, like in the recorder.
func (d *drain) page(ctx context.Context, page []accepted) error {
	undecided, err := d.undecided(ctx, page)
	if err != nil {
		return err
	}
	w := pageWork{lane: d.lane, check: stillUnder(d.lane, d.epoch)}
	for some := range slices.Chunk(undecided, drainChunk) {
		records, err := submitPage(ctx, d.env, d.log, some, w)
		d.stored(records)
		if errors.Is(err, eventstore.ErrData) {
			err = d.alone(ctx, some, w)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// stillUnder checks that a lane's epoch has not moved.
func stillUnder(lane int, epoch int64) func(eventstore.Look) error {
	return func(look eventstore.Look) error {
		if look.Cursor(lane).Epoch != epoch {
			return ErrOvertaken
		}
		return nil
	}
}

// taken records the withdrawal or move of an entry that the log does not know, and hears
// again of one it knows: what a move brings into another lane goes there by that lane's
// keeper.
func (d *drain) taken(ctx context.Context, t taken) error {
	records, err := submitTaken(ctx, d.env, d.log, t, pageWork{lane: d.lane, check: stillUnder(d.lane, d.epoch)})
	if err != nil {
		return err
	}
	d.stored(records)
	return nil
}

// drainChunk bounds how many purchases go into one transaction.
const drainChunk = 500

// alone records the purchases of a page one by one.
func (d *drain) alone(ctx context.Context, page []accepted, w pageWork) error {
	tries := RecorderOptions{}.withDefaults().PoisonTries
	for i := range page {
		a := &page[i]
		var records []eventstore.Record
		var err error
		for range tries {
			if records, err = submitPage(ctx, d.env, d.log, page[i:i+1], w); !errors.Is(err, eventstore.ErrData) {
				break
			}
		}
		if errors.Is(err, eventstore.ErrData) {
			a.spoil(err)
			d.opts.Alarm(Alarm{Kind: AlarmPoison, Lane: w.lane, Detail: a.entry.String() + ": " + err.Error()})
			records, err = submitPage(ctx, d.env, d.log, page[i:i+1], w)
		}
		if err != nil {
			return err
		}
		d.stored(records)
	}
	return nil
}

// undecided leaves out the purchases whose order is decided and not rejected.
func (d *drain) undecided(ctx context.Context, page []accepted) ([]accepted, error) {
	streams := make([]string, len(page))
	for i := range page {
		streams[i] = page[i].orderStream()
	}
	states, err := d.log.States(ctx, streams)
	if err != nil {
		return nil, fmt.Errorf("read what became of %d orders: %w", len(page), err)
	}
	var left []accepted
	for i := range page {
		if states[i].Version == 0 || states[i].Type == (&domain.OrderRejected{}).EventType() {
			left = append(left, page[i])
		}
	}
	return left, nil
}
