package api

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"
	"github.com/labstack/echo/v4"

	"seckill/commands"
	"seckill/domain"
)

// Members sets who may buy.
type Members interface {
	Replace(ctx context.Context, sale string, next func() (string, error), actor commands.Actor) (commands.FoldedSale, error)
}

const (
	pathMembers = "/api/v1/admin/sales/{sale}/members"
	membersID   = "set-members"
	// membersBudget is how long a list may take to arrive.
	membersBudget = 45 * time.Second
	// maxMemberLine bounds a line in bytes.
	maxMemberLine = 1024
)

const membersDescription = `The buyers who may buy, one a line: a JSON text, or an object with buyer_id alone. The list replaces the one before it whole, up to
1,000,000 lines; a buyer who stands there twice counts once. A line that is neither is 422 and names its number, and nothing changes. A sale that
has a list sells to nobody else; where it has eligible_tiers too, a buyer must fulfil both. Orders that are there already stay.`

// MembersView is the list of those who may buy, as operators see it.
type MembersView struct {
	Version int64  `json:"version" doc:"Counts the lists of this sale from 1"`
	Count   int64  `json:"count"`
	Digest  string `json:"digest" doc:"The same for the same buyers"`
}

func membersView(list *domain.MemberList) *MembersView {
	if list == nil {
		return nil
	}
	return &MembersView{Version: list.Version, Count: list.Count, Digest: list.Digest}
}

// membersOperation describes the route, whose body huma does not know.
func membersOperation() huma.Operation {
	o := described(op(http.MethodPut, pathMembers, membersID, "Say who may buy", 400, 401, 403, 404, 409, 410, 415, 422, 503), membersDescription)
	text := &huma.Schema{Type: huma.TypeString}
	o.Parameters = []*huma.Param{{Name: "sale", In: "path", Required: true, Schema: text}}
	o.RequestBody = &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{mediaNDJSON: {Schema: text}}}
	o.Responses = map[string]*huma.Response{"200": {Description: "The sale", Content: map[string]*huma.MediaType{
		echo.MIMEApplicationJSON: {Schema: &huma.Schema{Ref: "#/components/schemas/AdminSaleView"}},
	}}}
	return o
}

const mediaNDJSON = "application/x-ndjson"

// isNDJSON tells whether the headers say that the body is lines of JSON.
func isNDJSON(h http.Header) bool {
	media, _, err := mime.ParseMediaType(h.Get(echo.HeaderContentType))
	return err == nil && (media == mediaNDJSON || media == "application/ndjson" || media == "application/jsonl")
}

// setMembers is a plain handler: its body is read line by line.
func (s *Server) setMembers(c echo.Context) error {
	var asked call
	if err := s.admit(c, admin, &asked); err != nil {
		return err
	}
	r := c.Request()
	if enc := r.Header.Get(echo.HeaderContentEncoding); enc != "" && !strings.EqualFold(enc, "identity") {
		return invalid(http.StatusUnsupportedMediaType, noCompression)
	}
	if !isNDJSON(r.Header) {
		return invalid(http.StatusUnsupportedMediaType, "Please send "+mediaNDJSON+".")
	}
	setBodyDeadline(c, s.Now().Add(membersBudget))
	lines := newMemberLines(r.Body)
	sale, err := s.Members.Replace(r.Context(), c.Param("sale"), lines.next, commands.Actor{By: asked.caller.Buyer, TraceID: traceOf(c)})
	if err != nil {
		return err
	}
	setBodyDeadline(c, time.Time{})
	ctx := withCall(r.Context(), call{trace: traceOf(c), caller: asked.caller})
	s.logAction(ctx, membersID, sale.ID)
	return c.JSON(http.StatusOK, s.adminView(ctx, sale))
}

// memberLines reads a buyer a line.
type memberLines struct {
	lines *bufio.Scanner
	n     int
}

func newMemberLines(body io.Reader) *memberLines {
	lines := bufio.NewScanner(body)
	lines.Buffer(make([]byte, 0, maxMemberLine), maxMemberLine)
	return &memberLines{lines: lines}
}

// next gives the buyer of the next line, io.EOF after the last one, or what is
// wrong with the line.
func (m *memberLines) next() (string, error) {
	if !m.lines.Scan() {
		switch err := m.lines.Err(); {
		case err == nil:
			return "", io.EOF
		case errors.Is(err, bufio.ErrTooLong):
			m.n++
			return "", m.wrong(fmt.Sprintf("is longer than %d bytes", maxMemberLine))
		default:
			return "", bodyProblem(err)
		}
	}
	if m.n++; m.n > domain.MaxMembers {
		return "", wrong(domain.FieldError{Field: "body", Reason: fmt.Sprintf("want at most %d lines", domain.MaxMembers)})
	}
	buyer, ok := memberOf(m.lines.Bytes())
	if !ok {
		return "", m.wrong(`want a JSON text, or an object with buyer_id alone`)
	}
	if !domain.ValidBuyer(buyer) {
		return "", m.wrong("want 1 to 128 visible ASCII characters")
	}
	return buyer, nil
}

func (m *memberLines) wrong(reason string) error {
	return wrong(domain.FieldError{Field: "body", Reason: fmt.Sprintf("line %d: %s", m.n, reason)})
}

// memberOf reads "buyer" or {"buyer_id":"buyer"}, and nothing else.
func memberOf(line []byte) (string, bool) {
	if !json.Valid(line) || !utf8.Valid(line) {
		return "", false
	}
	line = skipSpace(line)
	if line[0] == '{' {
		name, value, rest, ok := cutMember(line[1:])
		if !ok || name != "buyer_id" {
			return "", false
		}
		if _, _, _, more := cutMember(rest); more {
			return "", false
		}
		line = value
	}
	if line[0] != '"' {
		return "", false
	}
	value, _ := cutValue(line)
	return unquote(value), true
}
