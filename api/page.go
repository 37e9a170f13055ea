package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
	"github.com/labstack/echo/v4"

	"seckill/api/assets"
	"seckill/api/pages"
	"seckill/domain"
)

// Paths of the buyer page.
const (
	pagePrefix      = "/s/"
	pathPage        = "/s/{sale}"
	pathPageVersion = "/s/{sale}/v{version}"
	pathPageAsset   = pages.Prefix + "{build}/{name}"
)

const pageVersionDescription = `The version is that of the page, as Content-Location of /s/{sale} and the page's data-version give it: the version of the sale at
which it began to say what it says, and the build of the page. It changes with title, prices, times, limits and the program, not with pauses,
switches, preheats or releases. A bare number is a version of the sale: what the sale says since its terms changed last.`

// pageOperation describes a route of a page, or of what it loads.
func pageOperation(path, id, summary, media string, refusals ...int) huma.Operation {
	o := served(op(http.MethodGet, path, id, summary, refusals...), media)
	if media == "text/html" {
		o.Responses["304"] = &huma.Response{Description: "Not Modified: the caller has it"}
	}
	return o
}

// withText adds parameters of the path that are texts.
func withText(o *huma.Operation, names ...string) {
	for _, name := range names {
		o.Parameters = append(o.Parameters, &huma.Param{Name: name, In: "path", Required: true, Schema: &huma.Schema{Type: huma.TypeString}})
	}
}

// leads describes that a route may lead elsewhere.
func leads(o *huma.Operation, description string) {
	o.Responses["302"] = &huma.Response{Description: description,
		Headers: map[string]*huma.Param{echo.HeaderLocation: {Schema: &huma.Schema{Type: huma.TypeString}}}}
}

// pageRoutes are the lines of the table for the buyer page.
func (s *Server) pageRoutes() []route {
	latest := pageOperation(pathPage, "buyer-page", "The buyer page of a sale, for browsers", "text/html", 404, 503)
	withText(&latest, "sale")
	version := pageOperation(pathPageVersion, "buyer-page-version", "The buyer page of one version of a sale, to be kept for ever", "text/html", 404, 503)
	withText(&version, "sale", "version")
	leads(&version, "The page of an older version, or of another build of this program: to the latest")
	version.Description = pageVersionDescription
	asset := assetOperation(pathPageAsset, "buyer-page-asset", "What the buyer page loads, under a name that follows from its content")
	return []route{
		{Operation: latest, add: plain(s.page)},
		{Operation: version, add: plain(s.pageVersion)},
		{Operation: asset, add: plain(s.pageAsset)},
	}
}

// pageOf gives what the buyer page itself says of a sale.
func pageOf(sale domain.Sale) pages.Sale {
	t := sale.Terms
	p := pages.Sale{ID: sale.ID, Version: sale.TermsVersion, Title: t.Title, OpensAt: t.OpensAt, ClosesAt: t.ClosesAt, Limit: t.LimitPerBuyer, Ticket: t.RequireTicket}
	for _, item := range t.Items {
		p.Items = append(p.Items, pages.Item{SKU: item.SKU, Title: item.Title, Price: item.Price.Amount(), Currency: item.Price.Currency})
	}
	return p
}

// ExportPage writes the page of a sale for a CDN into a folder, as pages.Export
// does, and gives the version of the page and the files.
func (s *Server) ExportPage(ctx context.Context, sale, dir string) (version string, files []string, err error) {
	shown, err := s.Shower.Show(ctx, sale)
	if err != nil {
		return "", nil, err
	}
	page := pageOf(shown.Sale)
	files, err = s.pages.Export(dir, page)
	return s.pages.Version(page), files, err
}

// PageVersion gives the version of the page of a sale, as this program makes it.
func (s *Server) PageVersion(sale domain.Sale) string { return s.pages.Version(pageOf(sale)) }

// page shows the latest version of a sale, and says where that lies for ever.
func (s *Server) page(c echo.Context) error {
	sale, err := s.pageSale(c)
	if err != nil {
		return err
	}
	c.Response().Header().Set("Content-Location", s.pages.Path(pageOf(sale)))
	return s.writePage(c, sale, pages.Briefly)
}

// pageVersion shows one version of the page: the latest, which is what is known.
// That of an older version, or of another build, leads to it. A bare number is a
// version of the sale, which said the same since its terms changed last. A later
// one is not there yet.
func (s *Server) pageVersion(c echo.Context) error {
	sale, err := s.pageSale(c)
	if err != nil {
		return err
	}
	number, build, ok := pages.ParseVersion(c.Param("version"))
	latest := number == sale.TermsVersion && build == s.pages.Build() || number >= sale.TermsVersion && build == ""
	switch {
	case !ok || number > sale.Version:
		return refuse(domain.CodeNotFound)
	case !latest:
		return leadTo(c, pagePrefix+sale.ID)
	}
	return s.writePage(c, sale, pages.Forever)
}

// leadTo sends a browser elsewhere, for now.
func leadTo(c echo.Context, path string) error {
	c.Response().Header().Set(echo.HeaderCacheControl, "no-store")
	return c.Redirect(http.StatusFound, path)
}

// pageSale finds the sale of a page.
func (s *Server) pageSale(c echo.Context) (domain.Sale, error) {
	ctx, cancel := bounded(c.Request().Context(), s.opts.ReadBudget)
	defer cancel()
	sale, err := s.Shower.Show(ctx, c.Param("sale"))
	return sale.Sale, err
}

func (s *Server) writePage(c echo.Context, sale domain.Sale, cache string) error {
	page, err := s.pages.Of(pageOf(sale))
	if err != nil {
		return err
	}
	h := c.Response().Header()
	securePage(h, pages.Policy)
	h.Set("ETag", page.ETag)
	h.Set(echo.HeaderCacheControl, cache)
	if unchanged(c.Request().Header.Get("If-None-Match"), page.ETag) {
		return c.NoContent(http.StatusNotModified)
	}
	return c.Blob(http.StatusOK, "text/html; charset=utf-8", page.Body)
}

// pageAsset gives what a buyer page loads.
func (s *Server) pageAsset(c echo.Context) error { return giveAsset(c, s.pages.Assets(), pages.Policy) }

// giveAsset gives what a page of this program loads. A page of another build, kept
// somewhere or given by a neighbour while a new program is rolled out, gets ours.
func giveAsset(c echo.Context, set *assets.Set, policy string) error {
	build, name := c.Param("build"), c.Param("name")
	asset, ok := set.File(name)
	switch {
	case !ok || !assets.IsBuild(build):
		return refuse(domain.CodeNotFound)
	case build != set.Build():
		return leadTo(c, set.Path(name))
	}
	h := c.Response().Header()
	securePage(h, policy) // a worker lives under the policy of its own file
	h.Set(echo.HeaderCacheControl, pages.Forever)
	return c.Blob(http.StatusOK, asset.MediaType, asset.Body)
}
