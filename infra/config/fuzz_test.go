package config

import (
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"seckill/domain"
)

// FuzzEnvironment: what others put into the environment is told of or refused as a slip
// of the pen, and never taken for a setting that it is not.
func FuzzEnvironment(f *testing.F) {
	var s Settings
	parser, err := kong.New(&s, kong.Name("seckill"), kong.NoDefaultHelp())
	if err != nil {
		f.Fatal(err)
	}
	known, err := variables(parser.Model)
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range []string{"SECKILL_REDIS_URL", "SECKILL_REDIS_ULR", "SECKILL_X", "SECKILL_SERVICE_HOST", "PATH", "SECKILL_", ""} {
		f.Add(name, "geheim12")
	}
	f.Fuzz(func(t *testing.T, name, value string) {
		without, err := Environment(parser.Model, []string{name + "=" + value, name, "=" + value})
		if err != nil && len(value) > 6 && !strings.Contains(name, value) && strings.Contains(err.Error(), value) {
			t.Errorf("%s: the value is repeated: %v", name, err)
		}
		if before, _, _ := strings.Cut(name, "="); known[before] && (err != nil || len(without) > 0) {
			t.Errorf("%s is a setting: got %v, %v", name, without, err)
		}
		for _, told := range without {
			if !strings.HasPrefix(told, ours) || known[told] {
				t.Errorf("%q is told of", told)
			}
		}
	})
}

// FuzzLists: lists of databases, lanes and providers are read without anything twice,
// and show no password.
func FuzzLists(f *testing.F) {
	for _, text := range []string{
		"a=postgres://u:geheim12@h/d b=postgres://h/e", "a=postgres://h/d a=postgres://h/e", "0-31=redis://:geheim12@h:1 63=redis://i", "+1-2=redis://h 2=redis://i",
		"acme=https://pay/{order},acme=x", "=", "main=postgres://h/d", "5-3=redis://h", "-1=redis://h",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if all, err := DatabaseURLs(text).Named(); err == nil {
			var names []string
			for _, n := range all {
				names = append(names, n.Name)
			}
			slices.Sort(names)
			if len(slices.Compact(slices.Clone(names))) != len(names) || slices.ContainsFunc(names, func(n string) bool { return !databaseForm.MatchString(n) }) {
				t.Errorf("%q names %q", text, names)
			}
		}
		if all, err := LaneURLs(text).Ranges(); err == nil {
			var taken [domain.Lanes]bool
			for _, r := range all {
				for lane := r.From; lane <= r.To; lane++ {
					if taken[lane] {
						t.Errorf("%q gives lane %d twice", text, lane)
					}
					taken[lane] = true
				}
			}
		}
		shown := DatabaseURLs(text).String() + LaneURLs(text).String()
		if strings.Count(text, ":geheim12@") > 0 && strings.Count(text, "geheim12") == strings.Count(text, ":geheim12@") && strings.Contains(shown, "geheim12") {
			t.Errorf("%q is shown as %q", text, shown)
		}
		_ = Settings{PaymentProviders: strings.Split(text, ","), PaymentSecrets: Secret(text)}.Validate() // never panics
	})
}
