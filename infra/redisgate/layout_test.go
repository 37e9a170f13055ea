package redisgate_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"seckill/commands/gatetest"
	"seckill/domain"
	"seckill/infra/redisgate"
	"seckill/infra/testenv"
)

var update = flag.Bool("update", false, "write golden files anew")

// TestTheLayoutOfTheKeysIsPinned holds what a rolling upgrade must still read. A
// change here needs a new number in common.lua.
func TestTheLayoutOfTheKeysIsPinned(t *testing.T) {
	url, namespace := testenv.Redis(t), testenv.Namespace(t)
	gate := openGate(t, url, redisgate.Options{Namespace: namespace})
	stage := gatetest.NewStage(t, gatetest.Subject{Ports: gate})
	show := stage.Open(func(terms *domain.SaleTerms) { terms.LimitPerBuyer, terms.OrdersPerBuyer = 5, 5 }, 10, 10)
	r := stage.Ask(show, "buyer", 1, 2)
	r.Key, r.BodyHash = "0123", "4567"
	stage.Reserve(r)
	ended := stage.Buy(show, "other", domain.Reserved, 1)
	stage.Record(show)
	stage.Return(show, ended)
	refused := stage.Ask(show, "third", 1)
	stage.Refuse(show, refused, domain.EntryID{Epoch: 1, N: 9, I: 1})
	stage.Catchup(show)
	lost := stage.Ask(show, "fourth", 1)
	ref, err := domain.ParseOrderID(lost.Order)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := gate.Resolve(context.Background(), ref, "fourth"); err != nil {
		t.Fatal(err)
	}
	if err := gate.Hold(context.Background(), show.Place, domain.Paused); err != nil {
		t.Fatal(err)
	}
	got := dump(t, url, namespace)
	const golden = "testdata/layout.v1.golden"
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Fatalf("layout: got\n%s\nwant\n%s", got, want)
	}
}

// passing replaces what differs between two runs: times, servers and digests.
var passing = []struct {
	pattern *regexp.Regexp
	as      string
}{
	{regexp.MustCompile(`\b1[0-9]{15}\b`), "<µs>"},
	{regexp.MustCompile(`((run_id|replid|digest|d) = )[0-9a-f]{40}`), "${1}<40 digits>"},
}

func dump(t *testing.T, url, namespace string) string {
	t.Helper()
	ctx, c := context.Background(), client(t, url)
	keys, err := c.Keys(ctx, namespace+":*").Result()
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(keys)
	var b strings.Builder
	for _, key := range keys {
		name := strings.Replace(key, namespace, "<namespace>", 1)
		switch kind := c.Type(ctx, key).Val(); kind {
		case "hash":
			fmt.Fprintf(&b, "hash %s\n", name)
			fields := c.HGetAll(ctx, key).Val()
			for _, f := range sorted(fields) {
				fmt.Fprintf(&b, "  %s = %s\n", f, fields[f])
			}
		case "stream":
			fmt.Fprintf(&b, "stream %s\n", name)
			for _, m := range c.XRange(ctx, key, "-", "+").Val() {
				fmt.Fprintf(&b, "  %s\n    b = %s\n    d = %s\n", m.ID, m.Values["b"], m.Values["d"])
			}
		default:
			fmt.Fprintf(&b, "%s %s\n", kind, name)
		}
	}
	text := b.String()
	for _, p := range passing {
		text = p.pattern.ReplaceAllString(text, p.as)
	}
	return text
}

func sorted(m map[string]string) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
