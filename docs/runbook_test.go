package docs

import (
	"os"
	"regexp"
	"slices"
	"testing"

	"seckill/commands"
	"seckill/projections"
)

// TestTheRunbookHasAnEntryForEveryAlarmAndFinding: whoever is woken by a name
// finds it, and no entry outlives its name.
func TestTheRunbookHasAnEntryForEveryAlarmAndFinding(t *testing.T) {
	text, err := os.ReadFile("runbook.md")
	if err != nil {
		t.Fatal(err)
	}
	want := append(append(commands.AlarmKinds(), projections.AlarmParked), commands.FindingKinds()...)
	var got []string
	for _, m := range regexp.MustCompile(`(?m)^### ([a-z_]+)$`).FindAllSubmatch(text, -1) {
		got = append(got, string(m[1]))
	}
	for _, name := range want {
		if !slices.Contains(got, name) {
			t.Errorf("%s has no entry", name)
		}
	}
	for _, name := range got {
		if !slices.Contains(want, name) {
			t.Errorf("the entry %s is about nothing that the program says", name)
		}
	}
}
