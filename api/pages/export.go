package pages

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// headersFile says how the files of a bundle have to be sent.
const headersFile = "_headers"

// Export writes a bundle for a CDN into dir, which is made where it is missing:
// the page of the sale, that of this version, the assets under the paths that
// pages know, and _headers. Files of other sales and versions stay. It gives the
// paths of what it wrote, relative to dir.
func (p *Pages) Export(dir string, s Sale) ([]string, error) {
	page, err := p.Of(s)
	if err != nil {
		return nil, err
	}
	latest, ours := "s/"+s.ID, p.Path(s)[1:]
	files := map[string][]byte{ours + "/index.html": page.Body, headersFile: []byte(headers())}
	order := []string{}
	for _, name := range p.assets.Names() {
		file := p.assets.Path(name)[1:]
		asset, _ := p.assets.File(name)
		files[file] = asset.Body
		order = append(order, file)
	}
	// The page that names the others comes last: who finds it finds them.
	files[latest+"/index.html"] = page.Body
	order = append(order, headersFile, ours+"/index.html", latest+"/index.html")
	for _, name := range order {
		if err := writeWhole(filepath.Join(dir, filepath.FromSlash(name)), files[name]); err != nil {
			return nil, fmt.Errorf("export the page of sale %s: %w", s.ID, err)
		}
	}
	return order, nil
}

// writeWhole writes a file so that nobody reads half of it.
func writeWhole(file string, body []byte) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	fresh := file + ".new"
	if err := os.WriteFile(fresh, body, 0o644); err != nil {
		return err
	}
	return os.Rename(fresh, file)
}

// headers is in the form that several CDNs read by themselves, and people can. What is
// sent with them is what this service sends itself.
func headers() string {
	rule := func(path, cache string) string {
		return path + "\n  " + strings.Join([]string{
			"Cache-Control: " + cache, "Content-Security-Policy: " + Policy, "X-Content-Type-Options: nosniff",
			"X-Frame-Options: DENY", "Cross-Origin-Resource-Policy: same-origin", "Referrer-Policy: no-referrer",
		}, "\n  ") + "\n"
	}
	return rule("/s/assets/*", Forever) + rule("/s/:sale", Briefly) + rule("/s/:sale/:version", Forever)
}
