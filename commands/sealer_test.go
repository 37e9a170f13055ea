package commands_test

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"seckill/commands"
	"seckill/domain"
	"seckill/eventstore"
	"seckill/eventstore/pgstore"
	"seckill/eventstore/seal"
	"seckill/infra/testenv"
)

func (v *vault) sealedTo() int64 {
	v.t.Helper()
	last, err := v.store.LastSeal(context.Background())
	if err != nil {
		v.t.Fatal(err)
	}
	if last == nil {
		return 0
	}
	return last.Last
}

func (v *vault) round(s *commands.Sealer) {
	v.t.Helper()
	if err := s.Round(context.Background()); err != nil {
		v.t.Fatal(err)
	}
}

func TestASealComesAfterSoManyEventsOrSoMuchTime(t *testing.T) {
	v := newVault(t)
	c := testenv.NewClock(time.Now())
	v.env.Now = c.Now
	s := v.sealer(commands.SealerOptions{Every: 100, After: 10 * time.Second})
	v.round(s)  // nothing is there
	v.sell(110) // 221 events
	v.round(s)
	if got := v.sealedTo(); got != 200 {
		t.Errorf("at once: sealed to %d, want the full seals, to 200", got)
	}
	c.Move(9 * time.Second)
	v.round(s)
	if got := v.sealedTo(); got != 200 {
		t.Errorf("after 9 s: sealed to %d, want 200", got)
	}
	c.Move(time.Second)
	v.round(s)
	if got := v.sealedTo(); got != 221 {
		t.Errorf("after 10 s: sealed to %d, want all", got)
	}
	last, err := v.folder.Last()
	if err != nil || last.Last != 221 || last.Number != 3 || !last.SignedBy(v.key.Public()) {
		t.Errorf("exported: got %+v, %v, want the third seal", last, err)
	}
}

func TestSealsEndWhereAPartitionEnds(t *testing.T) {
	v := newVault(t)
	store, err := pgstore.New(v.pool, v.ns, pgstore.Options{PartitionSize: 150})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close(context.Background())
	v.store = store
	v.sell(200) // 401 events
	v.seal()
	seals, err := store.Seals(t.Context(), 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	var ends []int64
	for _, s := range seals {
		ends = append(ends, s.Last)
	}
	if got, _ := json.Marshal(ends); string(got) != "[100,150,250,300,400,401]" {
		t.Errorf("got seals that end at %s", got)
	}
}

func TestSealersAtOnceMakeOneChain(t *testing.T) {
	v := newVault(t)
	v.sell(500)
	var todo sync.WaitGroup
	for i := range 4 {
		todo.Go(func() {
			s := commands.NewSealer(v.env, v.store, v.uuid, keyOf(t, byte(i+1)), v.folder, commands.SealerOptions{Every: 50, After: time.Nanosecond})
			for range 3 {
				if err := s.Round(context.Background()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	todo.Wait()
	if r := v.audit(commands.AuditOptions{}); !r.OK || r.SealedTo != 1001 {
		t.Errorf("got sealed to %d, faults %v", r.SealedTo, r.Faults)
	}
}

func TestABrokenChainIsNotSealed(t *testing.T) {
	v := newVault(t)
	v.sell(160)
	v.tamper(`update events set payload = overlay(payload placing '9' from 5) where position = 137`)
	err := v.sealer(commands.SealerOptions{Every: 100}).Round(t.Context())
	if !errors.Is(err, commands.ErrLogBroken) || !strings.Contains(err.Error(), "136") {
		t.Errorf("got %v, want ErrLogBroken with the place", err)
	}
	if got := v.sealedTo(); got != 100 {
		t.Errorf("sealed to %d, want 100, the last seal before it", got)
	}
}

func TestALogThatIsBehindItsExportedSealsIsRefusedUntilTheLossIsAccepted(t *testing.T) {
	for name, restored := range map[string]string{
		"cut off":              `with d as (delete from events where position > 230) delete from seals where last_position > 230`,
		"to before every seal": `with d as (delete from events where position > 50) delete from seals`,
		"emptied":              `with d as (delete from events) delete from seals`,
	} {
		t.Run(name, func(t *testing.T) {
			v := newVault(t)
			v.sell(160)
			v.seal()
			check := func() error { return commands.CheckNotBehind(t.Context(), v.store, v.folder, v.folder.File()) }
			if err := check(); err != nil {
				t.Fatalf("an untouched log: %v", err)
			}
			accept := func() error {
				_, err := commands.AcceptLoss(t.Context(), lossOf{v.store}, v.folder, "ops", "restored on purpose", time.Now())
				return err
			}
			if err := accept(); !errors.Is(err, commands.ErrNoLoss) {
				t.Errorf("accept no loss: got %v", err)
			}
			v.tamper(restored)
			var behind *commands.BehindError
			if err := check(); !errors.As(err, &behind) || !strings.Contains(behind.Sentence, "seckill audit verify") || !strings.Contains(behind.Sentence, "accept-loss") {
				t.Fatalf("got %v, want a sentence with a way forward", err)
			}
			if err := accept(); err != nil {
				t.Fatal(err)
			}
			if err := check(); err != nil {
				t.Errorf("after it was accepted: %v", err)
			}
			if head, err := v.store.Head(t.Context()); err != nil || head.Number > 230 {
				t.Fatal(head, err)
			}
			v.tamper(`delete from streams`) // and as an older dump would have it
			v.tamper(`insert into streams (stream, version, type, hash)
				select distinct on (stream) stream, version, type, hash from events order by stream, version desc`)
			v.stock = 0
			v.submit(eventstore.Append{Stream: "stock-28t5cy4t-mug-0", Events: []eventstore.NewEvent{v.event(&domain.StockReleased{SaleID: "28t5cy4t", SKU: "mug", Quantity: 1}, "")}})
			v.seal()
			if r := v.audit(commands.AuditOptions{}); !r.OK || r.SealedTo != r.Head {
				t.Errorf("sealed on: got %v, sealed to %d of %d", r.Faults, r.SealedTo, r.Head)
			}
			var by string
			if err := v.pool.QueryRow(t.Context(), "select by from log_losses").Scan(&by); err != nil || by != "ops" {
				t.Errorf("the log_losses: got %q, %v", by, err)
			}
		})
	}
}

type lossOf struct{ *pgstore.Store }

func (l lossOf) AddLoss(ctx context.Context, x seal.Loss) error {
	return l.Store.AddLoss(ctx, x, []string{"relay"})
}

func TestALogThatGrewAgainAfterAnOlderStateIsRefused(t *testing.T) {
	v := newVault(t)
	v.sell(160)
	v.seal()
	v.tamper(`update events set payload = overlay(payload placing '9' from 5) where position = 137`)
	v.rechain(137)
	var behind *commands.BehindError
	err := commands.CheckNotBehind(t.Context(), v.store, v.folder, "FILE")
	if !errors.As(err, &behind) || !strings.Contains(behind.Sentence, "has grown again") {
		t.Errorf("got %v, want it refused", err)
	}
}

func TestATornLogIsNoLossThatCanBeAccepted(t *testing.T) {
	v := newVault(t)
	v.sell(160)
	v.seal()
	v.tamper(`delete from events where position > 230`)
	if _, err := commands.AcceptLoss(t.Context(), lossOf{v.store}, v.folder, "ops", "x", time.Now()); !errors.Is(err, commands.ErrTornLog) {
		t.Errorf("got %v, want ErrTornLog: its seals go beyond the log", err)
	}
}

func TestABuyerGetsAProofOfTheOwnOrderOnceItIsSealed(t *testing.T) {
	v := newVault(t)
	v.env.Keys = domain.Keys{Current: 1, Secrets: map[uint8][]byte{1: []byte("0123456789abcdef0123456789abcdef")}}
	v.sell(60)
	id, err := domain.NewOrderID(v.env.Keys, domain.Place{Store: 1, Sale: "28t5cy4t"}, "buyer-1", [10]byte{1})
	if err != nil {
		t.Fatal(err)
	}
	prover := &commands.Prover{Env: v.env, Log: v.store}
	refused := func(buyer, id string, code domain.Code) {
		t.Helper()
		var p *domain.Problem
		if _, err := prover.Prove(t.Context(), buyer, id); !errors.As(err, &p) || p.Code != code {
			t.Errorf("%s asks for %s: got %v, want %s", buyer, id, err, code)
		}
	}
	refused("buyer-1", id, domain.CodeNotReady) // not decided in the log
	placed := v.event(&domain.OrderPlaced{OrderID: id, SaleID: "28t5cy4t", BuyerID: "buyer-1"}, id)
	v.submit(eventstore.Append{Stream: domain.OrderStream(id), Events: []eventstore.NewEvent{placed}})
	refused("buyer-1", id, domain.CodeNotReady) // not sealed
	v.seal()
	v.sell(60)
	paid := v.event(&domain.OrderPaid{OrderID: id}, id)
	v.submit(eventstore.Append{Stream: domain.OrderStream(id), Expected: 1, Events: []eventstore.NewEvent{paid}})
	refused("buyer-1", id, domain.CodeNotReady) // its newest event is not sealed
	v.seal()
	refused("buyer-2", id, domain.CodeOrderNotFound)
	refused("buyer-1", "nonsense", domain.CodeOrderNotFound)

	proof, err := prover.Prove(t.Context(), "buyer-1", id)
	if err != nil || len(proof.Events) != 2 || len(proof.Seals) != 2 || len(proof.Keys) != 1 {
		t.Fatalf("got %+v, %v, want two events under two seals", proof, err)
	}
	keys := map[string]ed25519.PublicKey{v.key.ID(): v.key.Public()}
	if err := proof.Check(keys); err != nil {
		t.Errorf("the proof does not hold: %v", err)
	}
	text, err := json.Marshal(proof)
	if err != nil {
		t.Fatal(err)
	}
	for name, touch := range map[string]func(*seal.Proof){
		"payload":   func(p *seal.Proof) { p.Events[0].Payload = p.Events[1].Payload },
		"hash":      func(p *seal.Proof) { p.Events[0].Hash = p.Events[1].Hash },
		"previous":  func(p *seal.Proof) { p.Events[0].Previous = p.Events[0].Hash },
		"position":  func(p *seal.Proof) { p.Events[0].Position++ },
		"path":      func(p *seal.Proof) { p.Events[0].Path = p.Events[0].Path[1:] },
		"seal":      func(p *seal.Proof) { p.Events[0].Seal = p.Events[1].Seal },
		"no seal":   func(p *seal.Proof) { p.Seals = nil },
		"order":     func(p *seal.Proof) { p.OrderID = "another" },
		"nothing":   func(p *seal.Proof) { p.Events = nil },
		"root":      func(p *seal.Proof) { p.Seals[0].Root = p.Seals[1].Root },
		"signature": func(p *seal.Proof) { p.Seals[0].Signature = p.Seals[1].Signature },
		"time":      func(p *seal.Proof) { p.Events[0].RecordedAt = p.Seals[0].SealedAt },
	} {
		var p seal.Proof
		if err := json.Unmarshal(text, &p); err != nil {
			t.Fatal(err)
		}
		touch(&p)
		if err := p.Check(keys); !errors.Is(err, seal.ErrNotProven) {
			t.Errorf("%s touched: got %v, want ErrNotProven", name, err)
		}
	}
	if err := proof.Check(map[string]ed25519.PublicKey{}); !errors.Is(err, seal.ErrNotProven) {
		t.Errorf("without a key that is trusted: got %v, want ErrNotProven", err)
	}
}
