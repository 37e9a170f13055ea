package api

import (
	"context"
	"encoding/json"
	"mime"
	"net/http"
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/labstack/echo/v4"

	"seckill/commands"
)

// Stater makes closing statements.
type Stater interface {
	State(ctx context.Context, sale string) (*commands.SignedStatement, error)
}

const pathStatement = "/api/v1/admin/sales/{sale}/statement"

// statementID names the statement in the document.
const statementID = "state-sale"

// statementOperation describes the statement, whose answer huma does not know.
func statementOperation() huma.Operation {
	o := op(http.MethodGet, pathStatement, statementID, "The signed closing statement of a sale", 401, 403, 404, 409, 410, 503)
	o.Description = "The whole account of a sale that is over (409 `not_ended` before), made from the log alone and signed with a key that seals the log: units, money, orders, findings, repairs, " +
		"and whether every arrival had the same chance. docs/statement.md describes the form and how to verify it. `Accept: text/html` gives a page to print."
	o.Parameters = []*huma.Param{{Name: "sale", In: "path", Required: true, Schema: &huma.Schema{Type: huma.TypeString}}}
	o.Responses = map[string]*huma.Response{"200": {Description: "OK"}}
	return o
}

// describeStatement adds the shape of the answer.
func describeStatement(registry huma.Registry, o *huma.Operation) {
	text := &huma.Schema{Type: huma.TypeString}
	answer := &huma.Schema{Type: huma.TypeObject, Properties: map[string]*huma.Schema{
		"statement": {Type: huma.TypeObject, Description: "See docs/statement.md", AdditionalProperties: true},
		"issued":    registry.Schema(reflect.TypeFor[commands.Issued](), true, "Issued"),
		"sha256":    {Type: huma.TypeString, Description: "Of the statement in its canonical form"},
		"key_id":    text, "signature": {Type: huma.TypeString, Description: "Ed25519, hexadecimal"},
	}, Required: []string{"issued", "key_id", "sha256", "signature", "statement"}}
	o.Responses["200"].Content = map[string]*huma.MediaType{"application/json": {Schema: answer}, "text/html": {Schema: text}}
}

// statement is a plain handler: it answers in two forms.
func (s *Server) statement(c echo.Context) error {
	var asked call
	if err := s.admit(c, admin, &asked); err != nil {
		return err
	}
	signed, err := s.Stater.State(c.Request().Context(), c.Param("sale"))
	if err != nil {
		return err
	}
	h := c.Response().Header()
	h.Set(echo.HeaderVary, "Accept")
	if !wantsHTML(c.Request().Header.Get("Accept")) {
		return c.JSON(http.StatusOK, signed)
	}
	var told commands.Statement
	if err := json.Unmarshal(signed.Statement, &told); err != nil {
		return err
	}
	page, err := StatementPage(&told, signed)
	if err != nil {
		return err
	}
	securePage(h, "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'")
	return c.HTMLBlob(http.StatusOK, page)
}

// wantsHTML tells whether a caller names HTML before JSON, as browsers do.
func wantsHTML(accept string) bool {
	for part := range strings.SplitSeq(accept, ",") {
		switch media, _, _ := mime.ParseMediaType(part); media {
		case "text/html", "application/xhtml+xml":
			return true
		case "application/json":
			return false
		}
	}
	return false
}
