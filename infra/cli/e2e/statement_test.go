package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"seckill/commands"
	"seckill/eventstore"
	"seckill/infra/testenv"
)

// tallied waits for what a node tells of a sale.
func talliedIn(t *testing.T, n *Node, sale string, tallies int) {
	t.Helper()
	testenv.Eventually(t, 30*time.Second, func() error {
		records, err := n.Store.Find(t.Context(), eventstore.Filter{SaleID: sale, Type: "sale.tallied"}, 0, 10)
		if err == nil && len(records) < tallies {
			err = fmt.Errorf("%d tallies", len(records))
		}
		return err
	})
}

func TestTheClosingStatementOfASaleThatTwoNodesSold(t *testing.T) {
	t.Parallel()
	r := NewRig(t)
	env := append(r.Settings(t), "SECKILL_SEAL_AFTER=300ms", "SECKILL_SEAL_EVERY=10")
	first := Serve(t, ChildOptions{Env: append(slices.Clone(env), "SECKILL_NODE=node-a")})
	second := Serve(t, ChildOptions{Env: append(slices.Clone(env), "SECKILL_NODE=node-b"), Args: []string{"--roles", "api"}})
	a, b := NewClient(first.URL), NewClient(second.URL)
	sale := a.CreateSale(t, 12)
	for i := range 20 {
		client := a
		if i%2 == 1 {
			client = b
		}
		if _, err := client.Buy(sale, fmt.Sprintf("buyer-%d", i), fmt.Sprintf("k-%d", i)); err != nil {
			t.Fatal(err)
		}
	}
	path := "/api/v1/admin/sales/" + sale
	if early, err := a.Call(http.MethodGet, path+"/statement", "operator", "admin", nil); err != nil || early.Status != http.StatusConflict || early.Text("code") != "not_ended" {
		t.Errorf("while it is open: got %d %s %v", early.Status, early.Raw, err)
	}
	wantOneSentence(t, Run(t, env, "statement", "make", "--sale", sale), 1, "not over yet")
	if code := second.Stop(); code != 0 { // tells what it was asked
		t.Errorf("stopped with %d", code)
	}
	if closed, err := a.Call(http.MethodPost, path+"/close", "operator", "admin", nil); err != nil || closed.Status != http.StatusOK {
		t.Fatalf("close: %d %s %v", closed.Status, closed.Raw, err)
	}
	talliedIn(t, r.Node(t, NodeOptions{APIOnly: true}), sale, 2)
	var answer Answer
	testenv.Eventually(t, 30*time.Second, func() (err error) {
		answer, err = a.Call(http.MethodGet, path+"/statement", "operator", "admin", nil)
		var x commands.SignedStatement
		if err == nil {
			err = json.Unmarshal([]byte(answer.Raw), &x)
		}
		var s commands.Statement
		if err == nil {
			err = json.Unmarshal(x.Statement, &s)
		}
		if err == nil && x.Issued.SealedTo < s.Log.Last {
			err = fmt.Errorf("sealed up to %d of %d", x.Issued.SealedTo, s.Log.Last)
		}
		return err
	})
	page, err := a.Call(http.MethodGet, path+"/statement", "operator", "admin", nil, "Accept", "text/html")
	if err != nil || page.Status != http.StatusOK || !strings.Contains(page.Raw, "收官报表") {
		t.Errorf("page: got %d %v", page.Status, err)
	}
	file := filepath.Join(dataDir(env), "statements", "statement-"+sale+".json")
	for range 2 { // the second time finds the first
		if done := Run(t, env, "statement", "make", "--sale", sale, "--html"); done.Code != 0 || !strings.Contains(done.Stdout, file) || !strings.Contains(done.Stdout, "0 findings") {
			t.Fatalf("make: %d %s %s", done.Code, done.Stdout, done.Stderr)
		}
	}
	statementSays(t, file, answer.Text("sha256"))
	statementHolds(t, env, file)
}

// statementSays checks what was kept.
func statementSays(t *testing.T, file, digest string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var x commands.SignedStatement
	var s commands.Statement
	if err := json.Unmarshal(text, &x); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(x.Statement, &s); err != nil {
		t.Fatal(err)
	}
	if x.SHA256 != digest {
		t.Errorf("HTTP says %s, the file %s", digest, x.SHA256)
	}
	if i := s.Items[0]; i.Released != 12 || i.Reserved != 12 || i.Placed != 12 || i.Unsold != 0 || s.Findings.Total != 0 {
		t.Errorf("got %+v, findings %+v", i, s.Findings)
	}
	c := s.Chances
	if c.Asked != 20 || c.Won != 12 || c.Nodes.Seen != 2 || c.Nodes.Tallied != 2 || len(c.ByNode) != 2 || c.ByNode[0].Node != "node-a" || c.ByNode[0].Asked != 10 || c.ByNode[1].Asked != 10 {
		t.Errorf("chances: got %+v", c)
	}
	if files, err := filepath.Glob(filepath.Join(filepath.Dir(file), "*")); err != nil || len(files) != 2 {
		t.Errorf("got files %v, %v, want the statement and its page", files, err)
	}
}

// statementHolds verifies a statement in every way, and that a touched one is
// noticed.
func statementHolds(t *testing.T, env []string, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	bad := filepath.Join(t.TempDir(), "bad.json")
	if err := os.WriteFile(bad, []byte(strings.Replace(string(text), `"unsold": 0`, `"unsold": 1`, 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]int{file: 0, bad: 3} {
		for _, how := range [][]string{{}, {"--recompute"}, {"--json"}} {
			if done := Run(t, env, append([]string{"statement", "verify", name}, how...)...); done.Code != want {
				t.Errorf("verify %v: got %d %s %s, want %d", how, done.Code, done.Stdout, done.Stderr, want)
			}
		}
		if code, out := verifyPy(t, "statement", filepath.Join(dataDir(env), "seals"), name); code != want {
			t.Errorf("verify_statement.py: got %d %s, want %d", code, out, want)
		}
	}
	wantOneSentence(t, Run(t, env, "statement", "verify", "--seals", t.TempDir(), file), 2, "trusted key")
}
