package cli

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestAProbeEndsAsTheProcessAnswers(t *testing.T) {
	ready := http.StatusOK
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/readyz":
			w.WriteHeader(ready)
			_, _ = w.Write([]byte("gate"))
		case "/healthz":
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	addr := strings.TrimPrefix(server.URL, "http://")
	_, port, _ := strings.Cut(addr, ":")
	probe := func(args ...string) (int, string) {
		code, out, errs := try(t, append([]string{"probe"}, args...)...)
		return code, out + errs
	}
	for _, at := range [][]string{{"--http-addr", addr}, {"--http-addr", "0.0.0.0:" + port}, {"--http-addr", ":" + port}, {"--url", server.URL}} {
		if code, said := probe(at...); code != exitGood {
			t.Errorf("%v: exit code %d, said %q; want 0", at, code, said)
		}
	}
	ready = http.StatusServiceUnavailable
	if code, said := probe("--url", server.URL); code != exitFailure || !strings.Contains(said, "503 gate") {
		t.Errorf("not ready: exit code %d, said %q; want 1 and the answer", code, said)
	}
	if code, said := probe("--url", server.URL, "--live"); code != exitGood {
		t.Errorf("not ready, but alive: exit code %d, said %q; want 0", code, said)
	}
	server.Close()
	if code, said := probe("--url", server.URL); code != exitFailure || !strings.Contains(said, "/readyz") {
		t.Errorf("nobody is there: exit code %d, said %q; want 1 and what was asked", code, said)
	}
	if code, said := probe("--http-addr", "127.0.0.1:0"); code != exitUsage || !strings.Contains(said, "--url") {
		t.Errorf("no port: exit code %d, said %q; want 2 and what to do", code, said)
	}
}
