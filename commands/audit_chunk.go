package commands

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/maphash"
	"strings"
	"time"

	"seckill/domain"
	"seckill/eventstore"
)

// auditChunk is what one worker found in a run of positions: faults that show in
// the run alone, and what has to be seen in order.
type auditChunk struct {
	first, last int64
	steps       []auditStep
	stocks      []auditStock
	overdrafts  []auditOverdraft
	moves       []moveSide
	faults      []AuditFault
	begins      time.Time
	ends        time.Time
	unknown     int // events in stock streams of types this program does not know
	strange     int // such events in other streams
}

// auditStep is one record, in 56 bytes.
type auditStep struct {
	position int64
	stream   uint64 // hash of its name
	version  int64
	hash     eventstore.Hash
}

// auditStock is what the record at a step does to its stock.
type auditStock struct {
	step   int
	change domain.Account
}

// auditOverdraft is what the record at a step lets a stock stream go below zero.
type auditOverdraft struct {
	step   int
	stream uint64
	units  int64
}

// streamSeed makes the hashes of stream names of one audit; they are no secret,
// but nobody can choose names that meet.
type streamSeed = maphash.Seed

// readChunk reads and checks positions first to last.
func readChunk(ctx context.Context, log AuditLog, seed streamSeed, first, last int64) (*auditChunk, error) {
	c := &auditChunk{first: first, last: last, steps: make([]auditStep, 0, last-first+1)}
	r := chunkReader{chunk: c, seed: seed, learned: map[stockForm]stockEffect{}, at: first - 1}
	if first > 1 {
		h, ok, err := log.HashAt(ctx, first-1)
		if err != nil {
			return nil, err
		}
		r.before, r.broken = h, !ok
	}
	if err := log.Scan(ctx, first-1, last, r.add); err != nil {
		return nil, err
	}
	if r.at < last {
		r.missing(r.at+1, last)
	}
	return c, nil
}

// chunkReader goes through the records of a chunk.
type chunkReader struct {
	chunk   *auditChunk
	seed    streamSeed
	learned map[stockForm]stockEffect
	at      int64
	before  eventstore.Hash
	broken  bool // the hash before is not known
	scratch []byte
}

func (c *chunkReader) fault(r *eventstore.Record, kind, format string, values ...any) {
	c.chunk.faults = append(c.chunk.faults, AuditFault{
		Position: r.Position, Stream: strings.Clone(r.Stream), Version: r.Version, Kind: kind, Detail: fmt.Sprintf(format, values...),
	})
}

func (c *chunkReader) missing(first, last int64) {
	detail := "there is no record at this position"
	if last > first {
		detail = fmt.Sprintf("there are no records at positions %d to %d", first, last)
	}
	c.chunk.faults = append(c.chunk.faults, AuditFault{Position: first, Kind: FaultMissing, Detail: detail})
}

func (c *chunkReader) add(r *eventstore.Record) error {
	if r.Position != c.at+1 {
		c.missing(c.at+1, r.Position-1)
		c.broken = true
	}
	c.at = r.Position
	if !c.broken {
		var h eventstore.Hash
		if h, c.scratch = eventstore.ComputeHashIn(c.scratch, c.before, r); h != r.Hash {
			c.fault(r, FaultChain, "the hash does not follow from the record and the hash before it: the record, or the hash, was changed")
		}
	}
	c.before, c.broken = r.Hash, false
	switch {
	case len(c.chunk.steps) == 0:
		c.chunk.begins = r.RecordedAt
	case r.RecordedAt.Before(c.chunk.ends):
		c.fault(r, FaultTime, "recorded at %s, before the record in front of it (%s)", r.RecordedAt.Format(time.RFC3339Nano), c.chunk.ends.Format(time.RFC3339Nano))
	}
	c.chunk.ends = r.RecordedAt
	c.chunk.steps = append(c.chunk.steps, auditStep{
		position: r.Position, stream: maphash.String(c.seed, r.Stream), version: r.Version, hash: r.Hash,
	})
	c.content(r)
	return nil
}

// content checks what an event says.
func (c *chunkReader) content(r *eventstore.Record) {
	said, plain := scanPayload(r.Payload)
	if plain {
		c.column(r, "sale_id", said.sale, r.SaleID)
		c.column(r, "order_id", said.order, r.OrderID)
	}
	if !strings.HasPrefix(r.Stream, stockPrefix) {
		ev, err := domain.Decode(r.Type, r.Schema, r.Payload)
		if errorsIsUnknown(err) {
			c.chunk.strange++
		} else if err != nil {
			c.fault(r, FaultPayload, "the event cannot be read: %v", err)
		}
		c.overdraft(r, ev)
		return
	}
	change, err := c.stockChange(r, said, plain && json.Valid(r.Payload))
	switch {
	case errorsIsUnknown(err):
		c.chunk.unknown++
	case err != nil:
		c.fault(r, FaultPayload, "the event cannot be read: %v", err)
	case change != domain.Account{}:
		c.chunk.stocks = append(c.chunk.stocks, auditStock{step: len(c.chunk.steps) - 1, change: change})
		c.move(r)
	}
}

// overdraft notes what a sale's terms let its stocks go below zero.
func (c *chunkReader) overdraft(r *eventstore.Record, ev domain.Event) {
	switch ev.(type) {
	case *domain.SaleScheduled, *domain.SaleRevised:
	default:
		return
	}
	for stream, units := range overdrafts(domain.Sale{ID: r.SaleID}.FoldSale(ev)) {
		c.chunk.overdrafts = append(c.chunk.overdrafts, auditOverdraft{
			step: len(c.chunk.steps) - 1, stream: maphash.String(c.seed, stream), units: units,
		})
	}
}

// overdrafts lists the stock streams of a sale that have an overdraft, and theirs.
func overdrafts(sale domain.Sale) map[string]int64 {
	units := map[string]int64{}
	for _, item := range sale.Terms.Items {
		if item.Overdraft <= 0 {
			continue
		}
		for bucket := range max(sale.Terms.Buckets, 1) {
			units[domain.StockStream(sale.ID, item.SKU, bucket)] = sale.OverdraftIn(item.SKU, bucket)
		}
	}
	return units
}

// stockPrefix begins the names of stock streams.
const stockPrefix = "stock-"

// column compares a column that only serves to find a record, and is no part of
// its hash, with what the hashed payload says.
func (c *chunkReader) column(r *eventstore.Record, name string, said []byte, column string) {
	if said != nil && string(said) != column {
		c.fault(r, FaultPayload, "the column %s says %q and the event says %q", name, column, said)
	}
}
