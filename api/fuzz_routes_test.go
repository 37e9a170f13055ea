package api

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"seckill/commands"
	"seckill/domain"
	"seckill/eventstore/seal"
)

// FuzzEveryRoute: whatever is sent to whatever route as an operator, the answer is one
// that the document declares, never a fault, and every refusal is a problem document.
func FuzzEveryRoute(f *testing.F) {
	h := newHouse(f, func(d *Deps, _ *Options) {
		d.Log = slog.New(slog.DiscardHandler)
		d.Prover = fakeProver(func(string, string) (seal.Proof, error) { return seal.Proof{}, nil })
		d.Reconciler = fakeReconciler(func(string, bool, commands.Actor) (commands.ReconcileReport, error) {
			return commands.ReconcileReport{}, nil
		})
		d.Stater = fakeStater(func(string) (*commands.SignedStatement, error) {
			return &commands.SignedStatement{Statement: []byte("{}")}, nil
		})
	})
	placed := func() (commands.OrderAnswer, error) { return orderIn(domain.OrderStatusPlaced), nil }
	h.finder.find = func(context.Context, string, string) (commands.OrderAnswer, error) { return placed() }
	h.finder.wait = func(context.Context, string, string, int64, time.Duration) (commands.OrderAnswer, error) {
		return placed()
	}
	h.finder.list = func(context.Context, string, string, int, string) (commands.OrderPage, error) {
		return commands.OrderPage{}, nil
	}
	routes := slices.DeleteFunc(h.server.routes(), func(r route) bool { return strings.HasSuffix(r.Path, "/stream") }) // it ends with its reader
	declared := map[string][]int{}
	for _, o := range operations(f, string(h.server.document)) {
		if declared[o.method+" "+o.path] = o.statuses(); len(o.statuses()) == 0 {
			f.Fatalf("%s %s declares %v", o.method, o.path, o.statuses())
		}
	}
	operator := "Bearer " + tokenOf(f, "boss", RoleAdmin)
	for i, r := range routes {
		f.Add(uint8(i), "", "", []byte("{}"), "application/json", "k")
		f.Add(uint8(i), "%2e%2e/é\x00", "wait=5s&after=-1&limit=1e3&cursor=%00&sale=x", []byte(strings.Repeat("[", 5000)+strings.Repeat("]", 5000)), "application/json", "zh;q=9")
		if r.OperationID == membersID {
			f.Add(uint8(i), "", "", []byte("\"a\"\n{\"buyer_id\":\"b\"}\n"), mediaNDJSON, "k")
		}
	}
	f.Fuzz(func(t *testing.T, which uint8, param, query string, body []byte, kind, header string) {
		r := routes[int(which)%len(routes)]
		req := httptest.NewRequest(r.Method, "http://h/", bytes.NewReader(body))
		u, err := url.Parse(fuzzPath(r, param))
		if err != nil {
			return // it would not come over the wire
		}
		u.RawQuery = query
		req.URL, req.RequestURI = u, u.RequestURI()
		for name, value := range map[string]string{
			"Authorization": operator, headerConsole: "1", "Origin": "http://h", "Content-Type": kind, headerKey: header, headerTicket: header,
			"Traceparent": header, "Accept-Language": header, headerSignature: header, "If-None-Match": header, "Accept": header,
		} {
			if !strings.ContainsFunc(value, func(c rune) bool { return c < ' ' || c == 0x7f }) { // else the server refuses it
				req.Header.Set(name, value)
			}
		}
		w := httptest.NewRecorder()
		h.server.ServeHTTP(w, req)
		if !slices.Contains(append(declared[r.Method+" "+r.Path], 404, 405, 431), w.Code) || w.Code == http.StatusInternalServerError {
			t.Errorf("%s %s with %.300q: got %d, which is a fault or not declared\n%s", r.Method, u, body, w.Code, w.Body)
		}
		wantProblemOrGood(t, w)
	})
}

// wantProblemOrGood wants a refusal to be a problem document, whole and with its trace.
func wantProblemOrGood(t *testing.T, w *httptest.ResponseRecorder) {
	t.Helper()
	if w.Code < 400 {
		return
	}
	var doc struct {
		Code    domain.Code `json:"code"`
		Status  int         `json:"status"`
		Detail  string      `json:"detail"`
		TraceID string      `json:"trace_id"`
	}
	err := json.Unmarshal(w.Body.Bytes(), &doc)
	if err != nil || w.Header().Get("Content-Type") != problemType || doc.Status != w.Code || doc.Detail == "" ||
		!slices.Contains(domain.Codes(), doc.Code) || len(doc.TraceID) != 32 || doc.TraceID != w.Header().Get(headerTrace) {
		t.Errorf("got %d %v\n%s\n(%v), want a problem document", w.Code, w.Header(), w.Body, err)
	}
}

// fuzzPath puts a text in the place of the first parameter of a path, "" for what
// usually stands there.
func fuzzPath(r route, param string) string {
	before, rest, ok := strings.Cut(r.Path, "{")
	if !ok || param == "" {
		return concrete(r.Path)
	}
	_, after, _ := strings.Cut(rest, "}")
	return concrete(before + url.PathEscape(param) + after)
}

// statuses are those that the document declares for an operation.
func (o operation) statuses() []int {
	var all []int
	for _, line := range o.lines {
		if quoted, ok := strings.CutPrefix(line, `        "`); ok {
			if n, err := strconv.Atoi(strings.TrimSuffix(quoted, `":`)); err == nil {
				all = append(all, n)
			}
		}
	}
	return all
}
