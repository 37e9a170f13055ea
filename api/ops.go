package api

import (
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/labstack/echo/v4"

	"seckill/api/console"
)

const (
	pathOps      = console.Path
	pathOpsAsset = console.Prefix + "{build}/{name}"
)

// opsCache lets a browser keep the console if it asks each time whether it is still
// the same: who is on duty must not see that of an older program.
const opsCache = "no-cache"

const opsDescription = "A page for browsers that holds no data: what it shows it asks the routes of operators for, with the token that is given to it, or to " +
	"its address as `#token=`. Where operators have a listener of their own, it is there alone."

// opsRoutes are the lines of the table for the operators' console.
func (s *Server) opsRoutes() []route {
	page := described(pageOperation(pathOps, "console", "The operators' console", "text/html"), opsDescription)
	asset := assetOperation(pathOpsAsset, "console-asset", "What the console loads, under a name that follows from its content")
	return []route{{Operation: page, add: plain(s.ops)}, {Operation: asset, add: plain(s.opsAsset)}}
}

// isOps tells whether a path is the console's or what it loads.
func isOps(path string) bool {
	return path == pathOps || path == pathSignIn || strings.HasPrefix(path, console.Prefix)
}

// ops sends the console.
func (s *Server) ops(c echo.Context) error {
	h := c.Response().Header()
	securePage(h, console.Policy)
	h.Set("ETag", s.console.ETag)
	h.Set(echo.HeaderCacheControl, opsCache)
	if unchanged(c.Request().Header.Get("If-None-Match"), s.console.ETag) {
		return c.NoContent(http.StatusNotModified)
	}
	return c.Blob(http.StatusOK, "text/html; charset=utf-8", s.console.Page)
}

// opsAsset gives what the console loads.
func (s *Server) opsAsset(c echo.Context) error {
	return giveAsset(c, s.console.Assets(), console.Policy)
}

// assetOperation describes a route of what a page loads.
func assetOperation(path, id, summary string) huma.Operation {
	asset := pageOperation(path, id, summary, "text/javascript", 404)
	withText(&asset, "build", "name")
	leads(&asset, "That of another build of this program: to the one of this")
	return asset
}
