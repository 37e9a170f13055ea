package embedded

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// FolderError says that a data folder cannot be used. Error is one sentence for
// people.
type FolderError struct {
	Dir   string
	cause error
}

func (e *FolderError) Error() string {
	why := e.cause.Error()
	var path *fs.PathError
	if errors.As(e.cause, &path) {
		why = path.Err.Error()
	}
	return fmt.Sprintf("The data folder %s cannot be used (%s): choose another, that this user may write to, with --data or SECKILL_DATA_DIR.", e.Dir, why)
}

// Unwrap gives the cause.
func (e *FolderError) Unwrap() error { return e.cause }

// makeDataDir makes the folder so that its secrets are ours alone, while a
// server that runs as another user can pass through. Its errors are FolderErrors.
func makeDataDir(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", &FolderError{dir, err}
	}
	if err := os.MkdirAll(filepath.Dir(abs), 0o755); err != nil {
		return "", &FolderError{abs, err}
	}
	if err := os.Mkdir(abs, 0o711); err != nil && !errors.Is(err, os.ErrExist) {
		return "", &FolderError{abs, err}
	}
	st, err := os.Stat(abs)
	if err == nil && !st.IsDir() {
		err = errors.New("it is a file")
	}
	if err != nil {
		return "", &FolderError{abs, err}
	}
	return abs, nil
}

// writable tries whether files can be made in a data folder.
func writable(dir string) error {
	f, err := os.CreateTemp(dir, ".try-*")
	if err != nil {
		return &FolderError{dir, err}
	}
	if err := errors.Join(f.Close(), os.Remove(f.Name())); err != nil {
		return &FolderError{dir, err}
	}
	return nil
}
