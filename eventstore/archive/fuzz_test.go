package archive_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"seckill/eventstore"
	"seckill/eventstore/archive"
	"seckill/eventstore/seal"
)

// FuzzRead: whatever stands in a file, it is found broken, or it is an archive that can
// be written again and has the same head.
func FuzzRead(f *testing.F) {
	records := vectorRecords(f)
	good, _ := written(f, records, sealed(f, records, 2))
	f.Add(good)
	f.Add(good[:len(good)-2])
	f.Add(append(good, '\n'))
	f.Add(bytes.ReplaceAll(good, []byte(`"first":1`), []byte(`"first":9223372036854775807`)))
	f.Add([]byte("{\"archive\":1,\"store\":\"\",\"first\":1,\"last\":1,\"previous\":\"" + strings.Repeat("0", 64) + "\"}\n"))
	f.Fuzz(func(t *testing.T, file []byte) {
		var read []eventstore.Record
		s, err := archive.Read(bytes.NewReader(file), func(r *eventstore.Record, _ int64) error {
			read = append(read, *r)
			return nil
		})
		if err != nil {
			if !errors.Is(err, archive.ErrBroken) {
				t.Errorf("got %v, want that it is broken", err)
			}
			return
		}
		var again bytes.Buffer
		_, head, err := archive.Write(&again, s.Header, each(read), s.Seals)
		if err != nil || head != s.Head {
			t.Fatalf("it was read, and written again: %s, %v, want %s", head, err, s.Head)
		}
		if _, err := archive.Read(bytes.NewReader(again.Bytes()), nil); err != nil {
			t.Errorf("what was written again: %v", err)
		}
	})
}

// FuzzSealOfAnArchive: a seal in an archive whose numbers were changed is found out,
// whatever it was changed to.
func FuzzSealOfAnArchive(f *testing.F) {
	records := vectorRecords(f)
	good, _ := written(f, records, sealed(f, records, len(records)))
	lines := bytes.SplitAfter(good, []byte("\n"))
	at := len(lines) - 3 // before the end, and the nothing behind it
	var was struct {
		Seal seal.Wire `json:"seal"`
	}
	if err := json.Unmarshal(lines[at], &was); err != nil {
		f.Fatal(err)
	}
	nothing := seal.Root(nil).String()
	f.Add(was.Seal.Number, was.Seal.First, was.Seal.Last, was.Seal.Count, was.Seal.Root)
	f.Add(int64(1), int64(1), int64(0), int64(0), nothing)
	f.Add(int64(1), int64(1), int64(-1), int64(-1), nothing)
	f.Add(int64(1), int64(-9223372036854775808), int64(9223372036854775807), int64(0), nothing)
	f.Fuzz(func(t *testing.T, number, first, last, count int64, root string) {
		now := was
		now.Seal.Number, now.Seal.First, now.Seal.Last, now.Seal.Count, now.Seal.Root = number, first, last, count, root
		line, err := json.Marshal(now)
		if err != nil {
			t.Fatal(err)
		}
		file := bytes.Join(append(append(append([][]byte{}, lines[:at]...), append(line, '\n')), lines[at+1:]...), nil)
		_, err = archive.Read(bytes.NewReader(file), nil)
		// Which number the first of its seals has is for those to say who have the others.
		unchanged := now.Seal == was.Seal || number >= 1 && first == was.Seal.First && last == was.Seal.Last && count == was.Seal.Count && strings.EqualFold(root, was.Seal.Root)
		if unchanged != (err == nil) || err != nil && !errors.Is(err, archive.ErrBroken) {
			t.Errorf("seal %d over %d to %d, %d of them, with root %s: got %v", number, first, last, count, root, err)
		}
	})
}
