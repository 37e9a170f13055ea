package cli

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"seckill/infra/config"
)

func onePrint(t *testing.T, command string, ok bool, parts ...part) string {
	t.Helper()
	var out bytes.Buffer
	if err := (console{out: &out}).printParted(command, parts, ok); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(out.String())
}

func TestWhatIsSaidOfSeveralDatabasesIsOneDocument(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{onePrint(t, "audit verify", true, part{"main", []byte(`{"ok":true}`), ""}, part{"b", []byte(`{}`), ""}),
			`{"databases":[{"database":"main","ok":true},{"database":"b"}],"ok":true}`},
		{onePrint(t, "archive list", false, part{"main", []byte(`[1,2]`), ""}, part{"b", nil, "it is away"}),
			`{"databases":[{"database":"main","list":[1,2]},{"database":"b","error":"it is away"}],"ok":false}`},
		{onePrint(t, "reconcile", true, part{"main", []byte(`{"sales":[{"sale":"x"}],"cleaned_up":2}`), ""}, part{"b", []byte(`{"sales":[],"cleaned_up":3}`), ""}),
			`{"cleaned_up":5,"sales":[{"database":"main","sale":"x"}]}`},
		{onePrint(t, "sale list", true, part{"main", []byte(`{"sales":[]}`), ""}, part{"b", []byte(`{"sales":[]}`), ""}), `{"sales":[]}`},
		{onePrint(t, "reconcile", false, part{"main", []byte(`{"sales":[]}`), ""}, part{"b", nil, "it is away"}),
			`{"failed":[{"database":"b","error":"it is away"}],"sales":[]}`},
	} {
		if c.got != c.want {
			t.Errorf("got  %s\nwant %s", c.got, c.want)
		}
	}
}

func TestLinesNameTheirDatabaseHoweverTheyAreWritten(t *testing.T) {
	var out bytes.Buffer
	lines := &taggedLines{to: &out, tag: "b"}
	for _, piece := range []string{`{"a"`, ":1}\n{}\n{\"a\":", "2}\n"} {
		if n, err := lines.Write([]byte(piece)); n != len(piece) || err != nil {
			t.Fatal(n, err)
		}
	}
	if want := "{\"database\":\"b\",\"a\":1}\n{\"database\":\"b\"}\n{\"database\":\"b\",\"a\":2}\n"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}

func TestTheWorstExitCodeOfSeveralDatabasesCounts(t *testing.T) {
	for _, c := range [][3]int{{0, 0, 0}, {0, 3, 3}, {3, 0, 3}, {3, 1, 1}, {1, 3, 1}, {0, 1, 1}} {
		if got := worse(c[0], c[1]); got != c[2] {
			t.Errorf("of %d and %d: got %d, want %d", c[0], c[1], got, c[2])
		}
	}
}

func TestDatabasesThatDoNotAnswerAreNotCompared(t *testing.T) {
	of := func(name string, store int, uuid string, err error) identity {
		return identity{Database: config.Database{Name: name}, store: store, uuid: uuid, err: err}
	}
	away := errors.New("away")
	for _, c := range []struct {
		all  []identity
		want string
	}{
		{[]identity{of("main", 1, "u", nil), of("b", 2, "v", nil)}, ""},
		{[]identity{of("main", 0, "", away), of("b", 0, "", away)}, ""},
		{[]identity{of("main", 1, "u", nil), of("b", 1, "v", nil)}, "main and b are both store 1"},
		{[]identity{of("main", 1, "u", nil), of("b", 0, "", away), of("c", 2, "u", nil)}, "main and c are the same database"},
	} {
		if got := fmt.Sprint(distinct(c.all)); (c.want == "" && got != "<nil>") || !strings.Contains(got, c.want) {
			t.Errorf("got %s, want %q", got, c.want)
		}
	}
}
