package seal

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Key signs seals. It must be kept where whoever can rewrite the database cannot
// read it. It does not show itself.
type Key struct{ private ed25519.PrivateKey }

// NewKey makes a key from a seed of 32 bytes.
func NewKey(seed []byte) (Key, error) {
	if len(seed) != ed25519.SeedSize {
		return Key{}, fmt.Errorf("make a sealing key: want a seed of %d bytes, got %d", ed25519.SeedSize, len(seed))
	}
	return Key{ed25519.NewKeyFromSeed(seed)}, nil
}

// String keeps the key out of logs.
func (k Key) String() string { return "sealing key " + k.ID() }

// GoString keeps the key out of logs.
func (k Key) GoString() string { return k.String() }

// Public gives the public key.
func (k Key) Public() ed25519.PublicKey { return k.private.Public().(ed25519.PublicKey) }

// ID names the key: see KeyID.
func (k Key) ID() string { return KeyID(k.Public()) }

// Sign signs a text that is no seal: it begins with a line that says what it is.
func (k Key) Sign(text []byte) []byte { return ed25519.Sign(k.private, text) }

// KeyID names a public key: the first 16 hexadecimal digits of its SHA-256.
func KeyID(public ed25519.PublicKey) string {
	sum := sha256.Sum256(public)
	return hex.EncodeToString(sum[:8])
}

const (
	privateBlock = "PRIVATE KEY"
	publicBlock  = "PUBLIC KEY"
)

// LoadKey reads a private key (PEM, PKCS #8, as openssl genpkey writes it).
func LoadKey(file string) (Key, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return Key{}, fmt.Errorf("read the sealing key: %w", err)
	}
	block, _ := pem.Decode(text)
	if block == nil || block.Type != privateBlock {
		return Key{}, fmt.Errorf("read the sealing key: %s holds no private key in PEM form", file)
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	private, ok := parsed.(ed25519.PrivateKey)
	if err != nil || !ok {
		return Key{}, fmt.Errorf("read the sealing key: %s holds no Ed25519 key", file)
	}
	return Key{private}, nil
}

// LoadOrMakeKey reads a private key, making it (readable by its owner alone)
// when there is none. Several at once get the same key.
func LoadOrMakeKey(file string) (Key, error) {
	k, err := LoadKey(file)
	if !errors.Is(err, fs.ErrNotExist) {
		return k, err
	}
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return Key{}, fmt.Errorf("make the sealing key: %w", err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return Key{}, fmt.Errorf("make the sealing key: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return Key{}, fmt.Errorf("make the sealing key: %w", err)
	}
	err = writeOnce(file, pem.EncodeToMemory(&pem.Block{Type: privateBlock, Bytes: der}), 0o600)
	if err != nil {
		return Key{}, fmt.Errorf("make the sealing key: %w", err)
	}
	return LoadKey(file)
}

// writeOnce makes a file whole or not at all, and keeps one that is there.
func writeOnce(file string, content []byte, mode fs.FileMode) error {
	fresh, err := os.CreateTemp(filepath.Dir(file), ".new-*")
	if err != nil {
		return err
	}
	defer os.Remove(fresh.Name())
	_, err = fresh.Write(content)
	err = errors.Join(err, fresh.Chmod(mode), fresh.Sync(), fresh.Close())
	if err != nil {
		return err
	}
	if err := os.Link(fresh.Name(), file); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// PublicPEM writes a public key as openssl reads it.
func PublicPEM(public ed25519.PublicKey) ([]byte, error) {
	der, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		return nil, fmt.Errorf("write a public key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: publicBlock, Bytes: der}), nil
}

// ParsePublicPEM reads what PublicPEM writes.
func ParsePublicPEM(text []byte) (ed25519.PublicKey, error) {
	block, _ := pem.Decode(text)
	if block == nil || block.Type != publicBlock {
		return nil, errors.New("read a public key: this is none in PEM form")
	}
	parsed, err := x509.ParsePKIXPublicKey(block.Bytes)
	public, ok := parsed.(ed25519.PublicKey)
	if err != nil || !ok {
		return nil, errors.New("read a public key: this is no Ed25519 key")
	}
	return public, nil
}
