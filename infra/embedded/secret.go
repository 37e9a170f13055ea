package embedded

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// The files of random secrets in a data folder.
const (
	secretFile        = "jwt.secret"
	paymentSecretFile = "payments.secret"
)

// Secret returns the random secret of a data folder that signs tokens, 64
// hexadecimal digits, which is made at the first call and stays. All callers at
// once get the same. A file that others can read is refused: its secret is none.
func Secret(dataDir string) (string, error) {
	return secretIn(dataDir, secretFile, "the secret for tokens")
}

// PaymentSecret is the same for the messages of the payment simulator.
func PaymentSecret(dataDir string) (string, error) {
	return secretIn(dataDir, paymentSecretFile, "the secret for payments")
}

// secretIn gives the secret of a file, which is what for people.
func secretIn(dataDir, name, what string) (string, error) {
	dir, err := makeDataDir(dataDir)
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, name)
	if _, err := os.Lstat(file); errors.Is(err, os.ErrNotExist) {
		if err := makeSecret(file); err != nil {
			return "", fmt.Errorf("make %s: %w", what, &FolderError{dir, err})
		}
	}
	st, err := os.Stat(file)
	if err != nil {
		return "", fmt.Errorf("read %s: %w", what, err)
	}
	if st.Mode().Perm()&0o077 != 0 {
		return "", fmt.Errorf("%s in %s can be read by others; remove the file, and a new secret is made", what, file)
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("read %s: %w", what, err)
	}
	secret := strings.TrimSpace(string(raw))
	if len(secret) < 32 {
		return "", fmt.Errorf("%s in %s is too short; remove the file, and a new secret is made", what, file)
	}
	return secret, nil
}

// makeSecret links a complete file into place, so that of several processes
// the first wins and none reads half a secret.
func makeSecret(file string) error {
	tmp, err := os.CreateTemp(filepath.Dir(file), ".secret-*") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.WriteString(randomText() + "\n")
	if err := errors.Join(err, tmp.Sync(), tmp.Close()); err != nil {
		return err
	}
	if err := os.Link(tmp.Name(), file); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	return nil
}

// randomText is 256 random bits in hexadecimal.
func randomText() string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails, by its own promise
	return hex.EncodeToString(b[:])
}
