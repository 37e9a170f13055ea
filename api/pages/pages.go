package pages

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"html/template"
	"strconv"
	"strings"
	"sync"
	"time"

	"seckill/api/assets"
)

//go:embed static
var static embed.FS

// Prefix begins the path of every asset; the build and a name follow, so an asset
// never changes under its path.
const Prefix = "/s/assets/"

// Policy is the Content-Security-Policy of a page: its own modules, style and
// API, and nothing else.
const Policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
	"worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// Cache-Control of what never changes under its path, and of the page that shows
// the latest version.
const (
	Forever = "public, max-age=31536000, immutable"
	Briefly = "public, max-age=5"
)

// Options say what pages are told of the service; the zero value is good.
type Options struct {
	// TicketProof: a purchase ticket asks for a proof of work.
	TicketProof bool
}

// Sale is what a page says of a sale by itself.
type Sale struct {
	ID string
	// Version is the version of the sale at which it began to say what it says.
	Version  int64
	Title    string
	OpensAt  time.Time
	ClosesAt time.Time
	Limit    int64
	// Ticket: a purchase needs a ticket.
	Ticket bool
	Items  []Item
}

// Item is one thing on sale. Price is a decimal number.
type Item struct {
	SKU, Title, Price, Currency string
}

// Page is a page as it is sent.
type Page struct {
	Body []byte
	// ETag is a strong tag of the body.
	ETag string
}

// Pages makes pages, and keeps the last ones. It is safe for concurrent use.
type Pages struct {
	opts   Options
	assets *assets.Set
	html   *template.Template

	mu   sync.Mutex
	kept map[kept]Page
}

// kept names a page of this build: nothing else has a say in it.
type kept struct {
	sale    string
	version int64
}

// maxKept bounds the pages in memory, a few kilobytes each.
const maxKept = 64

// New reads the embedded files.
func New(opts Options) (*Pages, error) {
	set, err := assets.Read(static, "static", Prefix, fmt.Sprintf("%+v", opts))
	if err != nil {
		return nil, fmt.Errorf("read the buyer page: %w", err)
	}
	html, err := template.New(assets.PageFile).Parse(string(set.Page()))
	if err != nil {
		return nil, fmt.Errorf("read the buyer page: %w", err)
	}
	return &Pages{opts: opts, assets: set, html: html, kept: map[kept]Page{}}, nil
}

// Assets are what the pages load.
func (p *Pages) Assets() *assets.Set { return p.assets }

// Version names a page of a sale for ever: the version of the sale since which it
// says what it says, and the build of page, modules and style.
func (p *Pages) Version(s Sale) string { return strconv.FormatInt(s.Version, 10) + "-" + p.Build() }

// Path is where the page of a sale lies for ever.
func (p *Pages) Path(s Sale) string { return "/s/" + s.ID + "/v" + p.Version(s) }

// ParseVersion reads a version of a page, or the bare number of a version of the
// sale: then build is "". False for what is neither.
func ParseVersion(text string) (number int64, build string, ok bool) {
	digits, build, dashed := strings.Cut(text, "-")
	number, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || number < 1 || strconv.FormatInt(number, 10) != digits || dashed && !assets.IsBuild(build) {
		return 0, "", false
	}
	return number, build, true
}

// Build names template, modules, style and options of this program's pages.
func (p *Pages) Build() string { return p.assets.Build() }

// Of gives the page of a sale.
func (p *Pages) Of(s Sale) (Page, error) {
	key := kept{s.ID, s.Version}
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

// PageVersion names the page.
func (v view) PageVersion() string { return v.pages.Version(v.Sale) }

// Needs says what a purchase needs: "", "ticket", or "proof" where that ticket asks
// for a proof of work.
func (v view) Needs() string {
	switch {
	case !v.Ticket:
		return ""
	case v.pages.opts.TicketProof:
		return "proof"
	}
	return "ticket"
}

// Asset is where an asset lies.
func (v view) Asset(name string) string { return v.pages.assets.Path(name) }

// Stamp writes a time for the page's scripts.
func (v view) Stamp(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }
