package archive

import (
	"bufio"
	"compress/flate"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"seckill/eventstore"
)

// packed ends the names of files that are packed with gzip.
const packed = ".gz"

// FileName names the archive of a store's positions.
func FileName(store string, first, last int64, gz bool) string {
	name := fmt.Sprintf("events-%s-%012d-%012d.jsonl", store, first, last)
	if gz {
		name += packed
	}
	return name
}

// ReadFile is Read on a file, unpacking it if its name ends in .gz.
func ReadFile(file string, do func(r *eventstore.Record, offset int64) error) (Summary, error) {
	in, err := open(file)
	if err != nil {
		return Summary{}, err
	}
	defer in.Close()
	s, err := Read(in, do)
	if err != nil {
		err = fmt.Errorf("%s: %w", file, err)
	}
	return s, err
}

type unpacked struct {
	io.Reader
	io.Closer
}

func open(file string) (io.ReadCloser, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("open archive: %w", err)
	}
	if !strings.HasSuffix(file, packed) {
		return f, nil
	}
	z, err := gzip.NewReader(f)
	if err != nil {
		f.Close()
		if damaged(err) || errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("%s: %w: it is not what gzip packed: %w", file, ErrBroken, err)
		}
		return nil, fmt.Errorf("open archive %s: %w", file, err)
	}
	return unpacked{z, f}, nil
}

// Create makes a file with what write writes, whole or not at all, and waits until
// it is on disk. A file of that name is replaced.
func Create(file string, write func(io.Writer) error) error {
	fresh := file + ".new"
	f, err := os.OpenFile(fresh, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o644)
	if err != nil {
		return fmt.Errorf("make archive: %w", err)
	}
	err = packInto(f, strings.HasSuffix(file, packed), write)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(fresh, file)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("make archive: %w", err), os.Remove(fresh))
	}
	return nil
}

func packInto(f io.Writer, pack bool, write func(io.Writer) error) error {
	if !pack {
		return write(f)
	}
	z := gzip.NewWriter(f)
	return errors.Join(write(z), z.Close())
}

// Indexed is an archive that can be read from any position.
type Indexed struct {
	Summary
	file    *os.File
	offsets []int64 // of every indexEvery-th record
}

// indexEvery is how many records lie between two places of the index.
const indexEvery = 500

// OpenIndexed checks an archive whole and opens it for reading from any position.
// A packed one is unpacked into a temporary file. Close it.
func OpenIndexed(file string) (*Indexed, error) {
	x := &Indexed{}
	s, err := ReadFile(file, func(r *eventstore.Record, offset int64) error {
		if len(x.offsets) == 0 || r.Position%indexEvery == 0 {
			x.offsets = append(x.offsets, offset)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	x.Summary = s
	if x.file, err = plain(file); err != nil {
		return nil, err
	}
	return x, nil
}

// plain opens a file, or a nameless copy of what it has packed.
func plain(file string) (*os.File, error) {
	if !strings.HasSuffix(file, packed) {
		f, err := os.Open(file)
		if err != nil {
			return nil, fmt.Errorf("open archive: %w", err)
		}
		return f, nil
	}
	in, err := open(file)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	f, err := os.CreateTemp("", "seckill-archive-*")
	if err != nil {
		return nil, fmt.Errorf("unpack archive: %w", err)
	}
	_, err = io.Copy(f, in)
	if err = errors.Join(err, os.Remove(f.Name())); err != nil {
		return nil, errors.Join(fmt.Errorf("unpack archive: %w", err), f.Close())
	}
	return f, nil
}

// Close closes the file.
func (x *Indexed) Close() error { return x.file.Close() }

// Scan gives every record after a position and up to another that the archive
// has. It may be called by several at once.
func (x *Indexed) Scan(after, upTo int64, do func(*eventstore.Record) error) error {
	first := max(after+1, x.First)
	if first > min(upTo, x.Last) {
		return nil
	}
	from := io.NewSectionReader(x.file, x.offsets[first/indexEvery-x.First/indexEvery], 1<<62)
	lines := bufio.NewReaderSize(from, 64<<10)
	for at := int64(0); at < min(upTo, x.Last); {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return fmt.Errorf("read archive: %w", err)
		}
		var r eventstore.Record
		if err := parseRecord(line, &r); err != nil {
			return fmt.Errorf("read archive: %w", err)
		}
		if at = r.Position; at < first || at > upTo {
			continue
		}
		if err := do(&r); err != nil {
			return err
		}
	}
	return nil
}

// damaged tells whether an error of unpacking says that the bytes are wrong, and
// not that they could not be read.
func damaged(err error) bool {
	var corrupt flate.CorruptInputError
	return errors.As(err, &corrupt) || errors.Is(err, gzip.ErrHeader) || errors.Is(err, gzip.ErrChecksum) || errors.Is(err, io.ErrUnexpectedEOF)
}
