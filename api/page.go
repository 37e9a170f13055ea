package api

import (
	"net/http"
	"strconv"

	"github.com/danielgtaylor/huma/v2"
	"github.com/labstack/echo/v4"

	"seckill/api/pages"
	"seckill/domain"
)

// Paths of the buyer page.
const (
	pagePrefix      = "/s/"
	pathPage        = "/s/{sale}"
	pathPageVersion = "/s/{sale}/v{version}"
	pathPageAsset   = pages.Prefix + "{hash}/{name}"
)

// pageOperation describes a route of the buyer page.
func pageOperation(path, id, summary, media string, refusals ...int) huma.Operation {
	o := served(op(http.MethodGet, path, id, summary, refusals...), media)
	if media == "text/html" {
		o.Responses["304"] = &huma.Response{Description: "Not Modified: the caller has it"}
	}
	return o
}

// pageRoutes are the lines of the table for the buyer page.
func (s *Server) pageRoutes() []route {
	text := func(name string) *huma.Param {
		return &huma.Param{Name: name, In: "path", Required: true, Schema: &huma.Schema{Type: huma.TypeString}}
	}
	with := func(o huma.Operation, names ...string) huma.Operation {
		for _, name := range names {
			o.Parameters = append(o.Parameters, text(name))
		}
		return o
	}
	version := with(pageOperation(pathPageVersion, "buyer-page-version", "The buyer page of one version of a sale, to be kept for ever", "text/html", 404, 503), "sale", "version")
	version.Responses["302"] = &huma.Response{Description: "The sale has a later version: to the page of the latest",
		Headers: map[string]*huma.Param{echo.HeaderLocation: {Schema: &huma.Schema{Type: huma.TypeString}}}}
	return []route{
		{Operation: with(pageOperation(pathPage, "buyer-page", "The buyer page of a sale, for browsers", "text/html", 404, 503), "sale"), add: plain(s.page)},
		{Operation: version, add: plain(s.pageVersion)},
		{Operation: with(pageOperation(pathPageAsset, "buyer-page-asset", "What the buyer page loads, under a name that follows from its content", "text/javascript", 404), "hash", "name"), add: plain(s.pageAsset)},
	}
}

// PageOf gives what the buyer page itself says of a sale.
func PageOf(v *SaleView) pages.Sale {
	sale := pages.Sale{ID: v.ID, Version: v.Version, Title: v.Title, OpensAt: v.OpensAt, ClosesAt: v.ClosesAt, Limit: v.LimitPerBuyer}
	for _, item := range v.Items {
		sale.Items = append(sale.Items, pages.Item{SKU: item.SKU, Title: item.Title, Price: item.Price, Currency: item.Currency})
	}
	return sale
}

// page shows the latest version of a sale.
func (s *Server) page(c echo.Context) error {
	view, err := s.pageSale(c)
	if err != nil {
		return err
	}
	return s.writePage(c, view, pages.Briefly)
}

// pageVersion shows one version of a sale: the latest, which is what is known. An
// older one leads to it, and a later one is not there yet.
func (s *Server) pageVersion(c echo.Context) error {
	view, err := s.pageSale(c)
	if err != nil {
		return err
	}
	asked := c.Param("version")
	version, err := strconv.ParseInt(asked, 10, 64)
	switch {
	case err != nil || strconv.FormatInt(version, 10) != asked || version < 1 || version > view.Version:
		return refuse(domain.CodeNotFound)
	case version < view.Version:
		c.Response().Header().Set(echo.HeaderCacheControl, "no-store")
		return c.Redirect(http.StatusFound, "/s/"+view.ID)
	}
	return s.writePage(c, view, pages.Forever)
}

// pageSale finds the sale of a page.
func (s *Server) pageSale(c echo.Context) (*SaleView, error) {
	ctx, cancel := bounded(c.Request().Context(), s.opts.ReadBudget)
	defer cancel()
	sale, err := s.Shower.Show(ctx, c.Param("sale"))
	if err != nil {
		return nil, err
	}
	view := saleView(sale)
	return &view, nil
}

func (s *Server) writePage(c echo.Context, view *SaleView, cache string) error {
	page, err := s.pages.Of(PageOf(view))
	if err != nil {
		return err
	}
	h := c.Response().Header()
	h.Set("Content-Security-Policy", pages.Policy)
	h.Set("ETag", page.ETag)
	h.Set(echo.HeaderCacheControl, cache)
	if unchanged(c.Request().Header.Get("If-None-Match"), page.ETag) {
		return c.NoContent(http.StatusNotModified)
	}
	return c.Blob(http.StatusOK, "text/html; charset=utf-8", page.Body)
}

// pageAsset gives what a page of this program loads.
func (s *Server) pageAsset(c echo.Context) error {
	asset, ok := s.pages.Asset(c.Param("hash"), c.Param("name"))
	if !ok {
		return refuse(domain.CodeNotFound)
	}
	c.Response().Header().Set(echo.HeaderCacheControl, pages.Forever)
	return c.Blob(http.StatusOK, asset.MediaType, asset.Body)
}
