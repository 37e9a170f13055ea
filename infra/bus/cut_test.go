package bus

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"seckill/eventstore"
)

func TestEnvelopesCoverTheLogOfEachShardWithoutHole(t *testing.T) {
	all := chain(300)
	o := RelayOptions{MaxEvents: 7, MaxBytes: 4000}.withDefaults()
	c := newCutter(1, eventstore.Mark{}, o)
	covered := make([]eventstore.Mark, o.Shards)
	got := make([][]eventstore.Record, o.Shards)
	for from := 0; from < len(all); from += 60 {
		page := all[from : from+60]
		envelopes, err := c.cut(page)
		if err != nil {
			t.Fatal(err)
		}
		c.advance(envelopes)
		for shard, out := range envelopes {
			for i, e := range out {
				b, err := Decode(e.data)
				if err != nil {
					t.Fatal(err)
				}
				if b.Shard != shard || b.Prev != covered[shard] {
					t.Errorf("an envelope of shard %d follows %v, want shard %d after %v", b.Shard, b.Prev, shard, covered[shard])
				}
				if len(b.Records) == 0 || len(b.Records) > 7 || (len(e.data) > 4000 && len(b.Records) > 1) {
					t.Errorf("an envelope has %d events in %d bytes, want at most 7 in 4000", len(b.Records), len(e.data))
				}
				if i == len(out)-1 && b.Last != page[len(page)-1].Head() {
					t.Errorf("the last envelope of a page covers up to %d, want its end %d", b.Last.Number, page[len(page)-1].Position)
				}
				covered[shard] = b.Last
				got[shard] = append(got[shard], b.Records...)
			}
		}
	}
	for shard := range got {
		if diff := cmp.Diff(batchOf(all, shard, o.Shards).Records, append([]eventstore.Record{}, got[shard]...)); diff != "" {
			t.Errorf("shard %d (- log, + envelopes):\n%s", shard, diff)
		}
	}
}

func TestAnEventLargerThanTheBoundGoesAlone(t *testing.T) {
	all := chain(3)
	for i := range all {
		all[i].Stream, all[i].OrderID = "order-a", "a"
	}
	all[1].Payload = make([]byte, 10_000)
	c := newCutter(1, eventstore.Mark{}, RelayOptions{MaxBytes: 2000}.withDefaults())
	envelopes, err := c.cut(all)
	if err != nil {
		t.Fatal(err)
	}
	var sizes []int
	for _, e := range envelopes[eventstore.ShardOf("a", eventstore.DefaultShards)] {
		sizes = append(sizes, len(e.batch.Records))
	}
	if diff := cmp.Diff([]int{1, 1, 1}, sizes); diff != "" {
		t.Errorf("events per envelope (- want, + got):\n%s", diff)
	}
}
