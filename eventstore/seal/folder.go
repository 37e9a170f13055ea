package seal

import (
	"bufio"
	"bytes"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// Folder is where the seals of one store are exported to, outside the database:
// a file of seals, one a line, that only ever grows, and the public keys that are
// trusted. It is safe for concurrent use, also by several processes on a file
// system with locks.
type Folder struct {
	dir   string
	store string

	mu sync.Mutex
	// What was read of the file so far: what is behind size is read again.
	size   int64
	valid  []Seal // the newest that count, newest last, at most twice keep
	losses []Loss
}

// Loss says that somebody accepted that the log lost what came after a seal: the
// log was put back to an older state on purpose. Seals above AfterSeal that stand
// before it in the file count no more.
type Loss struct {
	AfterSeal  int64     `json:"after_seal"`
	Head       int64     `json:"head"`
	Hash       string    `json:"hash"`
	Lost       int64     `json:"lost_to"`
	AcceptedAt time.Time `json:"accepted_at"`
	By         string    `json:"by"`
	Reason     string    `json:"reason"`
}

// lossLine is a Loss as a line of the file.
type lossLine struct {
	Loss *Loss `json:"accepted_loss"`
}

// NewFolder names the folder of a store by its uuid. It makes nothing.
func NewFolder(dir, store string) *Folder { return &Folder{dir: dir, store: store} }

// Dir is the path of the folder.
func (f *Folder) Dir() string { return f.dir }

// File is the path of the file of seals.
func (f *Folder) File() string { return filepath.Join(f.dir, "seals-"+f.store+".jsonl") }

// entry is one line of the file: a seal or a loss.
type entry struct {
	seal Seal
	loss *Loss
}

// ErrUnreadable: the file of seals holds something that is no seal.
var ErrUnreadable = errors.New("the exported seals cannot be read")

// eachLine gives the whole lines of the file from an offset on, and where they
// end; what a crash left half written behind them is no line.
func (f *Folder) eachLine(from int64, do func(entry) error) (end int64, err error) {
	file, err := os.Open(f.File())
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return from, fmt.Errorf("read exported seals: %w", err)
	}
	defer file.Close()
	if _, err := file.Seek(from, io.SeekStart); err != nil {
		return from, fmt.Errorf("read exported seals: %w", err)
	}
	lines := bufio.NewReaderSize(file, 64<<10)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return from, nil
		}
		if err != nil {
			return from, fmt.Errorf("read exported seals: %w", err)
		}
		e, err := parseEntry(line)
		if err != nil {
			return from, fmt.Errorf("%w: %s at byte %d: %w", ErrUnreadable, f.File(), from, err)
		}
		if err := do(e); err != nil {
			return from, err
		}
		from += int64(len(line))
	}
}

func parseEntry(line []byte) (entry, error) {
	if bytes.HasPrefix(line, []byte(`{"accepted_loss"`)) {
		var l lossLine
		if err := strict(line, &l); err != nil {
			return entry{}, fmt.Errorf("an accepted loss: %w", err)
		}
		if l.Loss == nil {
			return entry{}, errors.New("an accepted loss: it is empty")
		}
		return entry{loss: l.Loss}, nil
	}
	s, err := ParseLine(line)
	return entry{seal: s}, err
}

// Each gives the seals that count, in order.
func (f *Folder) Each(do func(*Seal) error) error {
	losses := map[int]int64{} // AfterSeal by the number of the line
	lines := 0
	_, err := f.eachLine(0, func(e entry) error {
		if e.loss != nil {
			losses[lines] = e.loss.AfterSeal
		}
		lines++
		return nil
	})
	if err != nil {
		return err
	}
	takenBack := func(line int, number int64) bool {
		for at, after := range losses {
			if at > line && number > after {
				return true
			}
		}
		return false
	}
	line := -1
	_, err = f.eachLine(0, func(e entry) error {
		line++
		if line >= lines || e.loss != nil || takenBack(line, e.seal.Number) {
			return nil // lines that came in the meantime are left for the next time
		}
		return do(&e.seal)
	})
	return err
}

// catchUp reads what came to the file since the last look. The lock is held.
func (f *Folder) catchUp() error {
	end, err := f.eachLine(f.size, func(e entry) error {
		if e.loss == nil {
			f.remember(e.seal)
			return nil
		}
		f.losses = append(f.losses, *e.loss)
		for len(f.valid) > 0 && f.valid[len(f.valid)-1].Number > e.loss.AfterSeal {
			f.valid = f.valid[:len(f.valid)-1]
		}
		return nil
	})
	f.size = end
	return err
}

func (f *Folder) remember(s Seal) {
	if len(f.valid) == 2*keep {
		f.valid = append(f.valid[:0], f.valid[keep:]...)
	}
	f.valid = append(f.valid, s)
}

// keep bounds how many of the newest seals are remembered; with a loss that goes
// back further the file is read from its start.
const keep = 1000

// last gives the newest seal that counts. The lock is held.
func (f *Folder) last() (*Seal, error) {
	if err := f.catchUp(); err != nil {
		return nil, err
	}
	if n := len(f.valid); n > 0 {
		return &f.valid[n-1], nil
	}
	if f.size == 0 {
		return nil, nil
	}
	var newest *Seal // a loss went back beyond what is remembered, or to nothing
	err := f.Each(func(s *Seal) error { newest = s; return nil })
	return newest, err
}

// Last gives the newest exported seal that counts, nil where there is none.
func (f *Folder) Last() (*Seal, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.last()
}

// Losses lists the losses that were accepted.
func (f *Folder) Losses() ([]Loss, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	err := f.catchUp()
	return f.losses, err
}

// Keys gives the public keys in the folder by their ids: those that are trusted.
func (f *Folder) Keys() (map[string]ed25519.PublicKey, error) {
	files, err := filepath.Glob(filepath.Join(f.dir, keyPrefix+"*"+keySuffix))
	if err != nil {
		return nil, fmt.Errorf("list trusted keys: %w", err)
	}
	keys := map[string]ed25519.PublicKey{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read a trusted key: %w", err)
		}
		public, err := ParsePublicPEM(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		keys[KeyID(public)] = public
	}
	return keys, nil
}

const (
	keyPrefix = "key-"
	keySuffix = ".pem"
)

// Trust puts a public key into the folder, unless it is there.
func (f *Folder) Trust(public ed25519.PublicKey) error {
	file := filepath.Join(f.dir, keyPrefix+KeyID(public)+keySuffix)
	if _, err := os.Stat(file); err == nil {
		return nil
	}
	text, err := PublicPEM(public)
	if err == nil {
		err = os.MkdirAll(f.dir, 0o755)
	}
	if err == nil {
		err = writeOnce(file, text, 0o644)
	}
	if err != nil {
		return fmt.Errorf("trust the key %s: %w", KeyID(public), err)
	}
	return nil
}

// marshalLoss writes a loss as a line.
func marshalLoss(l Loss) ([]byte, error) {
	l.Reason = strings.TrimSpace(l.Reason)
	line, err := json.Marshal(lossLine{Loss: &l})
	if err != nil {
		return nil, fmt.Errorf("write an accepted loss: %w", err)
	}
	return append(line, '\n'), nil
}
