package commands_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"seckill/commands"
	"seckill/domain"
	"seckill/eventstore"
	"seckill/eventstore/seal"
)

func faultsOf(r commands.AuditReport) string {
	var b strings.Builder
	for _, f := range r.Faults {
		fmt.Fprintf(&b, "%s@%d ", f.Kind, f.Position)
	}
	return b.String()
}

func TestAnUntouchedLogHoldsWholeAndInParts(t *testing.T) {
	v := newVault(t)
	if r := v.audit(commands.AuditOptions{}); !r.OK || r.Events != 0 {
		t.Errorf("an empty log: got %+v", r)
	}
	v.sell(700)
	v.seal()
	head, err := v.store.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, opts := range []commands.AuditOptions{{}, {Chunk: 1}, {Chunk: 7, Workers: 3}, {Chunk: 100, Workers: 5}, {Workers: 1}} {
		r := v.audit(opts)
		if !r.OK || r.Events != 1401 || r.Head != head.Number || r.Hash != head.Hash.String() || r.SealedTo != 1401 || r.Seals != 15 || len(r.Warnings) != 0 {
			t.Errorf("%+v: got %+v", opts, r)
		}
	}
	for _, c := range []struct {
		opts            commands.AuditOptions
		from, to, seals int64
	}{
		{commands.AuditOptions{From: 2}, 1, 1401, 15}, {commands.AuditOptions{From: 350, To: 900, Chunk: 50}, 301, 900, 6},
		{commands.AuditOptions{From: 101, To: 200}, 101, 200, 1}, {commands.AuditOptions{From: 1401}, 1401, 1401, 1}, {commands.AuditOptions{To: 1}, 1, 100, 1},
	} {
		r := v.audit(c.opts)
		if !r.OK || r.From != c.from || r.Head != c.to || r.Events != c.to-c.from+1 || r.Seals != c.seals || r.SealedTo != c.to {
			t.Errorf("%+v: got %+v, want the whole seals from %d to %d and no fault", c.opts, r, c.from, c.to)
		}
	}
	v.tamper(`update seals set root = sha256(root) where number = 4`)
	v.folder = seal.NewFolder(t.TempDir(), v.uuid)
	r := v.audit(commands.AuditOptions{From: 350, To: 360})
	if got := faultsOf(r); !strings.Contains(got, "seal@301 ") || strings.Contains(strings.Join(r.Warnings, " "), "under no seal") {
		t.Errorf("a part of a forged seal: got %s and %q, want the seal found and nothing called unsealed", got, r.Warnings)
	}
}

func TestEveryWayToTamperWithTheLogIsFoundWithItsPlace(t *testing.T) {
	const rest = "position, event_id, stream, version, type, schema, sale_id, order_id, recorded_at, payload, metadata, hash"
	for name, c := range map[string]struct {
		sql   string
		kinds string // faults that must be there
	}{
		"a byte of a payload":      {`update events set payload = overlay(payload placing '9' from 5) where position = 137`, "chain@137"},
		"a hash":                   {`update events set hash = sha256(hash) where position = 137`, "chain@137 chain@138 seal@101"},
		"a time":                   {`update events set recorded_at = recorded_at + interval '1 s' where position = 137`, "chain@137"},
		"a type":                   {`update events set type = 'stock.returned' where position = 3`, "chain@3"},
		"a column that only finds": {`update events set order_id = 'another' where position = 137`, "payload@137"},
		"a row deleted":            {`delete from events where position = 137`, "missing@137 seal@101"},
		"rows deleted":             {`delete from events where position between 190 and 215`, "missing@190 seal@101 seal@201"},
		"the first row":            {`delete from events where position = 1`, "missing@1 seal@1"},
		"two rows swapped": {`create temp table a as select * from events where position in (137, 140);
			delete from events where position in (137, 140);
			insert into events (` + rest + `) select 277 - position, event_id, stream, version, type, schema, sale_id, order_id, recorded_at, payload, metadata, hash from a`,
			"chain@137 chain@138 chain@140 chain@141 seal@101"},
		"the tail cut off":     {`delete from events where position > 250`, "seal@251 seal@301"},
		"a whole seal of tail": {`with d as (delete from events where position > 300) delete from seals where first_position > 300`, "seal@301"},
		"everything":           {`with d as (delete from events) delete from seals`, "seal@1"},
		"a seal deleted":       {`delete from seals where number = 2`, "seal@101"},
		"a root changed":       {`update seals set root = sha256(root) where number = 2`, "seal@101"},
		"a signature changed":  {`update seals set signature = overlay(signature placing '\xff' from 7) where number = 4`, "seal@301"},
		"a partition dropped":  {`drop table events_000000000001 cascade`, "seal@1"},
		"a partition detached": {`alter table events detach partition events_000000000001`, "seal@1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := newVault(t)
			v.sell(160) // 321 events
			v.seal()
			if r := v.audit(commands.AuditOptions{}); !r.OK {
				t.Fatalf("before: got %v", r.Faults)
			}
			v.tamper(c.sql)
			for _, opts := range []commands.AuditOptions{{}, {Chunk: 10, Workers: 4}} {
				got := faultsOf(v.audit(opts))
				for _, want := range strings.Fields(c.kinds) {
					if !strings.Contains(got, want+" ") {
						t.Errorf("%+v: got faults %s, want %s", opts, got, want)
					}
				}
			}
		})
	}
}

func TestALogThatWasRechainedAndSealedAnewIsFoundByTheExportedSeals(t *testing.T) {
	v := newVault(t)
	v.sell(160)
	v.seal()
	v.tamper(`update events set payload = convert_to(replace(convert_from(payload, 'UTF8'), 'buyer-1', 'buyer-2'), 'UTF8') where position = 137`)
	v.rechain(137)
	r := v.audit(commands.AuditOptions{})
	if got := faultsOf(r); !strings.HasPrefix(got, "seal@101 ") || strings.Contains(got, "chain") {
		t.Errorf("re-chained: got %s, want the seals from position 101 on", got)
	}
	// He has the database and seals it anew with a key of his own.
	v.tamper(`delete from seals`)
	honest, key := v.folder, v.key
	v.folder, v.key = seal.NewFolder(t.TempDir(), v.uuid), keyOf(t, 66)
	v.seal()
	if r := v.audit(commands.AuditOptions{}); !r.OK {
		t.Fatalf("by what he made himself: got %v, want it to look whole, else this test shows nothing", r.Faults)
	}
	v.folder = honest
	if got := faultsOf(v.audit(commands.AuditOptions{})); !strings.Contains(got, "seal@1 ") || !strings.Contains(got, "seal@101 ") {
		t.Errorf("by the exported seals: got %s, want the forged ones found", got)
	}
	// Nor does the honest sealer go on over it.
	v.key = key
	err := v.sealer(commands.SealerOptions{Every: 100, After: time.Nanosecond}).Round(t.Context())
	if err == nil || !strings.Contains(err.Error(), seal.ErrFork.Error()) {
		t.Errorf("seal on: got %v, want ErrFork", err)
	}
}

func TestASealForgedAheadOfTheExportIsFound(t *testing.T) {
	v := newVault(t)
	v.sell(160)
	v.seal()
	v.sell(50)
	last, err := v.store.LastSeal(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	hashes, err := v.store.Hashes(t.Context(), 322, 422)
	if err != nil {
		t.Fatal(err)
	}
	forged := seal.Seal{StoreUUID: v.uuid, Number: last.Number + 1, First: 322, Last: 422, Root: seal.Root(hashes), Head: hashes[len(hashes)-1], Previous: last.Hash(), SealedAt: time.Now()}
	forged.Sign(keyOf(t, 66))
	if _, err := v.store.AddSeal(t.Context(), forged); err != nil {
		t.Fatal(err)
	}
	if got := faultsOf(v.audit(commands.AuditOptions{})); got != "seal@322 " {
		t.Errorf("got %s, want the forged seal", got)
	}
}

func TestTheStockRuleIsCheckedAtEveryPosition(t *testing.T) {
	v := newVault(t)
	v.sell(3) // 1 + 6 events
	take := func(units int64) {
		v.submit(eventstore.Append{Stream: vaultStream, Expected: v.stock, Events: []eventstore.NewEvent{
			v.event(&domain.StockReserved{SaleID: "28t5cy4t", SKU: "tea", OrderID: "o", BuyerID: "b", Quantity: units, Entry: "7-43.1"}, "o")}})
		v.stock++
	}
	take(1)      // 8: one too many
	v.release(5) // 9: covers it, too late
	take(4)      // 10
	r := v.audit(commands.AuditOptions{Chunk: 2})
	if got := faultsOf(r); got != "stock@8 " || r.Faults[0].Stream != vaultStream || r.Faults[0].Version != 5 {
		t.Errorf("got %+v, want the one position at which more was taken than there was", r.Faults)
	}
	if r := v.audit(commands.AuditOptions{From: 9}); !r.OK {
		t.Errorf("from behind it: got %+v, want the account folded from before", r.Faults)
	}
	take(2)
	if got := faultsOf(v.audit(commands.AuditOptions{From: 10})); got != "stock@11 " {
		t.Errorf("from position 10: got %s, want stock@11", got)
	}
}

func TestAStockMayGoBelowZeroByItsSalesOverdraftAndNoFurther(t *testing.T) {
	v := newVault(t)
	v.submit(eventstore.Append{Stream: domain.SaleStream("28t5cy4t"), Events: []eventstore.NewEvent{v.event(&domain.SaleScheduled{
		SaleID: "28t5cy4t", SaleTerms: domain.SaleTerms{Buckets: 1, Items: []domain.ItemTerms{{SKU: "tea", Stock: 3, Overdraft: 2}}},
	}, "")}}) // 1
	v.sell(3) // 2 to 8
	take := func() {
		v.submit(eventstore.Append{Stream: vaultStream, Expected: v.stock, Events: []eventstore.NewEvent{
			v.event(&domain.StockReserved{SaleID: "28t5cy4t", SKU: "tea", OrderID: "o", BuyerID: "b", Quantity: 1}, "o")}})
		v.stock++
	}
	take()
	take() // 10: as far as it may go
	for _, from := range []int64{0, 5} {
		if r := v.audit(commands.AuditOptions{From: from, Chunk: 2}); !r.OK {
			t.Errorf("from %d: got %+v, want two units of overdraft allowed", from, r.Faults)
		}
	}
	take()
	for _, from := range []int64{0, 5} {
		if got := faultsOf(v.audit(commands.AuditOptions{From: from, Chunk: 2})); got != "stock@11 " {
			t.Errorf("from %d: got %s, want stock@11", from, got)
		}
	}
}

func TestVersionsThatSkipOrComeTwiceAreFoundWithTheirStream(t *testing.T) {
	v := newVault(t)
	v.sell(160)
	v.tamper(`update events set version = version + 1000 where position >= 100 and stream = $1`, vaultStream)
	v.rechain(100)
	r := v.audit(commands.AuditOptions{})
	r.Faults = slices.DeleteFunc(r.Faults, func(f commands.AuditFault) bool { return f.Kind == commands.FaultStreamHead })
	if r.FaultsTotal != 2 || len(r.Faults) != 1 || r.Faults[0].Kind != commands.FaultVersion || r.Faults[0].Stream != vaultStream || !strings.Contains(r.Faults[0].Detail, "follows") {
		t.Errorf("got %+v, want the one gap of the stock stream", r.Faults)
	}
}

func TestAnEventThatCannotBeReadIsAFaultAndOneOfTheFutureANote(t *testing.T) {
	v := newVault(t)
	broken, future := v.event(&domain.StockReleased{SaleID: "28t5cy4t", SKU: "tea", Quantity: 5}, ""), v.event(&domain.StockReleased{SaleID: "28t5cy4t", SKU: "tea", Quantity: 5}, "")
	broken.Payload, future.Type = []byte(`{"sale_id":"28t5cy4t","quantity":"five"}`), "stock.unheard_of"
	v.submit(eventstore.Append{Stream: vaultStream, Events: []eventstore.NewEvent{future, broken}})
	r := v.audit(commands.AuditOptions{})
	if got := faultsOf(r); got != "payload@2 " || len(r.Warnings) != 2 {
		t.Errorf("got %s and notes %v, want a payload fault at 2 and a note about the other", got, r.Warnings)
	}
}

func TestAnEventOfAnyStreamThatCannotBeReadIsAFault(t *testing.T) {
	v := newVault(t)
	var events []eventstore.NewEvent
	for _, payload := range []string{`{"oops`, `{"lines":7}`, `{"order_id":5}`} {
		e := v.event(&domain.OrderPlaced{OrderID: "a", SaleID: "28t5cy4t"}, "a")
		e.Payload = []byte(payload)
		events = append(events, e)
	}
	future := v.event(&domain.OrderPlaced{OrderID: "a", SaleID: "28t5cy4t"}, "a")
	future.Type = "order.unheard_of"
	torn := v.event(&domain.StockReleased{SaleID: "28t5cy4t", SKU: "tea", Quantity: 5}, "")
	whole := torn
	whole.ID, torn.Payload = v.event(&domain.StockReleased{}, "").ID, []byte(`{"sale_id":"28t5cy4t","sku":tea,"quantity":5}`)
	v.submit(eventstore.Append{Stream: "order-a", Events: append(events, future)}, eventstore.Append{Stream: vaultStream, Events: []eventstore.NewEvent{whole, torn}})
	r := v.audit(commands.AuditOptions{})
	if got := faultsOf(r); got != "payload@1 payload@2 payload@3 payload@6 " || !strings.Contains(strings.Join(r.Warnings, " "), "in other streams, 1 are") {
		t.Errorf("got %s and notes %v, want each payload that cannot be read and a note about the unknown type", got, r.Warnings)
	}
}

func TestWhereAStreamStandsIsComparedWithTheLog(t *testing.T) {
	for name, c := range map[string]struct{ sql, want string }{
		"ahead":  {`update streams set version = version + 7 where stream = $1 and version = (select max(version) from streams where stream = $1)`, "stream_head@0 "},
		"behind": {`with d as (delete from streams where stream = $1) insert into streams select $1, 0 + 3, 'stock.reserved', sha256('')`, "stream_head@"},
		"gone":   {`delete from streams where stream = $1`, "stream_head@"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := newVault(t)
			v.sell(20)
			v.seal()
			v.tamper(c.sql, vaultStream)
			r := v.audit(commands.AuditOptions{})
			if got := faultsOf(r); r.FaultsTotal != 1 || !strings.HasPrefix(got, c.want) || r.Faults[0].Stream != vaultStream {
				t.Errorf("got %+v, want one fault of the stream", r.Faults)
			}
		})
	}
}

func TestAnAuditBesideWritersAndSealersFindsNothing(t *testing.T) {
	v := newVault(t)
	v.sell(20)
	v.seal()
	done := make(chan struct{})
	var writing sync.WaitGroup
	writing.Go(func() {
		s := v.sealer(commands.SealerOptions{Every: 10, After: time.Nanosecond})
		for {
			select {
			case <-done:
				return
			default:
			}
			v.sell(15)
			if err := s.Round(context.Background()); err != nil {
				t.Error(err)
				return
			}
		}
	})
	for range 25 {
		if r := v.audit(commands.AuditOptions{Chunk: 50}); !r.OK {
			t.Errorf("got %+v", r.Faults)
			break
		}
	}
	close(done)
	writing.Wait()
}

func TestAnAuditIsGivenUpWithItsContext(t *testing.T) {
	v := newVault(t)
	v.sell(50)
	ctx, cancel := context.WithCancel(t.Context())
	a := commands.Auditor{Log: v.store, Stored: v.store}
	_, err := a.Verify(ctx, commands.AuditOptions{Chunk: 5, Progress: func(done, _ int64) { cancel() }})
	if err == nil || ctx.Err() == nil {
		t.Errorf("got %v, want the context's end", err)
	}
}

// BenchmarkAudit verifies a log of 300,000 events, chain, versions, stock rule and
// seals, with PostgreSQL on the same machine.
func BenchmarkAudit(b *testing.B) {
	v := newVault(b)
	v.sell(150_000)
	s := v.sealer(commands.SealerOptions{})
	if err := s.Round(b.Context()); err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	for range b.N {
		if r := v.audit(commands.AuditOptions{}); !r.OK || r.Events != 300_001 || r.Seals != 300 {
			b.Fatalf("got %+v", r)
		}
	}
	b.ReportMetric(300_001*float64(b.N)/b.Elapsed().Seconds(), "events/s")
}

func TestAReportHasTheContractsNames(t *testing.T) {
	v := newVault(t)
	v.sell(2)
	text, err := json.Marshal(v.audit(commands.AuditOptions{}))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{`"events":5`, `"head":5`, `"hash":"`, `"ok":true`, `"faults":[]`} {
		if !strings.Contains(string(text), name) {
			t.Errorf("got %s, want %s in it", text, name)
		}
	}
}
