package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"seckill/commands"
	"seckill/domain"
)

// fakeMembers reads every buyer it is given.
type fakeMembers struct{ got []string }

func (f *fakeMembers) Replace(_ context.Context, sale string, next func() (string, error), _ commands.Actor) (commands.FoldedSale, error) {
	f.got = nil
	for {
		buyer, err := next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return commands.FoldedSale{}, err
		}
		f.got = append(f.got, buyer)
	}
	list := &domain.MemberList{ID: "l", Version: 3, Count: int64(len(f.got)), Digest: "d"}
	return commands.FoldedSale{Sale: domain.Sale{ID: sale, Version: 7, Terms: saleTerms(), Members: list}}, nil
}

const membersOf = "/api/v1/admin/sales/" + testSale + "/members"

func TestMembersAreReadALineAtATime(t *testing.T) {
	t.Parallel()
	h := newHouse(t, nil)
	got := h.admin(http.MethodPut, membersOf, "\"u1\"\n{\"buyer_id\":\"u2\"}\r\n { \"buyer_id\" : \"u\\u0033\" } \n\"u4\"", "Content-Type", "application/x-ndjson")
	if got.Status != http.StatusOK || !slices.Equal(h.members.got, []string{"u1", "u2", "u3", "u4"}) {
		t.Fatalf("got %d %s and %v, want 200 and four buyers", got.Status, got.Body, h.members.got)
	}
	if list, _ := got.json()["members"].(map[string]any); list["count"] != 4.0 || list["version"] != 3.0 || list["digest"] != "d" {
		t.Errorf("got %s, want the list's count, version and digest", got.Body)
	}
}

func TestAWrongLineOfMembersIsNamed(t *testing.T) {
	t.Parallel()
	h := newHouse(t, nil)
	for line, reason := range map[string]string{
		``:                                    "line 3: want a JSON text, or an object with buyer_id alone",
		`u3`:                                  "line 3: want a JSON text, or an object with buyer_id alone",
		`{}`:                                  "line 3: want a JSON text, or an object with buyer_id alone",
		`["u3"]`:                              "line 3: want a JSON text, or an object with buyer_id alone",
		`{"buyer_id":3}`:                      "line 3: want a JSON text, or an object with buyer_id alone",
		`{"Buyer_ID":"u3"}`:                   "line 3: want a JSON text, or an object with buyer_id alone",
		`{"buyer_id":"u3","tier":"x"}`:        "line 3: want a JSON text, or an object with buyer_id alone",
		`{"buyer_id":"a","buyer_id":""}`:      "line 3: want a JSON text, or an object with buyer_id alone",
		`"u3" "u4"`:                           "line 3: want a JSON text, or an object with buyer_id alone",
		"\"\xff\"":                            "line 3: want a JSON text, or an object with buyer_id alone",
		`""`:                                  "line 3: want 1 to 128 visible ASCII characters",
		`"汉字"`:                                "line 3: want 1 to 128 visible ASCII characters",
		`"` + strings.Repeat("x", 1100) + `"`: "line 3: is longer than 1024 bytes",
	} {
		got := h.admin(http.MethodPut, membersOf, "\"u1\"\n\"u2\"\n"+line+"\n\"u4\"\n", "Content-Type", "application/x-ndjson")
		if got.Status != http.StatusUnprocessableEntity || !strings.Contains(got.Body, reason) {
			t.Errorf("%q: got %d %s, want 422 and %q", line, got.Status, got.Body, reason)
		}
		zh := h.admin(http.MethodPut, membersOf, "\"u1\"\n\"u2\"\n"+line+"\n", "Content-Type", "application/x-ndjson", "Accept-Language", "zh")
		if !strings.Contains(zh.Body, "第 3 行") {
			t.Errorf("%q: got %s, want the reason in Chinese", line, zh.Body)
		}
	}
	var many strings.Builder
	for i := range domain.MaxMembers + 1 {
		fmt.Fprintf(&many, "\"%x\"\n", i)
	}
	if got := h.admin(http.MethodPut, membersOf, many.String(), "Content-Type", "application/x-ndjson"); got.Status != http.StatusUnprocessableEntity ||
		!strings.Contains(got.Body, "want at most 1000000 lines") {
		t.Errorf("a line too many: got %d %s", got.Status, got.Body)
	}
}

func TestMembersAreSetByOperatorsAndInLines(t *testing.T) {
	t.Parallel()
	h := newHouse(t, nil)
	if got := h.ask(http.MethodPut, membersOf, `"u1"`, "Content-Type", "application/x-ndjson"); got.Status != http.StatusForbidden {
		t.Errorf("a buyer: got %d, want 403", got.Status)
	}
	for _, header := range [][]string{{"Content-Type", "application/json"}, {"Content-Type", "application/x-ndjson", "Content-Encoding", "gzip"}} {
		if got := h.admin(http.MethodPut, membersOf, `"u1"`, header...); got.Status != http.StatusUnsupportedMediaType {
			t.Errorf("%v: got %d, want 415", header, got.Status)
		}
	}
	if len(h.members.got) > 0 {
		t.Errorf("got %v, want nothing read", h.members.got)
	}
}
