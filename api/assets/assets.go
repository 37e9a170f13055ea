package assets

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"maps"
	"mime"
	"path"
	"slices"
	"strings"
)

//go:embed shared
var shared embed.FS

// PageFile is the name of the page among the files; everything beside it is an asset.
const PageFile = "page.html"

// buildLength is the length of a build in characters.
const buildLength = 12

// File is a file that pages load.
type File struct {
	Name, MediaType string
	Body            []byte
}

// Set is a page and what it loads. It does not change.
type Set struct {
	prefix, build string
	page          []byte
	files         map[string]File
}

// Read takes the files of a folder, and the shared modules beside them. Paths of
// assets begin with prefix, such as /s/assets/; salt is what else makes another build.
func Read(from fs.FS, folder, prefix, salt string) (*Set, error) {
	bodies := map[string][]byte{}
	for _, source := range []struct {
		fs.FS
		folder string
	}{{shared, "shared"}, {from, folder}} {
		if err := readAll(source, source.folder, bodies); err != nil {
			return nil, err
		}
	}
	s := &Set{prefix: prefix, files: map[string]File{}}
	sum := sha256.New()
	fmt.Fprintln(sum, salt)
	for _, name := range slices.Sorted(maps.Keys(bodies)) {
		fmt.Fprintf(sum, "%s %d\n", name, len(bodies[name]))
		sum.Write(bodies[name]) // never fails
		if name == PageFile {
			s.page = bodies[name]
			continue
		}
		s.files[name] = File{Name: name, MediaType: mediaType(name), Body: bodies[name]}
	}
	s.build = hex.EncodeToString(sum.Sum(nil))[:buildLength]
	return s, nil
}

// readAll adds the files of a folder; a name stands for one file.
func readAll(from fs.FS, folder string, bodies map[string][]byte) error {
	found, err := fs.ReadDir(from, folder)
	if err != nil {
		return fmt.Errorf("list the files of %s: %w", folder, err)
	}
	for _, f := range found {
		if bodies[f.Name()] != nil {
			return fmt.Errorf("read the files of %s: %s is a shared module already", folder, f.Name())
		}
		if bodies[f.Name()], err = fs.ReadFile(from, path.Join(folder, f.Name())); err != nil {
			return fmt.Errorf("read the files of %s: %w", folder, err)
		}
	}
	return nil
}

// mediaType is by hand for what browsers are strict about: a machine's own table
// may call a module something else.
func mediaType(name string) string {
	switch path.Ext(name) {
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	}
	return mime.TypeByExtension(path.Ext(name))
}

// Page gives the page, or its template, as it was read.
func (s *Set) Page() []byte { return s.page }

// Names lists the assets, sorted.
func (s *Set) Names() []string { return slices.Sorted(maps.Keys(s.files)) }

// File gives an asset by its name. Which build it is of the path says.
func (s *Set) File(name string) (File, bool) {
	f, ok := s.files[name]
	return f, ok
}

// Path is where a page of this build finds an asset.
func (s *Set) Path(name string) string { return s.prefix + s.build + "/" + name }

// Build names all files and the salt.
func (s *Set) Build() string { return s.build }

// IsBuild tells whether a text has the form of a build, of whichever program.
func IsBuild(text string) bool {
	return len(text) == buildLength && strings.Trim(text, "0123456789abcdef") == ""
}
