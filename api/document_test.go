package api

import (
	"flag"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// update rewrites openapi.yaml: go test ./api -run OpenAPI -update
var update = flag.Bool("update", false, "write openapi.yaml")

func TestTheServedOpenAPIDocumentIsTheCommittedOne(t *testing.T) {
	h := newHouse(t, nil)
	got := h.ask(http.MethodGet, "/openapi.yaml", "", "Authorization", "")
	if got.Status != http.StatusOK || !strings.HasPrefix(got.Body, "components:") {
		t.Fatalf("got status %d and %.40q", got.Status, got.Body)
	}
	if *update {
		if err := os.WriteFile("openapi.yaml", []byte(got.Body), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if got.Body != string(want) {
		t.Error("openapi.yaml is not what is served; look at the change, then run: go test ./api -run OpenAPI -update")
	}
}

func TestEveryRouteIsDescribedInTheDocument(t *testing.T) {
	h := newHouse(t, nil)
	document := string(h.server.document)
	for _, r := range h.server.echo.Routes() {
		path := "  " + regexp.MustCompile(`:(\w+)`).ReplaceAllString(r.Path, "{$1}") + ":\n"
		if !strings.Contains(document, path) {
			t.Errorf("%s %s is served and not described", r.Method, r.Path)
		}
		if !slices.Contains(h.server.Routes(), r.Method+" "+strings.TrimSuffix(strings.TrimSpace(path), ":")) {
			t.Errorf("%s %s has no label for metrics", r.Method, r.Path)
		}
	}
}
