package archive

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"seckill/eventstore"
	"seckill/eventstore/seal"
)

// Summary is what an archive holds beside its records.
type Summary struct {
	Header
	Seals []seal.Seal
	Head  eventstore.Hash
	// Digest is the SHA-256 of the file, unpacked.
	Digest eventstore.Hash
}

// ErrBroken: a file is no archive, or not the one that was written. The error
// names the position.
var ErrBroken = errors.New("the archive is broken")

// Read reads an archive and checks it: positions dense, hashes chained, every
// seal over its records and behind the one before, nothing behind the end. do is
// given each record, and the place in the file where its line begins; it may keep
// neither. Whose keys the seals are signed with is the caller's to check.
func Read(from io.Reader, do func(r *eventstore.Record, offset int64) error) (Summary, error) {
	r := reader{do: do}
	sum := sha256.New()
	lines := bufio.NewReaderSize(io.TeeReader(from, sum), 256<<10)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) && len(line) == 0 {
			break
		}
		switch {
		case errors.Is(err, io.EOF):
			return r.Summary, r.broken("it is cut off within a line")
		case damaged(err):
			return r.Summary, r.broken("what is packed there is damaged: %v", err)
		case err != nil:
			return r.Summary, fmt.Errorf("read archive: %w", err)
		}
		if err := r.line(line); err != nil {
			return r.Summary, err
		}
		r.offset += int64(len(line))
	}
	if !r.ended {
		return r.Summary, r.broken("it is cut off: the last line is missing")
	}
	copy(r.Digest[:], sum.Sum(nil))
	return r.Summary, nil
}

type reader struct {
	Summary
	do     func(*eventstore.Record, int64) error
	offset int64
	at     eventstore.Mark
	hashes []eventstore.Hash // of all records: 32 MB for a million
	begun  bool
	ended  bool
}

func (r *reader) broken(format string, values ...any) error {
	return fmt.Errorf("%w: positions %d to %d, behind position %d: %s", ErrBroken, r.First, r.Last, r.at.Number, fmt.Sprintf(format, values...))
}

func (r *reader) line(line []byte) error {
	switch {
	case r.ended:
		return r.broken("something stands behind its last line")
	case !r.begun:
		return r.header(line)
	case bytes.HasPrefix(line, []byte(`{"seal":`)):
		return r.seal(line)
	case bytes.HasPrefix(line, []byte(`{"end":`)):
		return r.end(line)
	case len(r.Seals) > 0:
		return r.broken("a record stands behind the seals")
	}
	var record eventstore.Record
	if err := parseRecord(line, &record); err != nil {
		return r.broken("the next line is no record: %v", err)
	}
	if err := eventstore.CheckNext(r.at, &record); err != nil {
		return r.broken("%v", err)
	}
	r.at = record.Head()
	r.hashes = append(r.hashes, record.Hash)
	if r.do == nil {
		return nil
	}
	return r.do(&record, r.offset)
}

func (r *reader) header(line []byte) error {
	if err := json.Unmarshal(line, &r.Header); err != nil || r.Archive != Form || r.First < 1 || r.Last < r.First {
		return r.broken("its first line is not the header of an archive of form %d", Form)
	}
	previous, err := eventstore.ParseHash(r.Previous)
	if err != nil {
		return r.broken("its header: %v", err)
	}
	r.at, r.begun = eventstore.Mark{Number: r.First - 1, Hash: previous}, true
	return nil
}

func (r *reader) seal(line []byte) error {
	var l sealLine
	if err := json.Unmarshal(line, &l); err != nil {
		return r.broken("a seal cannot be read: %v", err)
	}
	s, err := l.Seal.Seal()
	if err != nil {
		return r.broken("a seal cannot be read: %v", err)
	}
	due := r.First
	if n := len(r.Seals); n > 0 {
		due = r.Seals[n-1].Last + 1
		if what := s.Follows(&r.Seals[n-1]); what != "" {
			return r.broken("%s", what)
		}
	}
	if s.StoreUUID != r.Store || s.First != due || s.Last > r.at.Number {
		return r.broken("seal %d over positions %d to %d is out of place", s.Number, s.First, s.Last)
	}
	covered := r.hashes[s.First-r.First : s.Last-r.First+1]
	if seal.Root(covered) != s.Root || covered[len(covered)-1] != s.Head {
		return r.broken("seal %d over positions %d to %d does not fit the records", s.Number, s.First, s.Last)
	}
	r.Seals = append(r.Seals, s)
	return nil
}

func (r *reader) end(line []byte) error {
	var l endLine
	if err := json.Unmarshal(line, &l); err != nil {
		return r.broken("its last line cannot be read: %v", err)
	}
	n := len(r.Seals)
	switch {
	case r.at.Number != r.Last || l.End.Records != r.Last-r.First+1:
		return r.broken("it ends at position %d and not at %d", r.at.Number, r.Last)
	case l.End.Head != r.at.Hash.String():
		return r.broken("its last line names another hash")
	case l.End.Seals != n || n == 0 || r.Seals[n-1].Last != r.Last:
		return r.broken("its seals do not reach its end")
	}
	r.Summary.Head, r.ended = r.at.Hash, true
	return nil
}
