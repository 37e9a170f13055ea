package archive

import (
	"bufio"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"

	"seckill/eventstore"
	"seckill/eventstore/seal"
)

// Write writes an archive: the records that each gives, in order, and the seals
// over them. It gives the SHA-256 of what was written and the hash of the last
// record, and fails when a record is missing or does not follow.
func Write(to io.Writer, h Header, each func(do func(*eventstore.Record) error) error, seals []seal.Seal) (digest, head eventstore.Hash, err error) {
	sum := sha256.New()
	out := bufio.NewWriterSize(io.MultiWriter(to, sum), 256<<10)
	lines := json.NewEncoder(out)
	lines.SetEscapeHTML(false)
	h.Archive = Form
	if err := lines.Encode(h); err != nil {
		return digest, head, fmt.Errorf("write archive: %w", err)
	}
	previous, err := eventstore.ParseHash(h.Previous)
	if err != nil {
		return digest, head, fmt.Errorf("write archive: %w", err)
	}
	at := eventstore.Mark{Number: h.First - 1, Hash: previous}
	err = each(func(r *eventstore.Record) error {
		if err := eventstore.CheckNext(at, r); err != nil {
			return err
		}
		at = r.Head()
		return lines.Encode(lineOf(r))
	})
	if err == nil && at.Number != h.Last {
		err = fmt.Errorf("position %d is missing", at.Number+1)
	}
	for i := range seals {
		if err == nil {
			err = lines.Encode(sealLine{seals[i].Wire()})
		}
	}
	if err == nil {
		err = lines.Encode(endLine{End{Records: h.Last - h.First + 1, Seals: len(seals), Head: at.Hash.String()}})
	}
	if err == nil {
		err = out.Flush()
	}
	if err != nil {
		return digest, head, fmt.Errorf("write archive of positions %d to %d: %w", h.First, h.Last, err)
	}
	copy(digest[:], sum.Sum(nil))
	return digest, at.Hash, nil
}
