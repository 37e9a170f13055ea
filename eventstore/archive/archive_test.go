package archive_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"seckill/eventstore"
	"seckill/eventstore/archive"
	"seckill/eventstore/seal"
)

const store = "6f1c7f6e-7d0f-4c3f-9f0e-0d8c7a1b2c3d"

// vectorRecords are the records of docs/log-hash.md.
func vectorRecords(t testing.TB) []eventstore.Record {
	t.Helper()
	doc, err := os.ReadFile("../../docs/log-hash.md")
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?s)```json\n(.*?)```").FindSubmatch(doc)
	var vectors []struct {
		Position, Version int64
		EventID           uuid.UUID `json:"event_id"`
		Stream, Type      string
		Schema            int
		RecordedAt        time.Time `json:"recorded_at"`
		Payload, Metadata string
		Hash              string
	}
	if err := json.Unmarshal(block[1], &vectors); err != nil {
		t.Fatal(err)
	}
	var records []eventstore.Record
	for _, v := range vectors {
		h, err := eventstore.ParseHash(v.Hash)
		if err != nil {
			t.Fatal(err)
		}
		records = append(records, eventstore.Record{
			Position: v.Position, ID: v.EventID, Stream: v.Stream, Version: v.Version, Type: v.Type, Schema: v.Schema, SaleID: "1",
			RecordedAt: v.RecordedAt, Payload: []byte(v.Payload), Metadata: []byte(v.Metadata), Hash: h,
		})
	}
	return records
}

func vectorKey(t testing.TB) seal.Key {
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

// sealed puts records under seals of so many each.
func sealed(t testing.TB, records []eventstore.Record, each int) []seal.Seal {
	t.Helper()
	var seals []seal.Seal
	for len(records) > 0 {
		n := min(each, len(records))
		var tree seal.Tree
		for _, r := range records[:n] {
			tree.Append(r.Hash)
		}
		s := seal.Seal{StoreUUID: store, Number: int64(len(seals) + 1), First: records[0].Position, Last: records[n-1].Position,
			Root: tree.Root(), Head: records[n-1].Hash, SealedAt: time.Date(2026, 11, 11, 12, 0, 10+len(seals), 1000, time.UTC)}
		if len(seals) > 0 {
			s.Previous = seals[len(seals)-1].Hash()
		}
		s.Sign(vectorKey(t))
		seals, records = append(seals, s), records[n:]
	}
	return seals
}

func written(t testing.TB, records []eventstore.Record, seals []seal.Seal) ([]byte, eventstore.Hash) {
	t.Helper()
	var b bytes.Buffer
	h := archive.Header{Store: store, First: records[0].Position, Last: records[len(records)-1].Position, Previous: strings.Repeat("0", 64)}
	digest, head, err := archive.Write(&b, h, each(records), seals)
	if err != nil || head != records[len(records)-1].Hash {
		t.Fatalf("write: %v", err)
	}
	return b.Bytes(), digest
}

func each(records []eventstore.Record) func(func(*eventstore.Record) error) error {
	return func(do func(*eventstore.Record) error) error {
		for i := range records {
			if err := do(&records[i]); err != nil {
				return err
			}
		}
		return nil
	}
}

// vectors writes the test vectors anew with UPDATE_GOLDEN.
func TestTheVectorsInTheDocsAreWhatWeWrite(t *testing.T) {
	records := vectorRecords(t)
	seals := sealed(t, records, 2)
	content, digest := written(t, records, seals)
	var lines []byte
	for i := range seals {
		line, err := seals[i].MarshalLine()
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, line...)
	}
	key := vectorKey(t)
	pem, err := seal.PublicPEM(key.Public())
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][]byte{
		archive.FileName(store, 1, 3, false): content, "seals-" + store + ".jsonl": lines, "key-" + key.ID() + ".pem": pem,
	} {
		file := filepath.Join("../../docs/vectors", name)
		if os.Getenv("UPDATE_GOLDEN") != "" {
			if err := os.WriteFile(file, want, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := os.ReadFile(file); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not what is written: %v", file, err)
		}
	}
	doc, err := os.ReadFile("../../docs/archive.md")
	if err != nil || !strings.Contains(string(doc), digest.String()) {
		t.Errorf("docs/archive.md does not name the digest %s (%v)", digest, err)
	}
}

// many makes a chained log of n records.
func many(n int) []eventstore.Record {
	records := make([]eventstore.Record, n)
	var before eventstore.Hash
	for i := range records {
		records[i] = eventstore.Record{
			Position: int64(i + 1), ID: uuid.NewSHA1(uuid.Nil, []byte{byte(i), byte(i >> 8)}), Stream: "order-衣", Version: int64(i + 1), Type: "order.placed", Schema: 1,
			RecordedAt: time.UnixMicro(int64(i)).UTC(), Payload: []byte{0xff, byte(i)}, Metadata: []byte("<&>"),
		}
		before = eventstore.ComputeHash(before, &records[i])
		records[i].Hash = before
	}
	return records
}

func TestAnArchiveReadsBackFromAnyPositionPackedAndUnpacked(t *testing.T) {
	records := many(1723)
	seals := sealed(t, records, 500)
	for _, gz := range []bool{false, true} {
		file := filepath.Join(t.TempDir(), archive.FileName(store, 1, 1723, gz))
		var digest eventstore.Hash
		err := archive.Create(file, func(w io.Writer) (err error) {
			digest, _, err = archive.Write(w, archive.Header{Store: store, First: 1, Last: 1723, Previous: strings.Repeat("0", 64)}, each(records), seals)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		x, err := archive.OpenIndexed(file)
		if err != nil || x.Digest != digest || len(x.Seals) != 4 || x.Head != records[1722].Hash {
			t.Fatalf("got %+v, %v", x, err)
		}
		var todo sync.WaitGroup
		for _, span := range [][2]int64{{0, 1723}, {0, 1}, {498, 501}, {499, 500}, {1000, 1010}, {1722, 1723}, {1723, 2000}, {700, 700}} {
			todo.Go(func() {
				at := span[0]
				err := x.Scan(span[0], span[1], func(r *eventstore.Record) error {
					at++
					if want := records[at-1]; r.Position != at || r.Hash != want.Hash || !bytes.Equal(r.Payload, want.Payload) || !r.RecordedAt.Equal(want.RecordedAt) || r.ID != want.ID {
						t.Errorf("at %d: got %+v, want %+v", at, r, want)
					}
					return nil
				})
				if want := max(span[0], min(span[1], 1723)); err != nil || at != want {
					t.Errorf("span %v: ended at %d, %v, want %d", span, at, err, want)
				}
			})
		}
		todo.Wait()
		if err := x.Close(); err != nil {
			t.Error(err)
		}
	}
}

// broken gives every kind of damage to an archive of two seals.
func broken(t *testing.T) map[string][]byte {
	records := many(20)
	seals := sealed(t, records, 10)
	whole, _ := written(t, records, seals)
	lines := bytes.SplitAfter(whole, []byte("\n"))
	lines = lines[:len(lines)-1]
	with := func(change func([][]byte) [][]byte) []byte {
		return bytes.Join(change(append([][]byte{}, lines...)), nil)
	}
	replace := func(i int, from, to string) []byte {
		return with(func(l [][]byte) [][]byte { l[i] = []byte(strings.Replace(string(l[i]), from, to, 1)); return l })
	}
	other := sealed(t, records, 10)
	other[1].Previous = eventstore.Hash{1}
	other[1].Sign(vectorKey(t))
	forged, _ := written(t, records, other)
	return map[string][]byte{
		"empty":               {},
		"cut off":             with(func(l [][]byte) [][]byte { return l[:len(l)-1] }),
		"cut in a line":       whole[:len(whole)-20],
		"no line feed":        whole[:len(whole)-1],
		"something behind":    append(bytes.Clone(whole), "{}\n"...),
		"a record gone":       with(func(l [][]byte) [][]byte { return append(l[:5:5], l[6:]...) }),
		"two records swapped": with(func(l [][]byte) [][]byte { l[5], l[6] = l[6], l[5]; return l }),
		"a payload":           replace(7, `"payload":"/w`, `"payload":"/g`),
		"a hash":              replace(7, `"hash":"`, `"hash":"0`),
		"a root":              replace(21, `"root":"`, `"root":"0`),
		"a seal gone":         with(func(l [][]byte) [][]byte { return append(l[:22:22], l[23:]...) }),
		"a seal out of chain": forged,
		"seals swapped":       with(func(l [][]byte) [][]byte { l[21], l[22] = l[22], l[21]; return l }),
		"the end's head":      replace(23, `"head":"`, `"head":"0`),
		"the end's count":     replace(23, `"records":20`, `"records":21`),
		"another form":        replace(0, `"archive":1`, `"archive":2`),
		"another first":       replace(0, `"first":1`, `"first":2`),
		"another last":        replace(0, `"last":20`, `"last":21`),
		"another store":       replace(0, `"store":"6`, `"store":"7`),
		"another hash before": replace(0, `"previous":"0`, `"previous":"1`),
	}
}

func TestWhateverIsDoneToAnArchiveIsFound(t *testing.T) {
	for name, content := range broken(t) {
		if _, err := archive.Read(bytes.NewReader(content), nil); !errors.Is(err, archive.ErrBroken) {
			t.Errorf("%s: got %v, want ErrBroken", name, err)
		}
	}
}

func TestAPackedArchiveThatIsDamagedIsBrokenAndNotUnreadable(t *testing.T) {
	records := many(20)
	whole, _ := written(t, records, sealed(t, records, 10))
	file := filepath.Join(t.TempDir(), archive.FileName(store, 1, 20, true))
	err := archive.Create(file, func(w io.Writer) error { _, err := w.Write(whole); return err })
	if err != nil {
		t.Fatal(err)
	}
	packed, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, content := range [][]byte{
		nil, whole, packed[:len(packed)/2], packed[:5],
		append(bytes.Clone(packed[:len(packed)-8]), 1, 2, 3, 4, 5, 6, 7, 8), // its own checksum
		slices.Concat(packed[:40], []byte{0xff, 0xff, 0xff, 0xff}, packed[44:]),
	} {
		if err := os.WriteFile(file, content, 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := archive.ReadFile(file, nil); !errors.Is(err, archive.ErrBroken) {
			t.Errorf("%d bytes: got %v, want ErrBroken", len(content), err)
		}
	}
}
