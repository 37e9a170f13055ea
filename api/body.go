package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"seckill/domain"
)

// maxBody is how many bytes a JSON body may have.
const maxBody = 16 << 10

// bodyBudget is how long headers and body of a request may take to arrive.
const bodyBudget = 5 * time.Second

// readJSON reads the body of a request into buf, which is emptied first, and
// refuses what readText refuses, and what is no JSON text (400).
func readJSON(c echo.Context, buf *bytes.Buffer, optional bool) error {
	if err := readText(c, buf, optional); err != nil || buf.Len() == 0 && optional {
		return err
	}
	return validJSON(buf.Bytes())
}

// readText reads the body of a request into buf, which is emptied first, and
// refuses what is not JSON by its Content-Type (415), compressed (415) or too large
// (413). optional: no body at all is fine, and leaves buf empty.
func readText(c echo.Context, buf *bytes.Buffer, optional bool) error {
	plain := isJSON(c.Request().Header)
	if !plain && !optional {
		return errNotJSON()
	}
	if err := readRaw(c, buf); err != nil {
		return err
	}
	if !plain && buf.Len() > 0 {
		return errNotJSON()
	}
	return nil
}

const noCompression = "Compressed bodies are not taken: please send it as it is, without Content-Encoding."

// readRaw reads the body of a request, whatever it holds, into buf, which is
// emptied first. It refuses a compressed (415) and a too large one (413).
func readRaw(c echo.Context, buf *bytes.Buffer) error {
	buf.Reset()
	r := c.Request()
	if enc := first(r.Header, echo.HeaderContentEncoding); enc != "" && !strings.EqualFold(enc, "identity") {
		return invalid(http.StatusUnsupportedMediaType, noCompression)
	}
	if r.ContentLength > maxBody {
		return errTooLarge()
	}
	if err := fill(c, buf); err != nil {
		return err
	}
	if buf.Len() > maxBody {
		return errTooLarge()
	}
	return nil
}

func validJSON(body []byte) error {
	if !json.Valid(body) || !utf8.Valid(body) {
		return invalid(http.StatusBadRequest, "The body is not JSON, or something follows it.")
	}
	return nil
}

func errNotJSON() error {
	return invalid(http.StatusUnsupportedMediaType, "Please send application/json.")
}

func errTooLarge() error {
	return invalid(http.StatusRequestEntityTooLarge, "The body is over 16 KiB.")
}

// setBodyDeadline bounds anew how long the body of a request may take to arrive, also
// one that nobody reads: before it answers, the HTTP server waits for its rest. Left in
// place it would end the context of a request that takes longer than that.
func setBodyDeadline(c echo.Context, at time.Time) {
	if w, ok := c.Response().Writer.(interface{ SetReadDeadline(time.Time) error }); ok {
		_ = w.SetReadDeadline(at) // an answer that cannot be bounded is still an answer
	}
}

// restBudget is how long a refusal waits for the rest of a body that nobody reads. What
// came with the headers keeps its connection; one whose body is not there by then is
// closed after the answer.
const restBudget = time.Second

// hurryBody bounds by restBudget how long an answer waits for a body that was not read.
func hurryBody(c echo.Context) {
	if r := c.Request(); r.ContentLength != 0 && r.Body != http.NoBody {
		setBodyDeadline(c, time.Now().Add(restBudget))
	}
}

// fill copies at most one byte more than allowed.
func fill(c echo.Context, buf *bytes.Buffer) error {
	body := io.Reader(c.Request().Body)
	if c.Request().ContentLength < 0 { // else it was looked at, and the server holds the body to it
		body = io.LimitReader(body, maxBody+1)
	}
	if _, err := buf.ReadFrom(body); err != nil {
		return bodyProblem(err)
	}
	return nil
}

// bodyProblem says why a body did not arrive whole.
func bodyProblem(err error) error {
	r := invalid(http.StatusBadRequest, "The body did not arrive whole.")
	var slow interface{ Timeout() bool }
	if errors.As(err, &slow) && slow.Timeout() {
		r = invalid(http.StatusRequestTimeout, "The body took too long to arrive.")
	}
	return r
}

// isJSON tells whether the headers say that the body is plain JSON.
func isJSON(h http.Header) bool {
	ct := first(h, echo.HeaderContentType)
	if ct == echo.MIMEApplicationJSON {
		return true
	}
	media, _, err := mime.ParseMediaType(ct)
	if err != nil {
		return false
	}
	return media == echo.MIMEApplicationJSON || (strings.HasPrefix(media, "application/") && strings.HasSuffix(media, "+json"))
}

// checkedBody is the gate in front of every route with a body but the purchase:
// what passes is handed on whole, to be read again.
func (s *Server) checkedBody(optional bool) gate {
	return func(c echo.Context, _ *call) error {
		buf := new(bytes.Buffer)
		if err := readJSON(c, buf, optional); err != nil {
			return err
		}
		setBodyDeadline(c, time.Time{})
		if buf.Len() > 0 {
			body := skipSpace(buf.Bytes())
			if nesting(body) > maxNesting {
				return wrong(domain.FieldError{Field: "body", Reason: tooDeep})
			}
			if bad := checkJSON("", body, nil); len(bad) > 0 {
				return wrong(bad...)
			}
			c.Request().Header.Set(echo.HeaderContentType, echo.MIMEApplicationJSON)
		}
		c.Request().Body = io.NopCloser(buf)
		return nil
	}
}
