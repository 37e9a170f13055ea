package cli

import (
	"context"
	"io"
	"testing"

	"github.com/google/uuid"

	"seckill/eventstore"
	"seckill/eventstore/pgstore"
	"seckill/infra/config"
	"seckill/infra/pg/pgtest"
	"seckill/projections"
)

// growingLog grows right after its end was asked for the first time.
type growingLog struct {
	*pgstore.Store
	grow func()
}

func (g *growingLog) Head(ctx context.Context) (eventstore.Mark, error) {
	head, err := g.Store.Head(ctx)
	if g.grow != nil {
		g.grow()
		g.grow = nil
	}
	return head, err
}

func TestALogThatGrowsWhileItIsLookedAtIsNotTakenForOneThatLostEvents(t *testing.T) {
	pool, _, namespace := pgtest.New(t)
	store, err := pgstore.New(pool, namespace, pgstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close(context.WithoutCancel(t.Context()))
	add := func() {
		t.Helper()
		receipt, err := store.Submit(t.Context(), eventstore.Work{Decide: func(eventstore.Look) (*eventstore.Group, error) {
			return &eventstore.Group{Appends: []eventstore.Append{{Stream: "order-x", Expected: eventstore.AnyVersion, Events: []eventstore.NewEvent{
				{ID: uuid.New(), Type: "order.paid", Schema: 1, OrderID: "x", Payload: []byte(`{}`), Metadata: []byte(`{}`)},
			}}}}, nil
		}, Needs: eventstore.Needs{Streams: []string{"order-x"}}})
		if err != nil || receipt.Outcome != eventstore.Stored {
			t.Fatalf("append: %v, %v", receipt.Outcome, err)
		}
	}
	applied := func(position int) {
		t.Helper()
		if _, err := pool.Exec(t.Context(), `insert into checkpoints (projection, version, store, shard, position, hash, applied_at)
values ('order_view', 1, 1, 0, $1, sha256('x'), now()) on conflict (projection, version, store, shard) do update set position = excluded.position`, position); err != nil {
			t.Fatal(err)
		}
	}
	add()
	log := &growingLog{Store: store, grow: func() { add(); applied(2) }}
	side := readSide{pool: pool, source: projections.Source{Store: 1, Log: log}, uuid: "x"}
	c := console{out: io.Discard, err: io.Discard, settings: config.Settings{SealDir: t.TempDir()}}
	if refusal, err := new(rebuildCmd).checkLog(t.Context(), c, side); err != nil || refusal != "" {
		t.Errorf("a log that grew: got %q, %v, want nothing against it", refusal, err)
	}
	applied(3)
	if refusal, err := new(rebuildCmd).checkLog(t.Context(), c, side); err != nil || refusal == "" {
		t.Errorf("a log that lost an event: got %q, %v, want a refusal", refusal, err)
	}
}
