package bus

import (
	"encoding/json"

	"seckill/eventstore"
)

// frameBytes is room for everything of an envelope but its events.
const frameBytes = 512

// sealed is an envelope ready to go.
type sealed struct {
	batch eventstore.Batch
	data  []byte
}

// cutter turns pages of the log into envelopes. For each shard it remembers
// how far its envelopes have covered the log.
type cutter struct {
	store    int16
	covered  []eventstore.Mark // by shard
	maxCount int
	maxBytes int
}

func newCutter(store int16, at eventstore.Mark, o RelayOptions) *cutter {
	c := &cutter{store: store, covered: make([]eventstore.Mark, o.Shards), maxCount: o.MaxEvents, maxBytes: o.MaxBytes}
	for s := range c.covered {
		c.covered[s] = at
	}
	return c
}

// cut gives the envelopes of a page by shard. The last envelope of a shard
// covers up to the end of the page; a shard without records in the page gets
// none, and its next envelope says so by its prev.
func (c *cutter) cut(page []eventstore.Record) ([][]sealed, error) {
	shards := len(c.covered)
	parts := make([][]eventstore.Record, shards)
	for i := range page {
		s := page[i].Shard(shards)
		parts[s] = append(parts[s], page[i])
	}
	end := page[len(page)-1].Head()
	out := make([][]sealed, shards)
	for s, records := range parts {
		if len(records) == 0 {
			continue
		}
		envelopes, err := c.cutShard(s, records, end)
		if err != nil {
			return nil, err
		}
		out[s] = envelopes
	}
	return out, nil
}

// advance remembers that the envelopes of a page are out.
func (c *cutter) advance(envelopes [][]sealed) {
	for s, out := range envelopes {
		if len(out) > 0 {
			c.covered[s] = out[len(out)-1].batch.Last
		}
	}
}

func (c *cutter) cutShard(shard int, records []eventstore.Record, end eventstore.Mark) ([]sealed, error) {
	var (
		out    []sealed
		prev   = c.covered[shard]
		events []json.RawMessage
		from   = 0
		bytes  = frameBytes
	)
	flush := func(to int, last eventstore.Mark) error {
		b := eventstore.Batch{Store: c.store, Shard: shard, Shards: len(c.covered), Prev: prev, Last: last, Records: records[from:to]}
		data, err := seal(b, events)
		if err != nil {
			return err
		}
		out = append(out, sealed{batch: b, data: data})
		prev, from, events, bytes = last, to, nil, frameBytes
		return nil
	}
	for i := range records {
		e, err := encodeEvent(&records[i])
		if err != nil {
			return nil, err
		}
		if len(events) > 0 && (len(events) >= c.maxCount || bytes+len(e)+1 > c.maxBytes) {
			if err := flush(i, records[i-1].Head()); err != nil {
				return nil, err
			}
		}
		events, bytes = append(events, e), bytes+len(e)+1
	}
	err := flush(len(records), end)
	return out, err
}
