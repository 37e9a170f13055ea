package console_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"seckill/api"
	"seckill/api/console"
	"seckill/commands"
	"seckill/domain"
)

func texts(t *testing.T) map[string]map[string]string {
	t.Helper()
	all := map[string]map[string]string{}
	for _, language := range []string{"en", "zh"} {
		raw, err := os.ReadFile("static/" + language + ".js")
		if err != nil {
			t.Fatal(err)
		}
		body := strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(string(raw)), "export default "), ";")
		said := map[string]string{}
		if err := json.Unmarshal([]byte(body), &said); err != nil {
			t.Fatalf("%s.js is a module over one JSON object: %v", language, err)
		}
		all[language] = said
	}
	return all
}

func TestBothLanguagesSayTheSameThings(t *testing.T) {
	all := texts(t)
	en, zh := slices.Sorted(maps.Keys(all["en"])), slices.Sorted(maps.Keys(all["zh"]))
	if len(all) != 2 || !slices.Equal(en, zh) {
		t.Fatalf("got other keys in Chinese:\n%v\n%v", en, zh)
	}
	values := regexp.MustCompile(`\{\w+\}`)
	for _, key := range en {
		a, b := values.FindAllString(all["en"][key], -1), values.FindAllString(all["zh"][key], -1)
		slices.Sort(a)
		slices.Sort(b)
		if !slices.Equal(a, b) || all["zh"][key] == "" {
			t.Errorf("%s: got values %v in English and %v in Chinese", key, a, b)
		}
	}
}

func TestEveryTextThatTheConsoleNamesIsThere(t *testing.T) {
	en := texts(t)["en"]
	files, err := filepath.Glob("static/*")
	if err != nil || len(files) < 8 {
		t.Fatalf("got %v, %v; want page and modules", files, err)
	}
	said := regexp.MustCompile(`(?:say\(|key = |\? |: )'([a-z_]+(?:\.[a-z_0-9]+)+\.?)'|data-say="([a-z_.]+)"`)
	found := 0
	for _, file := range files {
		body, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range said.FindAllStringSubmatch(string(body), -1) {
			key := m[1] + m[2]
			begun := slices.ContainsFunc(slices.Collect(maps.Keys(en)), func(k string) bool { return strings.HasSuffix(key, ".") && strings.HasPrefix(k, key) })
			if en[key] == "" && !begun {
				t.Errorf("%s says %q, for which there is no text", file, key)
			}
			found++
		}
	}
	if found < 80 {
		t.Errorf("found %d texts that are named, want to have looked at all", found)
	}
}

func TestEverySwitchStateAndReasonHasItsText(t *testing.T) {
	en := texts(t)["en"]
	need := func(keys ...string) {
		for _, key := range keys {
			if en[key] == "" {
				t.Errorf("no text for %s", key)
			}
		}
	}
	flip, err := os.ReadFile("static/flip.js")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range domain.SwitchNames() {
		need("switch."+string(name), "effect."+string(name)+".on", "effect."+string(name)+".off")
		if !strings.Contains(string(flip), "'"+string(name)+"'") {
			t.Errorf("%s cannot be turned", name)
		}
	}
	for _, state := range []domain.SaleState{domain.SaleStateScheduled, domain.SaleStateOpen, domain.SaleStatePaused, domain.SaleStateEnded, domain.SaleStateCleaned} {
		need("state." + string(state))
	}
	for _, reason := range []domain.PauseReason{domain.PausedByOperator, domain.PausedByDrift, domain.PausedByRecovery, domain.PausedBySwitch, domain.PausedByAcknowledgement} {
		need("pause." + string(reason))
	}
	for _, part := range []string{"event_store", "log_tables", "gate", "projections", "tokens", "recorder", "relay", "public_relay", "scheduler", "process"} {
		need("part." + part)
	}
	for _, state := range []string{"busy", "lost", "absent", "other"} {
		need("away."+state, "away."+state+".never")
	}
	for _, field := range jsonFields(api.OverviewPerSecond{}) {
		need("outcome." + field)
	}
	for _, tile := range []string{"purchases", "gate", "stock", "backlog", "redis", "postgres", "runtime", "drift"} {
		need("tile." + tile)
	}
	for _, kind := range []domain.Event{
		&domain.OrderPlaced{}, &domain.OrderRejected{}, &domain.OrderPaid{}, &domain.OrderCancelled{}, &domain.OrderExpired{}, &domain.OrderRefundDue{},
		&domain.StockReserved{}, &domain.StockReturned{}, &domain.StockRefused{}, &domain.StockWrittenOff{},
	} {
		need("step." + kind.EventType())
	}
	for _, kind := range commands.FindingKinds() {
		need("finding." + kind)
	}
	pools, _ := reflect.TypeFor[api.OverviewPool]().FieldByName("Pool")
	for pool := range strings.SplitSeq(pools.Tag.Get("enum"), ",") {
		need("pool." + pool)
	}
	need("tile.state.good", "tile.state.warn", "tile.state.bad", "tile.state.unknown", "five.unit.entries", "five.unit.events", "stage.journal", "stage.relay")
	need("fresh.wait", "fresh.live", "fresh.late", "fresh.out", "sum.wait", "sum.none", "sum.on", "denied.401", "denied.403")
}

// jsonFields names the fields of a struct as JSON does.
func jsonFields(of any) []string {
	var names []string
	for _, f := range reflect.VisibleFields(reflect.TypeOf(of)) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		names = append(names, name)
	}
	return names
}

// The policy would stop it, but only in a browser that knows trusted types.
func TestNoModuleMakesMarkupOfText(t *testing.T) {
	page, err := console.New()
	if err != nil {
		t.Fatal(err)
	}
	bad := regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|createContextualFragment|\beval\b|new Function|localStorage\.setItem\([^)]*oken`)
	for _, name := range page.Assets().Names() {
		file, _ := page.Assets().File(name)
		if found := bad.Find(file.Body); found != nil {
			t.Errorf("%s has %s", name, found)
		}
	}
}

// TestWhatIsWaitedForIsSaidAsTheCommandLineSaysIt: the texts of the console are those of
// the list, and what holds nobody up is not shown.
func TestWhatIsWaitedForIsSaidAsTheCommandLineSaysIt(t *testing.T) {
	source, err := os.ReadFile("../../infra/stacks/kinds.go")
	if err != nil {
		t.Fatal(err)
	}
	kinds := regexp.MustCompile(`\{Name: "(\w+)", Says: "([^"]+)"(, Idle: true)?`).FindAllStringSubmatch(string(source), -1)
	if len(kinds) < 20 {
		t.Fatalf("found %d kinds", len(kinds))
	}
	en := texts(t)["en"]
	for _, kind := range kinds {
		name, says, idle := kind[1], kind[2], kind[3] != ""
		if got := en["wait."+name]; !idle && got != says || idle && got != "" {
			t.Errorf("%s: the console says %q, the list %q (idle: %v)", name, got, says, idle)
		}
	}
}
