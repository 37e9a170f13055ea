package api

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// operation is what the document says of a route, read from its text.
type operation struct {
	method, path string
	lines        []string
}

func (o operation) has(line string) bool { return slices.Contains(o.lines, line) }

var methodLine = regexp.MustCompile(`^    (get|post|put|patch|delete):$`)

// operations cuts the document into its operations.
func operations(t testing.TB, document string) []operation {
	t.Helper()
	_, paths, ok := strings.Cut(document, "\npaths:\n")
	if !ok {
		t.Fatal("the document has no paths")
	}
	var all []operation
	path := ""
	for line := range strings.SplitSeq(paths, "\n") {
		switch m := methodLine.FindStringSubmatch(line); {
		case strings.HasPrefix(line, "  /"):
			path = strings.TrimSuffix(strings.TrimSpace(line), ":")
		case m != nil:
			all = append(all, operation{method: strings.ToUpper(m[1]), path: path})
		case line != "" && line[0] != ' ':
			return all
		case len(all) > 0 && strings.HasPrefix(line, "      "):
			all[len(all)-1].lines = append(all[len(all)-1].lines, line)
		}
	}
	return all
}

func TestEveryRouteDeclaresTheRefusalsOfItsKind(t *testing.T) {
	h := newHouse(t, nil)
	all := operations(t, string(h.server.document))
	if len(all) != len(h.server.routes()) {
		t.Fatalf("read %d operations, want %d", len(all), len(h.server.routes()))
	}
	for _, o := range all {
		want := map[string]bool{}
		need := func(is bool, statuses ...string) {
			for _, s := range statuses {
				want[s] = want[s] || is
			}
		}
		need(o.has("      requestBody:"), "400", "413", "415", "422")
		need(o.has("      security:"), "401")
		need(strings.HasPrefix(o.path, adminPrefix), "401", "403")
		need(strings.HasPrefix(o.path, pathPrefix) || strings.HasPrefix(o.path, hooksPrefix) || strings.Contains(o.path, "/s/{sale}") || o.path == "/readyz", "503")
		for status, needed := range want {
			if needed && !o.has(`        "`+status+`":`) {
				t.Errorf("%s %s does not declare %s", o.method, o.path, status)
			}
		}
	}
}

func TestEveryGoodAnswerIsDescribedByItsShape(t *testing.T) {
	h := newHouse(t, nil)
	for _, o := range operations(t, string(h.server.document)) {
		if strings.HasPrefix(o.path, pagePrefix) || isOps(o.path) {
			continue // pages and what they load
		}
		good, shape := false, false
		for _, line := range o.lines {
			if strings.HasPrefix(line, `        "`) {
				good = strings.HasPrefix(line, `        "20`)
			}
			shape = shape || good && strings.TrimSpace(line) == "schema:" && strings.HasPrefix(line, "              s")
		}
		if !shape {
			t.Errorf("%s %s: no answer has a schema", o.method, o.path)
		}
	}
}

// TestEveryRouteWithABodyRefusesWhatIsNoneInTheDeclaredWay: what the document
// declares is what comes, on every route that takes JSON.
func TestEveryRouteWithABodyRefusesWhatIsNoneInTheDeclaredWay(t *testing.T) {
	h := newHouse(t, nil)
	boss := "Bearer " + tokenOf(t, "boss", RoleAdmin)
	asked := 0
	for _, r := range h.server.routes() {
		if r.body == nil && r.OperationID != purchaseID {
			continue
		}
		asked++
		path := concrete(r.Path)
		for _, c := range []struct {
			status     int
			body, kind string
		}{
			{400, "{", "application/json"}, {400, "{}{}", "application/json"}, {413, `{"note":"` + strings.Repeat("x", maxBody) + `"}`, "application/json"},
			{415, "{}", "text/plain"}, {422, `{"no_such_field":1}`, "application/json"},
		} {
			got := h.ask(r.Method, path, c.body, "Authorization", boss, "Content-Type", c.kind, headerConsole, "1", "Origin", h.url)
			if got.Status != c.status || got.Header.Get("Content-Type") != problemType {
				t.Errorf("%s %s with %.20s as %s: got %d %.120s, want %d", r.Method, r.Path, c.body, c.kind, got.Status, got.Body, c.status)
			}
		}
	}
	if asked < 12 {
		t.Errorf("only %d routes take a body", asked)
	}
}

func TestMetricsAreWhereOperatorsAre(t *testing.T) {
	h := newHouse(t, func(d *Deps, _ *Options) {
		d.Scrape = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("seckill_up 1\n")) })
	})
	if got := h.ask(http.MethodGet, "/metrics", "", "Authorization", ""); got.Body != "seckill_up 1\n" {
		t.Errorf("where operators are served: got %d %q", got.Status, got.Body)
	}
	listening := httptest.NewUnstartedServer(nil)
	listening.Config = h.server.HTTPServerOutside()
	listening.Start()
	t.Cleanup(listening.Close)
	h.url = listening.URL
	for path, want := range map[string]int{"/metrics": 404, "/healthz": 200, "/readyz": 200, "/openapi.yaml": 200} {
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			if got := h.ask(method, path, "", "Authorization", ""); got.Status != want {
				t.Errorf("%s %s outside: got %d, want %d", method, path, got.Status, want)
			}
		}
	}
}
