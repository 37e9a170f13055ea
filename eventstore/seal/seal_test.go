package seal_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"seckill/eventstore"
	"seckill/eventstore/seal"
)

// testKey is the key of the test vectors: the bytes 0 to 31.
func testKey(t testing.TB) seal.Key {
	t.Helper()
	seed := make([]byte, 32)
	for i := range seed {
		seed[i] = byte(i)
	}
	k, err := seal.NewKey(seed)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func records(n int) []seal.Hash {
	hashes := make([]seal.Hash, n)
	for i := range hashes {
		hashes[i] = sha256.Sum256(fmt.Append(nil, i))
	}
	return hashes
}

// treeHash is the definition of RFC 6962, section 2.1, word for word.
func treeHash(d []seal.Hash) seal.Hash {
	switch len(d) {
	case 0:
		return sha256.Sum256(nil)
	case 1:
		return sha256.Sum256(append([]byte{0}, d[0][:]...))
	}
	k := 1
	for k*2 < len(d) {
		k *= 2
	}
	left, right := treeHash(d[:k]), treeHash(d[k:])
	return sha256.Sum256(append(append([]byte{1}, left[:]...), right[:]...))
}

func TestEveryRecordIsProvedUnderTheRootAndNothingElseIs(t *testing.T) {
	for n := range 70 {
		all := records(n)
		root := seal.Root(all)
		if want := treeHash(all); root != want {
			t.Fatalf("root of %d records: got %s, want %s", n, root, want)
		}
		for i, h := range all {
			path := seal.Path(all, i)
			if !seal.VerifyPath(h, int64(i), int64(n), path, root) {
				t.Fatalf("record %d of %d is not proved", i, n)
			}
			other := seal.LeafHash(h)
			if seal.VerifyPath(other, int64(i), int64(n), path, root) {
				t.Fatalf("another record is proved as %d of %d", i, n)
			}
			for j := range n + 2 {
				if j != i && seal.VerifyPath(h, int64(j), int64(n), path, root) {
					t.Fatalf("record %d of %d is proved to be number %d", i, n, j)
				}
			}
			if len(path) > 0 && seal.VerifyPath(h, int64(i), int64(n), path[:len(path)-1], root) {
				t.Fatalf("record %d of %d is proved by a part of its path", i, n)
			}
		}
	}
}

func chain(t testing.TB, n int) []seal.Seal {
	t.Helper()
	var seals []seal.Seal
	var previous *seal.Seal
	for i := range n {
		s := seal.Seal{
			StoreUUID: "6f1c7f6e-7d0f-4c3f-9f0e-0d8c7a1b2c3d", Number: int64(i + 1), First: int64(10*i + 1), Last: int64(10*i + 10),
			Root: seal.Root(records(i + 1)), Head: sha256.Sum256(fmt.Append(nil, "head", i)), SealedAt: time.Date(2026, 11, 11, 12, 0, i, 1000, time.UTC),
		}
		if previous != nil {
			s.Previous = previous.Hash()
		}
		s.Sign(testKey(t))
		seals = append(seals, s)
		previous = &seals[i]
	}
	return seals
}

func TestASealThatWasTouchedIsNotSignedAndDoesNotFollow(t *testing.T) {
	seals := chain(t, 2)
	public := testKey(t).Public()
	if !seals[1].SignedBy(public) || seals[0].Follows(nil) != "" || seals[1].Follows(&seals[0]) != "" {
		t.Fatal("an untouched chain is refused")
	}
	for name, touch := range map[string]func(*seal.Seal){
		"store": func(s *seal.Seal) { s.StoreUUID = "x" }, "number": func(s *seal.Seal) { s.Number++ },
		"first": func(s *seal.Seal) { s.First++ }, "last": func(s *seal.Seal) { s.Last++ }, "root": func(s *seal.Seal) { s.Root[0]++ },
		"head": func(s *seal.Seal) { s.Head[31]++ }, "previous": func(s *seal.Seal) { s.Previous[5]++ },
		"time": func(s *seal.Seal) { s.SealedAt = s.SealedAt.Add(time.Microsecond) }, "signature": func(s *seal.Seal) { s.Signature = append([]byte{1}, s.Signature[1:]...) },
	} {
		s := seals[1]
		touch(&s)
		if s.SignedBy(public) {
			t.Errorf("%s touched: still signed", name)
		}
		follows := s.Follows(&seals[0]) == ""
		if touchesChain := strings.Contains("store number first previous", name); follows == touchesChain {
			t.Errorf("%s touched: follows %t", name, follows)
		}
	}
	other, err := seal.NewKey(bytes.Repeat([]byte{7}, 32))
	if err != nil {
		t.Fatal(err)
	}
	forged := seals[1]
	forged.Sign(other)
	if forged.SignedBy(public) || forged.Equal(&seals[1]) {
		t.Error("a seal forged with another key passes for ours")
	}
}

func TestASealReadsBackFromItsLineAndItsTextIsPinned(t *testing.T) {
	s := chain(t, 2)[1]
	line, err := s.MarshalLine()
	if err != nil {
		t.Fatal(err)
	}
	back, err := seal.ParseLine(line)
	if err != nil || !back.Equal(&s) {
		t.Errorf("got %+v, %v, want it back", back, err)
	}
	for _, bad := range []string{"", "{}", `{"x":1}`, strings.Replace(string(line), `"count":10`, `"count":9`, 1), strings.Replace(string(line), `"root":"`, `"root":"zz`, 1)} {
		if _, err := seal.ParseLine([]byte(bad)); err == nil {
			t.Errorf("%.40q: got no error", bad)
		}
	}
	golden := filepath.Join("testdata", "seal.jsonl")
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(golden, line, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil || string(want) != string(line) {
		t.Errorf("the form of a seal changed: got %s want %s (%v)", line, want, err)
	}
}

func TestAKeyIsMadeOnceAndOnlyItsOwnerReadsIt(t *testing.T) {
	file := filepath.Join(t.TempDir(), "deep", "seal.key")
	ids := make([]string, 8)
	var all sync.WaitGroup
	for i := range ids {
		all.Go(func() {
			k, err := seal.LoadOrMakeKey(file)
			if err != nil {
				t.Error(err)
				return
			}
			ids[i] = k.ID()
		})
	}
	all.Wait()
	for _, id := range ids {
		if id != ids[0] || id == "" {
			t.Errorf("got keys %v, want one", ids)
		}
	}
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode of the key: got %v, %v, want 0600", info.Mode(), err)
	}
	k := testKey(t)
	if shown := fmt.Sprintf("%v %+v %#v %s", k, k, k, k); strings.Contains(shown, "0x") || strings.Contains(shown, hex.EncodeToString([]byte{0, 1, 2, 3})) || strings.Contains(shown, "[0 1 2") {
		t.Errorf("the key shows itself: %s", shown)
	}
}

// source gives seals as a database would, in small pages.
func source(seals []seal.Seal) func(int64) ([]seal.Seal, error) {
	return func(after int64) ([]seal.Seal, error) {
		if after >= int64(len(seals)) {
			return nil, nil
		}
		return seals[after:min(int(after)+3, len(seals))], nil
	}
}

func exported(t *testing.T, f *seal.Folder) (numbers []int64) {
	t.Helper()
	if err := f.Each(func(s *seal.Seal) error { numbers = append(numbers, s.Number); return nil }); err != nil {
		t.Fatal(err)
	}
	return numbers
}

func TestExportingAgainAfterACrashAddsNothingTwice(t *testing.T) {
	seals := chain(t, 10)
	dir := t.TempDir()
	f := seal.NewFolder(dir, seals[0].StoreUUID)
	if n, err := f.Append(source(seals[:4])); n != 4 || err != nil {
		t.Fatalf("got %d, %v, want 4 exported", n, err)
	}
	whole, err := os.ReadFile(f.File())
	if err != nil {
		t.Fatal(err)
	}
	line, err := seals[4].MarshalLine()
	if err != nil {
		t.Fatal(err)
	}
	for cut := range line { // a crash in the middle of a write, at each byte
		if err := os.WriteFile(f.File(), append(bytes.Clone(whole), line[:cut]...), 0o644); err != nil {
			t.Fatal(err)
		}
		again := seal.NewFolder(dir, seals[0].StoreUUID)
		if n, err := again.Append(source(seals[:5])); n != 1 || err != nil {
			t.Fatalf("after %d bytes of the line: got %d, %v, want 1 exported", cut, n, err)
		}
		got, err := os.ReadFile(f.File())
		if err != nil || !bytes.Equal(got, append(bytes.Clone(whole), line...)) {
			t.Fatalf("after %d bytes of the line: got %s, %v", cut, got, err)
		}
	}
	var todo sync.WaitGroup
	for range 4 { // several processes at once
		todo.Go(func() {
			if _, err := seal.NewFolder(dir, seals[0].StoreUUID).Append(source(seals)); err != nil {
				t.Error(err)
			}
		})
	}
	todo.Wait()
	if got := exported(t, f); fmt.Sprint(got) != "[1 2 3 4 5 6 7 8 9 10]" {
		t.Errorf("got %v, want each seal once", got)
	}
}

func TestASealThatDoesNotContinueTheExportedOnesIsRefused(t *testing.T) {
	seals := chain(t, 5)
	f := seal.NewFolder(t.TempDir(), seals[0].StoreUUID)
	if _, err := f.Append(source(seals[:3])); err != nil {
		t.Fatal(err)
	}
	other := append([]seal.Seal{}, seals...)
	other[3].Previous = eventstore.Hash{1}
	other[3].Sign(testKey(t))
	if n, err := f.Append(source(other)); n != 0 || !errors.Is(err, seal.ErrFork) {
		t.Errorf("got %d, %v, want ErrFork", n, err)
	}
	if got := exported(t, f); len(got) != 3 {
		t.Errorf("got %v, want the three from before", got)
	}
}

func TestAnAcceptedLossTakesBackWhatWasSealedAfterIt(t *testing.T) {
	seals := chain(t, 5)
	f := seal.NewFolder(t.TempDir(), seals[0].StoreUUID)
	if _, err := f.Append(source(seals)); err != nil {
		t.Fatal(err)
	}
	if err := f.AcceptLoss(seal.Loss{AfterSeal: 2, Head: 23, Lost: 50, By: "ops", Reason: "restored the dump of noon"}); err != nil {
		t.Fatal(err)
	}
	if last, err := f.Last(); err != nil || last == nil || last.Number != 2 {
		t.Errorf("newest seal: got %v, %v, want 2", last, err)
	}
	again := seals[2]
	again.Root[0]++
	again.Sign(testKey(t))
	if n, err := f.Append(source([]seal.Seal{seals[0], seals[1], again})); n != 1 || err != nil {
		t.Errorf("got %d, %v, want the log to be sealed on", n, err)
	}
	if got := exported(t, f); fmt.Sprint(got) != "[1 2 3]" {
		t.Errorf("got %v, want 1 2 and the new 3", got)
	}
	if err := f.AcceptLoss(seal.Loss{AfterSeal: 0, By: "ops", Reason: "began anew"}); err != nil {
		t.Fatal(err)
	}
	if last, err := seal.NewFolder(f.Dir(), seals[0].StoreUUID).Last(); err != nil || last != nil {
		t.Errorf("after a loss of everything: got %v, %v, want none", last, err)
	}
	losses, err := f.Losses()
	if err != nil || len(losses) != 2 || losses[0].Reason != "restored the dump of noon" {
		t.Errorf("losses: got %+v, %v", losses, err)
	}
}

func TestOnlyKeysInTheFolderAreTrusted(t *testing.T) {
	f := seal.NewFolder(filepath.Join(t.TempDir(), "new"), "s")
	if keys, err := f.Keys(); err != nil || len(keys) != 0 {
		t.Errorf("of no folder: got %v, %v, want none", keys, err)
	}
	k := testKey(t)
	for range 2 {
		if err := f.Trust(k.Public()); err != nil {
			t.Fatal(err)
		}
	}
	if keys, err := f.Keys(); err != nil || len(keys) != 1 || !keys[k.ID()].Equal(k.Public()) {
		t.Errorf("got %v, %v, want the one key", keys, err)
	}
}

func FuzzParseLine(f *testing.F) {
	line, err := chain(f, 1)[0].Wire().Seal()
	if err != nil {
		f.Fatal(err)
	}
	text, err := line.MarshalLine()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := seal.ParseLine(b)
		if err != nil {
			return
		}
		again, err := s.MarshalLine()
		if err != nil {
			t.Fatal(err)
		}
		if back, err := seal.ParseLine(again); err != nil || !back.Equal(&s) {
			t.Errorf("%q: got %v, %v, want it back", b, back, err)
		}
	})
}
