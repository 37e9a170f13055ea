package seal

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// ErrFork: a seal does not continue the exported ones. The log was written anew,
// or put back to an older state, after the newest of them was exported.
var ErrFork = errors.New("the seals in the database do not continue the exported ones")

// Append exports what is missing: more gives seals after a number, in order, and
// none at the end. Doing it again, or at once in several processes, adds nothing
// twice; what a crash left half written is written anew. It gives how many seals
// were added, and ErrFork, adding nothing of it, for one that does not follow.
func (f *Folder) Append(more func(after int64) ([]Seal, error)) (added int, err error) {
	err = f.locked(func(file *os.File) error {
		for {
			last, err := f.last()
			if err != nil {
				return err
			}
			var after int64
			if last != nil {
				after = last.Number
			}
			page, err := more(after)
			if err != nil || len(page) == 0 {
				return err
			}
			lines, err := linesOf(last, page)
			if err != nil {
				return err
			}
			if err := f.write(file, lines); err != nil {
				return err
			}
			added += len(page)
		}
	})
	return added, err
}

func linesOf(last *Seal, page []Seal) ([]byte, error) {
	var lines []byte
	for i := range page {
		if fault := page[i].Follows(last); fault != "" {
			return nil, fmt.Errorf("export seal %d: %w: %s", page[i].Number, ErrFork, fault)
		}
		line, err := page[i].MarshalLine()
		if err != nil {
			return nil, err
		}
		lines, last = append(lines, line...), &page[i]
	}
	return lines, nil
}

// AcceptLoss records that the log now ends before the newest exported seal, and
// that somebody accepts it.
func (f *Folder) AcceptLoss(l Loss) error {
	line, err := marshalLoss(l)
	if err != nil {
		return err
	}
	return f.locked(func(file *os.File) error {
		if err := f.catchUp(); err != nil {
			return err
		}
		return f.write(file, line)
	})
}

// locked does do with the file open and locked against other processes.
func (f *Folder) locked(do func(*os.File) error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := os.MkdirAll(f.dir, 0o755); err != nil {
		return fmt.Errorf("export seals: %w", err)
	}
	file, err := os.OpenFile(f.File(), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return fmt.Errorf("export seals: %w", err)
	}
	defer file.Close()
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX); err != nil {
		return fmt.Errorf("lock the exported seals: %w", err)
	}
	return do(file)
}

// write puts lines behind the last whole line and waits until they are on disk.
// The caller has caught up.
func (f *Folder) write(file *os.File, lines []byte) error {
	err := file.Truncate(f.size) // half a line of a crash
	if err == nil {
		_, err = file.WriteAt(lines, f.size)
	}
	if err == nil {
		err = file.Sync()
	}
	if err != nil {
		return fmt.Errorf("export seals: %w", err)
	}
	return nil
}
