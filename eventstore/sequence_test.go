package eventstore

import (
	"fmt"
	"strings"
	"testing"
)

// These numbers are stored (checkpoints, rows of sale_summary): if this test
// fails, the function changed, and every view would have to be rebuilt.
func TestShardsOfKnownKeysNeverChange(t *testing.T) {
	keys := []string{"", "order-1", "stock-sale-sku-0", "sale-00000001", "汉字"}
	want := map[int][]int{1: {0, 0, 0, 0, 0}, 8: {2, 3, 3, 0, 4}, 16: {10, 11, 11, 0, 4}}
	for shards, all := range want {
		for i, key := range keys {
			if got := ShardOf(key, shards); got != all[i] {
				t.Errorf("shard of %q among %d: got %d, want %d", key, shards, got, all[i])
			}
		}
	}
}

func TestShardsShareKeysEvenly(t *testing.T) {
	const keys, shards = 16_000, 8
	var count [shards]int
	for i := range keys {
		count[ShardOf(fmt.Sprintf("order-%06d", i), shards)]++
	}
	for s, n := range count {
		if n < keys/shards*9/10 || n > keys/shards*11/10 {
			t.Errorf("shard %d has %d of %d keys, want about %d", s, n, keys, keys/shards)
		}
	}
}

func TestAnOrdersRecordsAreOfOneShardInWhateverStream(t *testing.T) {
	a := Record{Stream: "order-x", OrderID: "x"}
	b := Record{Stream: "stock-s-k-0", OrderID: "x"}
	if a.SequenceKey() != b.SequenceKey() {
		t.Errorf("keys %q and %q, want the same", a.SequenceKey(), b.SequenceKey())
	}
	if c := (Record{Stream: "sale-s"}); c.SequenceKey() != "sale-s" {
		t.Errorf("key of a record without order: got %q, want its stream", c.SequenceKey())
	}
}

func TestABatchOutOfPlaceIsRefused(t *testing.T) {
	key := "k"
	shard := ShardOf(key, 8)
	rec := func(p int64) Record { return Record{Position: p, Stream: key} }
	good := func() Batch {
		return Batch{Store: 1, Shard: shard, Shards: 8, Prev: Mark{Number: 2}, Last: Mark{Number: 9}, Records: []Record{rec(3), rec(9)}}
	}
	b := good()
	if err := b.Validate(); err != nil {
		t.Fatalf("a good batch: %v", err)
	}
	for name, spoil := range map[string]func(*Batch){
		"want a shard":     func(b *Batch) { b.Shard = 8 },
		"store 0":          func(b *Batch) { b.Store = 0 },
		"go forward":       func(b *Batch) { b.Last = b.Prev },
		"out of place":     func(b *Batch) { b.Records[0].Position = 2 },
		"position 10 is":   func(b *Batch) { b.Records[1].Position = 10 },
		"position 3 is ou": func(b *Batch) { b.Records[1].Position = 3 },
		"is of shard":      func(b *Batch) { b.Shard = (shard + 1) % 8 },
	} {
		b := good()
		spoil(&b)
		if err := b.Validate(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("got %v, want an error with %q", err, name)
		}
	}
}

func TestTheRestOfABatchBeginsBehindTheMark(t *testing.T) {
	b := Batch{Prev: Mark{Number: 2}, Last: Mark{Number: 9}, Records: []Record{{Position: 3}, {Position: 5}, {Position: 9}}}
	rest := b.After(Mark{Number: 5})
	if len(rest.Records) != 1 || rest.Records[0].Position != 9 || rest.Prev.Number != 5 || rest.Last.Number != 9 {
		t.Errorf("got %+v, want position 9 alone, after 5", rest)
	}
	if len(b.Records) != 3 {
		t.Errorf("the whole batch changed: %+v", b)
	}
}
