package console_test

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"seckill/domain"
	"seckill/infra/testenv"
)

// toldIn are the sources of what the console shows in sentences: why a refusal was right,
// what a finding is and what was done about it, what a story lacks.
var toldIn = []string{
	"receipt_*.go", "findings*.go", "reconcile*.go", "repair*.go", "halves.go", "ports_scan.go", "story.go", "story_find.go", "story_order.go",
}

// neverTold are texts of these sources that the console does not show as sentences.
var neverTold = []string{
	"decided in the log", "%d claims: %s", "%d claims", // before and after of a repair's event
	"want a trace id: 32 hexadecimal digits", "want one of order, buyer, trace", "want 1 to %d", // reasons of a field
	"want an order id, a trace id, or a buyer: 1 to 128 visible ASCII characters",
	" for %s %s", // goes on a form that stands whole in the table
}

func sentences(t *testing.T) map[string]string {
	t.Helper()
	raw, err := os.ReadFile("static/sentences.js")
	if err != nil {
		t.Fatal(err)
	}
	said := map[string]string{}
	body := strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(string(raw)), "export default "), ";")
	if err := json.Unmarshal([]byte(body), &said); err != nil {
		t.Fatalf("sentences.js is a module over one JSON object: %v", err)
	}
	return said
}

// written gives the texts with a blank in a source that are neither errors, log messages,
// tags nor names of what is to be done.
func written(t *testing.T, path string) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.FuncDecl:
			return n.Name.Name != "name"
		case *ast.CallExpr:
			of, ok := n.Fun.(*ast.SelectorExpr)
			return !ok || !slices.Contains([]string{"Errorf", "New", "Warn", "Info"}, of.Sel.Name)
		case *ast.Field:
			return n.Tag == nil
		case *ast.BasicLit:
			text, err := strconv.Unquote(n.Value)
			if err == nil && n.Kind == token.STRING && strings.Contains(text, " ") && regexp.MustCompile(`[a-z]`).MatchString(text) {
				all = append(all, text)
			}
		}
		return true
	})
	return all
}

// formsOf are the forms under which a text may stand in the table: it is whole, or
// something goes before or after it.
func formsOf(text string) []string {
	forms := []string{text, "%s " + text}
	if strings.HasSuffix(text, " ") {
		forms = append(forms, text+"%s")
	}
	if strings.HasPrefix(text, " ") {
		forms = append(forms, "%s"+text, "%s"+text+"%s")
	}
	if strings.HasPrefix(text, ": ") {
		forms = append(forms, "%s"+text)
	}
	return forms
}

func TestEverySentenceThatTheConsoleShowsHasItsChinese(t *testing.T) {
	zh, used := sentences(t), map[string]bool{}
	found := 0
	for _, pattern := range toldIn {
		files, err := filepath.Glob("../../commands/" + pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: got %v, %v; want sources", pattern, files, err)
		}
		for _, path := range files {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			for _, text := range written(t, path) {
				if slices.Contains(neverTold, text) {
					continue
				}
				found++
				at := slices.IndexFunc(formsOf(text), func(form string) bool { return zh[form] != "" })
				if at < 0 {
					t.Errorf("%s says %q, for which there is no Chinese: add it to static/sentences.js, or to neverTold where the console does not show it", filepath.Base(path), text)
					continue
				}
				used[formsOf(text)[at]] = true
			}
		}
	}
	if found < 120 {
		t.Errorf("found %d sentences, want to have looked at all", found)
	}
	for _, code := range domain.Codes() {
		if got := zh[code.Sentence("en")]; got != code.Sentence("zh") {
			t.Errorf("%s: got %q, want what buyers are told: %q", code, got, code.Sentence("zh"))
		}
		used[code.Sentence("en")] = true
	}
	// Parts of others, which their sources write without a blank, or with more beside it.
	for _, part := range []string{"orders", "%d placed, %d rejected, %d paid, %d cancelled, %d expired, %d units for %s %s"} {
		used[part] = true
	}
	for form := range zh {
		if !used[form] {
			t.Errorf("nothing says %q any more", form)
		}
	}
}

func TestTheChineseOfASentenceKeepsItsValues(t *testing.T) {
	verb, value, han := regexp.MustCompile(`%[dtqsv]`), regexp.MustCompile(`\{(\d+)(?::(order|said|list))?\}`), regexp.MustCompile(`\p{Han}`)
	for en, zh := range sentences(t) {
		var want, got []string
		for i := range verb.FindAllString(en, -1) {
			want = append(want, strconv.Itoa(i+1))
		}
		for _, m := range value.FindAllStringSubmatch(zh, -1) {
			got = append(got, m[1])
		}
		slices.SortFunc(got, func(a, b string) int { return len(a)*100 + int(a[len(a)-1]) - len(b)*100 - int(b[len(b)-1]) })
		if !slices.Equal(got, want) || !han.MatchString(zh) || strings.ContainsAny(value.ReplaceAllString(zh, ""), "{}") {
			t.Errorf("%q: got values %v in %q, want %v, each once", en, got, zh, want)
		}
	}
}

// askTold runs told.js, in Chinese, on filled-in forms of the table and on what is asked,
// and gives each sentence that it says otherwise than wanted: sentence, got, want.
const askTold = `globalThis.localStorage = { getItem: () => 'zh' };
const { told } = await import('./told.js');
const { default: sentences } = await import('./sentences.js');
const wrong = Object.entries(JSON.parse(process.argv[2])).filter(([en, zh]) => told(en) !== zh).map(([en, zh]) => [en, told(en), zh]);
for (const en of Object.keys(sentences)) {
  let n = 0;
  const filled = en.replace(/%[dtqsv]/g, (verb) => ({ '%d': String(100 + n++), '%t': 'true', '%q': '"q' + n++ + '"' })[verb] || 'v' + n++);
  const got = told(filled);
  if (!/\p{Script=Han}/u.test(got) || [...filled.matchAll(/\b(1\d\d|[vq]\d+)\b/g)].some(([value]) => !got.includes(value))) wrong.push([filled, got, 'Chinese with its values']);
}
console.log(JSON.stringify(wrong));`

// TestASentenceIsFoundByItsForm runs the module itself: every form, filled with values, is
// said in Chinese with the same values; what the table does not have stays as it is.
func TestASentenceIsFoundByItsForm(t *testing.T) {
	node, folder := testenv.Program(t, "nodejs", "node"), t.TempDir()
	put := func(name string, body []byte) {
		if err := os.WriteFile(filepath.Join(folder, name), body, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, from := range []string{"static/told.js", "static/sentences.js", "../assets/shared/text.js", "static/messages.js", "static/en.js", "static/zh.js"} {
		body, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		put(filepath.Base(from), body)
	}
	put("package.json", []byte(`{"type":"module"}`))
	put("ask.js", []byte(askTold))
	in, err := json.Marshal(wantedOfTold(t))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), node, "ask.js", string(in))
	cmd.Dir = folder
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, said.Bytes())
	}
	var wrong [][3]string
	if err := json.Unmarshal(out, &wrong); err != nil {
		t.Fatal(err)
	}
	for _, w := range wrong {
		t.Errorf("%s: got %q, want %q", w[0], w[1], w[2])
	}
}

// wantedOfTold gives sentences as the server says them, and their Chinese.
func wantedOfTold(t *testing.T) map[string]string {
	t.Helper()
	row := " placed, 0 rejected, 0 paid, 0 cancelled, 0 expired, "
	record, gate := "the gate's record of the sale in bucket 0 at version 3: ", "分桶 0 中闸口的活动记录（版本 3）："
	wanted := map[string]string{
		"It said to try again later, and nothing about units, orders or who may buy: " + domain.CodeBusy.Sentence("en"): "它只要求稍后再试，未涉及库存、订单或购买资格：" + domain.CodeBusy.Sentence("zh"),
		"The buyer had order 04x by then, paid: it should have been met instead of a refusal.":                          "买家当时已有订单 04x（已支付）：应当得到该订单，而不是被拒绝。",
		"order_view has for this order position 7 instead of 8, refund_due true instead of false":                       "order_view 中该订单：位置为 7，应为 8，refund_due 为 true，应为 false",
		record + `limit is "2" and must be "1"; state is "a; b" and must be ""`:                                         gate + `limit 为 "2"，应为 "1"；state 为 "a; b"，应为 ""`,
		record + `limit is "2" and must be "1"; and more`:                                                               gate + `limit is "2" and must be "1"; and more`,
		"sale_summary of shard 1 says 1" + row + "1 units for 9.00 CNY; the log says 0" + row + "0 units":               "sale_summary 分片 1 为：下单 1，拒绝 0，支付 0，取消 0，过期 0，共 1 件，金额 9.00 CNY；日志为：下单 0，拒绝 0，支付 0，取消 0，过期 0，共 0 件",
		"idempotency key k-1 names this order in the gate, and not in the log":                                          "幂等键 k-1 在闸口中指向此订单，在日志中则否",
		"bucket 0 has -1 left; the log says 2 at version 3 and entry 1-4":                                               "分桶 0 剩余 -1；日志在版本 3、条目 1-4 处为 2",
		"a library says so": "a library says so",
	}
	for en, zh := range sentences(t) {
		if !strings.Contains(en, "%") {
			wanted[en] = zh
		}
	}
	return wanted
}
