package console

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"html/template"

	"seckill/api/assets"
)

//go:embed static
var static embed.FS

// Path is where the console is; Prefix begins the path of every asset of it.
const (
	Path   = "/ops"
	Prefix = Path + "/assets/"
)

// Policy is the Content-Security-Policy of the console: its own modules, style and
// API, and nothing else. Trusted types without a policy: no script can turn a text
// into markup.
const Policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// Console is the page, ready to be sent. It does not change.
type Console struct {
	assets *assets.Set
	// Page is the page, and ETag a strong tag of it.
	Page []byte
	ETag string
}

// New reads the embedded files.
func New() (*Console, error) {
	set, err := assets.Read(static, "static", Prefix, "")
	if err != nil {
		return nil, fmt.Errorf("read the console: %w", err)
	}
	html, err := template.New(assets.PageFile).Parse(string(set.Page()))
	if err != nil {
		return nil, fmt.Errorf("read the console: %w", err)
	}
	var b bytes.Buffer
	if err := html.Execute(&b, struct{ Style, Script string }{set.Path("style.css"), set.Path("app.js")}); err != nil {
		return nil, fmt.Errorf("write the console: %w", err)
	}
	sum := sha256.Sum256(b.Bytes())
	return &Console{assets: set, Page: b.Bytes(), ETag: `"` + hex.EncodeToString(sum[:12]) + `"`}, nil
}

// Assets are what the page loads.
func (c *Console) Assets() *assets.Set { return c.assets }
