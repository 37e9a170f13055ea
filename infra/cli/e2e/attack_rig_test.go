package e2e

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"seckill/api"
)

// target is a served program that is attacked, and a sale of it.
type target struct {
	t     *testing.T
	rig   *Rig
	child *Child
	*Client
	sale string
}

func newTarget(t *testing.T, env ...string) *target {
	t.Helper()
	rig := NewRig(t)
	child := ServeRig(t, rig, env...)
	a := &target{t: t, rig: rig, child: child, Client: NewClient(child.URL)}
	a.sale = a.CreateSale(t, 1000)
	awaitSelling(t, a.Client, a.sale)
	return a
}

// rawLine is a connection on which anything may be sent.
type rawLine struct {
	net.Conn
	answers *bufio.Reader
}

// wireLife bounds a connection of a test, so that none hangs.
const wireLife = 100 * time.Second

func (a *target) dial(t *testing.T) *rawLine {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(a.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() }) // it may be closed by the other end
	if err := conn.SetDeadline(time.Now().Add(wireLife)); err != nil {
		t.Fatal(err)
	}
	return &rawLine{conn, bufio.NewReader(conn)}
}

// seen is an answer on a wire.
type seen struct {
	status int
	header http.Header
	body   string
	last   bool // the connection ends with it
}

// all reads answers until the other end closes. What is no answer ends it too.
func (w *rawLine) all(t *testing.T) []seen {
	t.Helper()
	var got []seen
	for {
		answer, err := http.ReadResponse(w.answers, nil)
		if err != nil {
			if timeout := net.Error(nil); errors.As(err, &timeout) && timeout.Timeout() {
				t.Errorf("after %d answers the connection is neither closed nor answered", len(got))
			}
			return got
		}
		body, err := io.ReadAll(answer.Body)
		got = append(got, seen{answer.StatusCode, answer.Header, string(body), answer.Close})
		if err != nil {
			return got
		}
	}
}

// sends writes a request as it is, and gives all that is answered.
func (a *target) sends(t *testing.T, request string) []seen {
	t.Helper()
	w := a.dial(t)
	if _, err := io.WriteString(w, request); err != nil {
		t.Fatal(err)
	}
	return w.all(t)
}

// operation is an operation of the program, as its own document names it.
type operation struct {
	method, path string
	takesBody    bool
}

var (
	documentPath   = regexp.MustCompile(`^  (/\S+):$`)
	documentMethod = regexp.MustCompile(`^    (get|post|put|patch|delete):$`)
)

// calls reads the operations out of the document that the program serves, with something
// in the place of every parameter.
func (a *target) calls(t *testing.T) []operation {
	t.Helper()
	document, err := a.Call(http.MethodGet, "/openapi.yaml", "", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	fill := strings.NewReplacer("{sale}", a.sale, "{order}", "0101g000000000000000000000000000000000000000w", "{sku}", "item", "{name}", "force_ended",
		"{receipt}", "nonsense", "{projection}", "order_view", "{sequence}", "o", "{provider}", "bank", "{version}", "1")
	var all []operation
	path := ""
	for line := range strings.Lines(document.Raw) {
		line = strings.TrimRight(line, "\n")
		if m := documentPath.FindStringSubmatch(line); m != nil {
			path = fill.Replace(m[1])
		} else if m := documentMethod.FindStringSubmatch(line); m != nil {
			all = append(all, operation{method: strings.ToUpper(m[1]), path: path})
		} else if line == "      requestBody:" {
			all[len(all)-1].takesBody = true
		}
	}
	if len(all) < 30 {
		t.Fatalf("only %d operations were read: %v", len(all), all)
	}
	return all
}

// bearerOf is the Authorization of a buyer.
func bearerOf(t *testing.T, buyer, role string) string {
	t.Helper()
	token, err := api.SignToken([]byte(TestSecret), buyer, role, "", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	return "Bearer " + token
}
