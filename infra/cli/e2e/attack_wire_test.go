package e2e

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"seckill/infra/testenv"
)

// A request that stands inside of another one's body is never served, however the
// length of that body is told: who stands before us may have read it as a body.
func TestARequestInsideOfAnotherIsNotServed(t *testing.T) {
	t.Parallel()
	a := newTarget(t)
	const mark = "<inside>"
	for i, head := range []string{
		"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + mark,
		"Transfer-Encoding: chunked\r\nContent-Length: <all>\r\n\r\n0\r\n\r\n" + mark,
		"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + mark,
		"Transfer-Encoding: xchunked\r\nContent-Length: <all>\r\n\r\n" + mark,
		"Transfer-Encoding : chunked\r\nContent-Length: <all>\r\n\r\n" + mark,
		"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\nContent-Length: <all>\r\n\r\n" + mark,
		"Transfer-Encoding: identity, chunked\r\nContent-Length: <all>\r\n\r\n" + mark,
		"Transfer-Encoding:\r\n chunked\r\nContent-Length: <all>\r\n\r\n0\r\n\r\n" + mark,
		"Transfer-Encoding: \x0bchunked\r\nContent-Length: <all>\r\n\r\n" + mark,
		"X: y\rTransfer-Encoding: chunked\r\nContent-Length: <all>\r\n\r\n" + mark,
		"Content-Length: 0\r\nContent-Length: <all>\r\n\r\n" + mark,
		"Content-Length: <all>\r\nContent-Length: 0\r\n\r\n" + mark,
		"Content-Length: <all>\r\nContent-Length: <all>\r\n\r\n" + mark,
		"Content-Length: +<all>\r\n\r\n" + mark,
		"Content-Length: 0,<all>\r\n\r\n" + mark,
		"Content-Length: 0x10\r\n\r\n" + mark,
		"Content-Length: -1\r\n\r\n" + mark,
		"Content-Length: <all>\r\n\r\n" + mark,
		"content-length: <all>\r\nExpect: 100-continue\r\n\r\n" + mark,
		"Transfer-Encoding: chunked\r\n\r\nffffffffffffffff0\r\n\r\n" + mark,
		"Transfer-Encoding: chunked\r\n\r\n-1\r\n\r\n" + mark,
		"Transfer-Encoding: chunked\r\n\r\n0\r\nContent-Length: 0\r\n\r\n" + mark,
	} {
		victim := fmt.Sprintf("victim-%d", i)
		inside := fmt.Sprintf("POST /api/v1/sales/%s/purchases HTTP/1.1\r\nHost: h\r\nAuthorization: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
			a.sale, bearerOf(t, victim, ""), len(oneItem), oneItem)
		head = strings.ReplaceAll(head, "<all>", fmt.Sprint(len(inside)))
		outside := "POST /api/v1/sales/" + a.sale + "/purchases HTTP/1.1\r\nHost: h\r\nAuthorization: " + bearerOf(t, "mallory", "") + "\r\nContent-Type: application/json\r\n"
		// What ends the connection where it is still in step.
		const last = "GET /healthz HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"
		for _, got := range a.sends(t, outside+strings.Replace(head, mark, inside, 1)+last) {
			if strings.Contains(got.body, "order_id") || got.status == http.StatusAccepted {
				t.Errorf("%q: answered with %d %s", head, got.status, got.body)
			}
		}
		// Nobody bought for the victim: the own first press is no repeat.
		if answer, err := a.Buy(a.sale, victim, "k"); err != nil || answer.Status != http.StatusAccepted {
			t.Errorf("%q: the victim's own purchase is %d %s, %v; want 202", head, answer.Status, answer.Raw, err)
		}
	}
}

// A body in chunks is a body as any other, whatever length stands beside it: what ends is
// its connection, not the call.
func TestABodyInChunksIsTakenAndEndsItsConnection(t *testing.T) {
	t.Parallel()
	a := newTarget(t)
	for i, length := range []string{"", "Content-Length: 5\r\n", "Content-Length: 5000\r\n"} {
		got := a.sends(t, fmt.Sprintf("POST /api/v1/sales/%s/purchases HTTP/1.1\r\nHost: h\r\nAuthorization: %s\r\nContent-Type: application/json\r\n%sTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n"+
			"GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n", a.sale, bearerOf(t, fmt.Sprintf("alice-%d", i), ""), length, len(oneItem), oneItem))
		if len(got) != 1 || got[0].status != http.StatusAccepted || !got[0].last {
			t.Errorf("%q beside it: got %+v, want one answer, 202, and the end of the connection", length, got)
		}
	}
}

// Clients that begin and do not go on, and that do not read what they asked for, are
// given up, and meanwhile others are served.
func TestSlowClientsAreGivenUpAndHoldNobodyUp(t *testing.T) {
	t.Parallel()
	a := newTarget(t)
	// An answer has a minute; a kernel may make room for one more in its own time.
	const patience = 4 * time.Minute
	alice := bearerOf(t, "alice", "")
	begin := map[string]string{
		"nothing at all":      "",
		"half of a line":      "GET /api/v1/sa",
		"half of its headers": "GET /healthz HTTP/1.1\r\nHost: h\r\nX-A: b\r\n",
		"half of a body":      "POST /api/v1/sales/" + a.sale + "/purchases HTTP/1.1\r\nHost: h\r\nAuthorization: " + alice + "\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n{\"sku\":",
		"half of a chunk":     "POST /api/v1/sales/" + a.sale + "/purchases HTTP/1.1\r\nHost: h\r\nAuthorization: " + alice + "\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nff\r\n{",
		"what it never reads": strings.Repeat("GET /openapi.yaml HTTP/1.1\r\nHost: h\r\n\r\n", 400),
	}
	slow := map[string][]*rawLine{}
	for what, text := range begin {
		for range 20 {
			w := a.dial(t)
			if err := w.SetDeadline(time.Now().Add(2 * patience)); err != nil {
				t.Fatal(err)
			}
			if _, err := io.WriteString(w, text); err != nil {
				t.Fatal(err)
			}
			slow[what] = append(slow[what], w)
		}
	}
	for i := range 50 {
		if answer, err := a.Buy(a.sale, fmt.Sprintf("quick-%d", i), "k"); err != nil || answer.Status != http.StatusAccepted {
			t.Fatalf("beside the slow: got %d %s, %v; want 202", answer.Status, answer.Raw, err)
		}
	}
	for what, wires := range slow {
		for _, w := range wires {
			testenv.Eventually(t, patience, func() error {
				// A drop now and then keeps a connection that is only idle, and none of these.
				if _, err := io.WriteString(w, "x"); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
					return fmt.Errorf("%s: it is still held", what)
				}
				return nil
			})
		}
	}
}

// Paths that lead out of a folder, and places that lead to another host.
func TestNoPathLeadsOut(t *testing.T) {
	t.Parallel()
	a := newTarget(t)
	for _, folder := range []string{"/s/", "/s/" + a.sale + "/", "/s/assets/", "/ops/", "/ops/assets/", "/", "/api/v1/sales/"} {
		for _, way := range []string{
			"../../../../../../etc/passwd", "..%2f..%2f..%2f..%2fetc%2fpasswd", "%2e%2e/%2e%2e/%2e%2e/etc/passwd", "..%5c..%5cetc%5cpasswd", "..\\..\\etc\\passwd",
			"....//....//etc/passwd", "%252e%252e%252fetc%252fpasswd", "%c0%ae%c0%ae/etc/passwd", "/etc/passwd", "app.js%00.html", "..;/..;/etc/passwd", "file:///etc/passwd",
			"/evil.example/", "//evil.example/%2e%2e", "\\evil.example", "https://evil.example/", "v1%0d%0aSet-Cookie:%20a=b", "vevil", "v1/..//evil.example",
		} {
			got := a.sends(t, "GET "+folder+way+" HTTP/1.1\r\nHost: evil.example\r\nX-Forwarded-Host: evil.example\r\nConnection: close\r\n\r\n")
			if len(got) != 1 || got[0].status < 300 || got[0].status >= 500 {
				t.Errorf("%s%s: got %+v, want it refused", folder, way, got)
				continue
			}
			if to := got[0].header.Get("Location"); to != "" && (to[0] != '/' || strings.HasPrefix(to, "//") || strings.HasPrefix(to, "/\\")) {
				t.Errorf("%s%s leads to %s", folder, way, to)
			}
			if strings.Contains(got[0].body, "root:") || got[0].header.Get("Set-Cookie") != "" || strings.Contains(fmt.Sprint(got[0].header), "evil.example") {
				t.Errorf("%s%s: got %+v", folder, way, got[0])
			}
		}
	}
}
