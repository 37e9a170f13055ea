package bus

import (
	"context"
	"fmt"
	"strconv"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"
	"golang.org/x/sync/errgroup"

	"seckill/eventstore"
)

// envelopes is the outlet for our own receivers: pages cut by shard.
type envelopes struct {
	store   int16
	publish Publisher
	options RelayOptions
	cutter  *cutter
}

func (e *envelopes) begin(at eventstore.Mark) { e.cutter = newCutter(e.store, at, e.options) }

// ship sends the envelopes of a page: shards side by side, each in order.
func (e *envelopes) ship(_ context.Context, page []eventstore.Record) (shipped, error) {
	cut, err := e.cutter.cut(page)
	if err != nil {
		return shipped{}, err
	}
	var group errgroup.Group
	for shard, out := range cut {
		if len(out) > 0 {
			group.Go(func() error { return e.send(shard, out) })
		}
	}
	if err := group.Wait(); err != nil {
		return shipped{}, err
	}
	e.cutter.advance(cut)
	var sent shipped
	for _, out := range cut {
		for i := range out {
			sent.messages++
			sent.events += int64(len(out[i].batch.Records))
			sent.bytes += int64(len(out[i].data))
		}
	}
	return sent, nil
}

func (e *envelopes) send(shard int, out []sealed) (err error) {
	messages := make([]*message.Message, len(out))
	for i := range out {
		messages[i] = message.NewMessage(watermill.NewUUID(), out[i].data)
		messages[i].Metadata.Set(ShardHeader, strconv.Itoa(shard))
		if e.options.Traced != nil {
			traceparent, sent := e.options.Traced(out[i].batch.Records)
			defer func() { sent(err) }()
			if traceparent != "" {
				messages[i].Metadata.Set(TraceHeader, traceparent)
			}
		}
	}
	if err := e.publish.Publish(e.options.Topics(shard), messages...); err != nil {
		return fmt.Errorf("publish %d envelopes of shard %d: %w", len(messages), shard, err)
	}
	return nil
}
