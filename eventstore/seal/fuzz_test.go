package seal_test

import (
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/google/uuid"

	"seckill/eventstore"
	"seckill/eventstore/seal"
)

// proven is a proof of an order of two events that holds.
func proven(t testing.TB) *seal.Proof {
	t.Helper()
	var log []eventstore.Record
	var hashes []seal.Hash
	var before seal.Hash
	for i := range 5 {
		r := eventstore.Record{Position: int64(i + 1), ID: uuid.UUID{1, byte(i)}, Stream: "order-x", Version: int64(i + 1), Type: "order.placed", Schema: 1,
			RecordedAt: time.Unix(1_700_000_000, 0).UTC(), Payload: []byte(`{}`), Metadata: []byte(`{}`)}
		before = eventstore.ComputeHash(before, &r)
		r.Hash = before
		log, hashes = append(log, r), append(hashes, before)
	}
	s := seal.Seal{StoreUUID: "s", Number: 1, First: 1, Last: 5, Root: seal.Root(hashes), Head: before, SealedAt: time.Unix(1_700_000_001, 0).UTC()}
	s.Sign(testKey(t))
	p := &seal.Proof{OrderID: "x", Seals: []seal.Wire{s.Wire()}}
	for _, i := range []int{1, 4} {
		e, err := seal.Prove(&log[i], hashes[i-1], &s, hashes)
		if err != nil {
			t.Fatal(err)
		}
		p.Events = append(p.Events, e)
	}
	return p
}

// FuzzProof: no proof holds but one of events that are under the seal, as they are.
func FuzzProof(f *testing.F) {
	good := proven(f)
	keys := map[string]ed25519.PublicKey{testKey(f).ID(): testKey(f).Public()}
	if err := good.Check(keys); err != nil {
		f.Fatal(err)
	}
	text, err := json.Marshal(good)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(`{"events":[{"path":null}],"seals":[{"number":1,"first":9223372036854775807,"last":-9223372036854775808}]}`))
	truth := map[int64]seal.ProvenEvent{}
	for _, e := range good.Events {
		truth[e.Position] = e
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var p seal.Proof
		if json.Unmarshal(text, &p) != nil {
			return
		}
		if err := p.Check(keys); err != nil {
			if !errors.Is(err, seal.ErrNotProven) {
				t.Errorf("got %v, want that it does not hold", err)
			}
			return
		}
		for _, e := range p.Events {
			was := truth[e.Position]
			if e.Payload != was.Payload || e.Type != was.Type || e.Version != was.Version || e.Stream != was.Stream {
				t.Errorf("%+v never happened, and is proven", e)
			}
		}
	})
}

// FuzzKeyText: a public key that is read is the one that is written.
func FuzzKeyText(f *testing.F) {
	text, err := seal.PublicPEM(testKey(f).Public())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte("-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		key, err := seal.ParsePublicPEM(text)
		if err != nil {
			return
		}
		again, err := seal.PublicPEM(key)
		if err != nil {
			t.Fatal(err)
		}
		if back, err := seal.ParsePublicPEM(again); err != nil || !back.Equal(key) {
			t.Errorf("%q: got %x, and then %x, %v", text, key, back, err)
		}
	})
}

// FuzzFolder: a file of seals is read or said to be unreadable, and what is read of it
// does not depend on whether it is read at once or in two looks.
func FuzzFolder(f *testing.F) {
	var file []byte
	for _, s := range chain(f, 3) {
		line, err := s.MarshalLine()
		if err != nil {
			f.Fatal(err)
		}
		file = append(file, line...)
	}
	f.Add(file, 100)
	f.Add(append(file, "{\"accepted_loss\":{\"after_seal\":1}}\n"...), 0)
	f.Add(append(file, "{\"accepted_loss\":null}\n"...), 0)
	f.Add(append(file, "{\"accepted_loss\":{\"after_seal\":1}} {}\n"...), 0)
	f.Fuzz(func(t *testing.T, file []byte, cut int) {
		whole, parts := seal.NewFolder(t.TempDir(), "s"), seal.NewFolder(t.TempDir(), "s")
		put := func(to *seal.Folder, text []byte) {
			if err := os.WriteFile(to.File(), text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		put(whole, file)
		want, err := whole.Last()
		if err != nil && !errors.Is(err, seal.ErrUnreadable) {
			t.Fatalf("got %v, want that it cannot be read", err)
		}
		if cut < 0 || cut > len(file) || err != nil {
			return
		}
		put(parts, file[:cut])
		if _, err := parts.Last(); err != nil {
			t.Fatalf("the first %d bytes of a good file: %v", cut, err)
		}
		put(parts, file)
		got, err := parts.Last()
		if err != nil || (got == nil) != (want == nil) || got != nil && !got.Equal(want) {
			t.Errorf("in two looks the last is %v, %v, at once %v", got, err, want)
		}
	})
}

func TestASealOverNothingOrWithSomethingBehindItIsNone(t *testing.T) {
	good := chain(t, 1)[0]
	for what, change := range map[string]func(*seal.Wire){
		"over nothing":           func(w *seal.Wire) { w.Last, w.Count = w.First-1, 0 },
		"over less than nothing": func(w *seal.Wire) { w.Last, w.Count = w.First-2, -1 },
		"from before the log":    func(w *seal.Wire) { w.First, w.Count = 0, w.Last+1 },
	} {
		w := good.Wire()
		change(&w)
		if s, err := w.Seal(); err == nil {
			t.Errorf("%s: got %+v, want it refused", what, s)
		}
	}
	line, err := good.MarshalLine()
	if err != nil {
		t.Fatal(err)
	}
	for _, behind := range []string{"x", "{}", string(line)} {
		if s, err := seal.ParseLine(append(line[:len(line):len(line)], behind...)); err == nil {
			t.Errorf("with %q behind it: got %+v, want it refused", behind, s)
		}
	}
}
