package domain

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestAnEntryIDIsReadAsItWasWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := EntryID{
			Epoch: rapid.Int64Range(0, math.MaxInt64).Draw(t, "epoch"),
			N:     rapid.Int64Range(0, math.MaxInt64).Draw(t, "n"),
			I:     rapid.IntRange(0, math.MaxInt32).Draw(t, "i"),
		}
		if got, err := ParseEntryID(want.String()); err != nil || got != want {
			t.Fatalf("%s: got %+v, %v; want %+v", want, got, err, want)
		}
	})
	for want, e := range map[string]EntryID{"7-42": {7, 42, 0}, "7-42.3": {7, 42, 3}, "0-0": {}} {
		if got := e.String(); got != want {
			t.Errorf("%+v: got %q; want %q", e, got, want)
		}
	}
}

func TestAnEntryIDHasOneSpelling(t *testing.T) {
	for _, s := range []string{"", "-", "7", "7-", "-7", "7-42.", "7-42.0", "7-42.-1", "7-42.3.1", "+7-42", "7-+42", "7-42.+3",
		"07-42", "7-042", "7-42.03", "-7-42", "7--42", " 7-42", "7-42 ", "7-42.3\n", "7.3-42", "9223372036854775808-1", "a-b"} {
		if e, err := ParseEntryID(s); err == nil {
			t.Errorf("%q: got %+v; want an error", s, e)
		}
	}
}

// The vectors are stored forms: every gate computes the same digests.
func TestDigestsMatchTheirVectors(t *testing.T) {
	first := FirstDigest(17, 3)
	second := NextDigest(first, `{"form":1}`)
	third := NextDigest(second, "抢购")
	for name, c := range map[string][2]string{
		"first of lane 17, epoch 3": {first, "572e20738130fddc7c389f2ab14f4e4b22a97c39"},
		"first of lane 0, epoch 0":  {FirstDigest(0, 0), "fb96549631c835eb239cd614cc6b5cb7d295121a"},
		"after one entry":           {second, "059d4884c9d1cc83d9c59a4204ae03f9461ce8ad"},
		"after an entry in 汉字":      {third, "52cc4d77a86cf257d20f1d4306e538829495eb18"},
		"after an empty body":       {NextDigest(first, ""), "c13359e4b9d23715263eff33db81cbf4b30fa7dd"},
	} {
		if c[0] != c[1] {
			t.Errorf("%s: got %s; want %s", name, c[0], c[1])
		}
	}
}

func TestADigestDependsOnTheOrderOfEntries(t *testing.T) {
	start := FirstDigest(1, 1)
	if ab, ba := NextDigest(NextDigest(start, "a"), "b"), NextDigest(NextDigest(start, "b"), "a"); ab == ba {
		t.Errorf("two orders of the same entries have one digest %s", ab)
	}
}
