package commands_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"

	"seckill/commands"
)

func TestATouchedStatementDoesNotHold(t *testing.T) {
	l := newLedger(t)
	l.wholeSale()
	x, _ := l.state()
	text, err := json.Marshal(x)
	if err != nil {
		t.Fatal(err)
	}
	for from, to := range map[string]string{`"sold":20`: `"sold":21`, `"head":`: `"head":1`, `"sealed_to":`: `"sealed_to":1`, x.SHA256: strings.Repeat("0", 64), x.KeyID: "0011223344556677", `"signature":"`: `"signature":"00`} {
		var bad commands.SignedStatement
		changed := strings.Replace(string(text), from, to, 1)
		if changed == string(text) {
			t.Fatalf("%s is not in it", from)
		}
		if err := json.Unmarshal([]byte(changed), &bad); err != nil {
			t.Fatal(err)
		}
		if _, err := bad.Check(l.keys()); !errors.Is(err, commands.ErrNotStated) {
			t.Errorf("%s changed: got %v", from, err)
		}
	}
}

func TestTheCanonicalFormIsAsciiAndSorted(t *testing.T) {
	got, err := commands.CanonicalJSON([]byte(` {"b": "汉字 <&> \u2028 😀 \u007f", "a": [1, 20, {"y":null, "x":true}]} `))
	want := `{"a":[1,20,{"x":true,"y":null}],"b":"\u6c49\u5b57 <&> \u2028 \ud83d\ude00 \u007f"}`
	if err != nil || string(got) != want {
		t.Errorf("got %s, %v\nwant %s", got, err, want)
	}
	for _, bad := range []string{"", "{", "{} {}"} {
		if _, err := commands.CanonicalJSON([]byte(bad)); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}

// The memory and time of a large sale: go test -run '^$' -bench Statement.
func BenchmarkStatement(b *testing.B) {
	n := 20_000
	if os.Getenv("STATEMENT_ORDERS") != "" {
		if _, err := fmt.Sscan(os.Getenv("STATEMENT_ORDERS"), &n); err != nil {
			b.Fatal(err)
		}
	}
	l := newLedger(b)
	for i := range n {
		if l.buy(fmt.Sprintf("buyer-%d", i), i); len(l.group) >= 2000 {
			l.flush()
		}
	}
	l.flush()
	b.ResetTimer()
	for b.Loop() {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		closer := l.closer()
		if _, err := closer.Fold(context.Background(), vaultSale, 0); err != nil {
			b.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/float64(n), "B-allocated/order")
		b.ReportMetric(float64(after.HeapInuse-before.HeapInuse)/1e6, "MB-heap-growth")
	}
	b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "orders/s")
}
