package console_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"seckill/api/console"
	"seckill/domain"
)

func texts(t *testing.T) map[string]map[string]string {
	t.Helper()
	raw, err := os.ReadFile("static/messages.js")
	if err != nil {
		t.Fatal(err)
	}
	body := strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(string(raw)), "export default "), ";")
	var all map[string]map[string]string
	if err := json.Unmarshal([]byte(body), &all); err != nil {
		t.Fatalf("messages.js is a module over one JSON object: %v", err)
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
	need("fresh.wait", "fresh.live", "fresh.late", "fresh.out", "sum.wait", "sum.none", "sum.on", "denied.401", "denied.403")
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
