package embedded

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// A fresh PostgreSQL data folder takes a second or more to make, and is the
// same each time. It is kept as one archive, made once per machine, user and
// version: one file, so that a cleaner of caches takes all of it or nothing.

// templateFile returns where the archive of that version of PostgreSQL is kept.
func templateFile(version string) string {
	root, err := os.UserCacheDir()
	if err != nil || os.MkdirAll(root, 0o700) != nil {
		root = os.TempDir()
	}
	key := sha256.Sum256([]byte("form 1 " + version))
	return filepath.Join(root, fmt.Sprintf("seckill-postgres-%d-%x.tar", os.Geteuid(), key[:6]))
}

// ours says whether file is a regular file that only this user can write:
// what others may have written is not started.
func ours(file string) bool {
	st, err := os.Lstat(file)
	if err != nil || !st.Mode().IsRegular() || st.Mode().Perm()&0o022 != 0 {
		return false
	}
	sys, ok := st.Sys().(*syscall.Stat_t)
	return ok && int(sys.Uid) == os.Geteuid()
}

// pack writes the folder as an archive, whole or not at all.
func pack(dir, file string) error {
	out, err := os.CreateTemp(filepath.Dir(file), ".seckill-*")
	if err != nil {
		return fmt.Errorf("make archive: %w", err)
	}
	defer os.Remove(out.Name())
	defer out.Close()
	w := tar.NewWriter(out)
	if err := w.AddFS(os.DirFS(dir)); err != nil {
		return fmt.Errorf("archive %s: %w", dir, err)
	}
	if err := errors.Join(w.Close(), out.Sync(), out.Close()); err != nil {
		return fmt.Errorf("write archive: %w", err)
	}
	if err := os.Rename(out.Name(), file); err != nil {
		return fmt.Errorf("put archive in place: %w", err)
	}
	return nil
}

// unpack writes the archive's files into a new folder dir owned by the
// server's user, and onto the disk if durable.
func unpack(ctx context.Context, file, dir string, cred *syscall.Credential, durable bool) error {
	in, err := os.Open(file)
	if err != nil {
		return fmt.Errorf("open archive: %w", err)
	}
	defer in.Close()
	if err := os.Mkdir(dir, 0o700); err != nil {
		return fmt.Errorf("make data folder: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("open data folder: %w", err)
	}
	defer root.Close()
	for r := tar.NewReader(in); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = context.Cause(ctx)
		}
		if err == nil {
			err = unpackOne(root, h, r, durable)
		}
		if err != nil {
			return fmt.Errorf("unpack archive %s: %w", file, err)
		}
	}
	return giveTo(dir, cred, durable)
}

func unpackOne(root *os.Root, h *tar.Header, content io.Reader, durable bool) error {
	if h.Typeflag == tar.TypeDir {
		if err := root.Mkdir(filepath.Clean(h.Name), 0o700); !errors.Is(err, os.ErrExist) {
			return err
		}
		return nil
	}
	f, err := root.OpenFile(h.Name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, content)
	if err == nil && durable {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// giveTo makes the server's user the owner of all below dir, and brings the
// folders' entries onto the disk if durable.
func giveTo(dir string, cred *syscall.Credential, durable bool) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && cred != nil {
			err = os.Lchown(path, int(cred.Uid), int(cred.Gid))
		}
		if err == nil && durable && d.IsDir() {
			err = syncDir(path)
		}
		if err != nil {
			return fmt.Errorf("prepare data folder: %w", err)
		}
		return nil
	})
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
