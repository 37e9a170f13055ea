package api

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"

	"seckill/domain"
)

// raw sends a request line that net/http's client would not send.
func (h *house) raw(t *testing.T, line string) *http.Response {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(h.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if _, err := fmt.Fprintf(conn, "%s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", line); err != nil {
		t.Fatal(err)
	}
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	t.Cleanup(func() { answer.Body.Close() })
	return answer
}

func TestEveryMethodThatNothingTakesIsAProblemDocument(t *testing.T) {
	h := newHouse(t, nil)
	for line, want := range map[string]struct {
		status int
		allow  string
	}{
		"OPTIONS *":                          {404, ""},
		"OPTIONS /":                          {404, ""},
		"OPTIONS /api/v1/sales":              {405, "GET, HEAD"},
		"OPTIONS /api/v1/sales/x/purchases":  {405, "POST"},
		"TRACE /healthz":                     {405, "GET, HEAD"},
		"BREW /api/v1/sales":                 {405, "GET, HEAD"},
		"DELETE /api/v1/orders/x":            {405, "GET, HEAD"},
		"HEAD /api/v1/sales/x/purchases":     {405, "POST"},
		"CONNECT elsewhere:80":               {404, ""},
		"GET /api/v1/sales/%2e%2e/purchases": {405, "POST"},
	} {
		answer := h.raw(t, line)
		if answer.StatusCode != want.status || answer.Header.Get("Allow") != want.allow {
			t.Errorf("%s: got %d with Allow %q, want %d with %q", line, answer.StatusCode, answer.Header.Get("Allow"), want.status, want.allow)
		}
		if answer.Header.Get("Content-Type") != problemType || len(answer.Header.Get(headerTrace)) != 32 {
			t.Errorf("%s: got %v, want a problem document with a trace id", line, answer.Header)
		}
	}
}

func TestWhatIsNoRequestReachesNoHandler(t *testing.T) {
	h := newHouse(t, nil)
	for line, want := range map[string]int{"GET /%zz": 400, "nonsense": 400} {
		if answer := h.raw(t, line); answer.StatusCode != want || answer.Header.Get(headerTrace) != "" {
			t.Errorf("%s: got %d with trace %q, want the server's own %d as the document says",
				line, answer.StatusCode, answer.Header.Get(headerTrace), want)
		}
	}
}

func TestHeadIsAnsweredAsGetWithoutABody(t *testing.T) {
	h := newHouse(t, nil)
	for _, path := range []string{"/api/v1/sales", "/api/v1/sales/" + testSale, "/healthz", "/readyz", "/openapi.yaml", "/api/v1/sales/zzzzzzzz"} {
		get, head := h.ask(http.MethodGet, path, "", "Authorization", ""), h.ask(http.MethodHead, path, "", "Authorization", "")
		if head.Status != get.Status || head.Body != "" || get.Body == "" {
			t.Errorf("HEAD %s: got %d and %q, want %d and no body", path, head.Status, head.Body, get.Status)
		}
		for _, name := range []string{"Content-Type", "ETag", "Cache-Control"} {
			if head.Header.Get(name) != get.Header.Get(name) {
				t.Errorf("HEAD %s: %s is %q, with GET %q", path, name, head.Header.Get(name), get.Header.Get(name))
			}
		}
		if len(head.Header.Get(headerTrace)) != 32 {
			t.Errorf("HEAD %s has no trace id", path)
		}
	}
}

func TestACompressedBodyIsRefusedWithItsReason(t *testing.T) {
	h := newHouse(t, nil)
	doc := h.buy(oneShoe, "Content-Encoding", "gzip").problem(415, domain.CodeInvalidRequest)
	if detail := doc["detail"].(string); !strings.Contains(detail, "Compressed bodies are not taken") {
		t.Errorf("got %q, want that compressed bodies are not taken", detail)
	}
	doc = h.buy(oneShoe, "Content-Encoding", "gzip", "Accept-Language", "zh").problem(415, domain.CodeInvalidRequest)
	if detail := doc["detail"].(string); !strings.Contains(detail, "不接受压缩") {
		t.Errorf("got %q, want it in Chinese", detail)
	}
}

// Looking at a body level by level takes the square of its depth, so that is bounded.
func TestADeepBodyIsRefusedBeforeItIsLookedAt(t *testing.T) {
	h := newHouse(t, nil)
	nested := func(n int) string { return `{"items":` + strings.Repeat("[", n-1) + strings.Repeat("]", n-1) + `}` }
	for depth, deep := range map[int]bool{maxNesting: false, maxNesting + 1: true, 8000: true} {
		doc := h.admin(http.MethodPost, pathAdmin, nested(depth)).problem(422, domain.CodeInvalidRequest)
		if got := strings.Contains(fmt.Sprint(doc["errors"]), tooDeep); got != deep {
			t.Errorf("%d levels: got %.200v; want that it is too deep: %t", depth, doc["errors"], deep)
		}
	}
	doc := h.admin(http.MethodPost, pathAdmin, nested(8000), "Accept-Language", "zh").problem(422, domain.CodeInvalidRequest)
	if !strings.Contains(fmt.Sprint(doc["errors"]), "嵌套过深") {
		t.Errorf("got %v, want it in Chinese", doc["errors"])
	}
}
