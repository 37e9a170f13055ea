package pages

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"html/template"
	"io/fs"
	"mime"
	"path"
	"sync"
	"time"
)

//go:embed static
var static embed.FS

// Prefix begins the path of every asset; the hash of all of them and a name
// follow, so an asset never changes under its path.
const Prefix = "/s/assets/"

// Policy is the Content-Security-Policy of a page: its own modules, style and
// API, and nothing else.
const Policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// Cache-Control of what never changes under its path, and of the page that shows
// the latest version.
const (
	Forever = "public, max-age=31536000, immutable"
	Briefly = "public, max-age=5"
)

// Sale is what a page says of a sale by itself.
type Sale struct {
	ID       string
	Version  int64
	Title    string
	OpensAt  time.Time
	ClosesAt time.Time
	Limit    int64
	Items    []Item
}

// Item is one thing on sale. Price is a decimal number.
type Item struct {
	SKU, Title, Price, Currency string
}

// Asset is a file that pages load.
type Asset struct {
	Name, MediaType string
	Body            []byte
}

// Page is a page as it is sent.
type Page struct {
	Body []byte
	// ETag is a strong tag of the body.
	ETag string
}

// Pages makes pages, and keeps the last ones. It is safe for concurrent use.
type Pages struct {
	hash   string
	assets map[string]Asset
	html   *template.Template

	mu   sync.Mutex
	kept map[version]Page
}

// version names a page: nothing else has a say in it.
type version struct {
	sale   string
	number int64
}

// maxKept bounds the pages in memory, a few kilobytes each.
const maxKept = 64

// pageFile is the template; everything beside it is an asset.
const pageFile = "page.html"

// New reads the embedded files.
func New() (*Pages, error) {
	p := &Pages{assets: map[string]Asset{}, kept: map[version]Page{}}
	files, err := fs.ReadDir(static, "static")
	if err != nil {
		return nil, fmt.Errorf("read the buyer page: %w", err)
	}
	sum := sha256.New()
	for _, f := range files { // sorted by name
		body, err := static.ReadFile(path.Join("static", f.Name()))
		if err != nil {
			return nil, fmt.Errorf("read the buyer page: %w", err)
		}
		if f.Name() == pageFile {
			if p.html, err = template.New(pageFile).Parse(string(body)); err != nil {
				return nil, fmt.Errorf("read the buyer page: %w", err)
			}
			continue
		}
		fmt.Fprintf(sum, "%s %d\n", f.Name(), len(body))
		sum.Write(body) // never fails
		p.assets[f.Name()] = Asset{Name: f.Name(), MediaType: mediaType(f.Name()), Body: body}
	}
	p.hash = hex.EncodeToString(sum.Sum(nil))[:16]
	return p, nil
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

// Asset gives the asset that pages of this program load under a hash and a name.
func (p *Pages) Asset(hash, name string) (Asset, bool) {
	if hash != p.hash {
		return Asset{}, false
	}
	a, ok := p.assets[name]
	return a, ok
}

// AssetPath is where a page finds an asset.
func (p *Pages) AssetPath(name string) string { return Prefix + p.hash + "/" + name }

// Of gives the page of a version of a sale.
func (p *Pages) Of(s Sale) (Page, error) {
	key := version{s.ID, s.Version}
	p.mu.Lock()
	page, ok := p.kept[key]
	p.mu.Unlock()
	if ok {
		return page, nil
	}
	var b bytes.Buffer
	if err := p.html.Execute(&b, view{s, p}); err != nil {
		return Page{}, fmt.Errorf("write the page of sale %s: %w", s.ID, err)
	}
	sum := sha256.Sum256(b.Bytes())
	page = Page{Body: b.Bytes(), ETag: `"` + hex.EncodeToString(sum[:12]) + `"`}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.kept) >= maxKept {
		clear(p.kept)
	}
	p.kept[key] = page
	return page, nil
}

// view is what the template reads.
type view struct {
	Sale
	pages *Pages
}

// Asset is where an asset lies.
func (v view) Asset(name string) string { return v.pages.AssetPath(name) }

// Stamp writes a time for the page's scripts.
func (v view) Stamp(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }
