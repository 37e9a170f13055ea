package cli

import (
	"bytes"
	"strings"
	"testing"

	"seckill/domain"
)

// TestAnIDThatCanBeNoneIsAUsageErrorThatSaysWhatOneLooksLike: before any store is
// asked, for every command that takes one.
func TestAnIDThatCanBeNoneIsAUsageErrorThatSaysWhatOneLooksLike(t *testing.T) {
	order := strings.Repeat("x", domain.OrderIDLength-1)
	for line, want := range map[string]string{
		"order show xx":                               "no order id: one has 45",
		"order cancel xx":                             "no order id: one has 45",
		"order cancel " + order:                       "no order id: one has 45",
		"order pay 28t5cy4t --payment-id p":           "no order id: one has 45",
		"replay --order xx":                           "no order id: one has 45",
		"replay --sale xx":                            "no sale id: one has 8",
		"sale show xx":                                "no sale id: one has 8",
		"sale close Shoes":                            "no sale id: one has 8",
		"sale pause xx":                               "no sale id: one has 8",
		"sale resume xx":                              "no sale id: one has 8",
		"sale confirm xx":                             "no sale id: one has 8",
		"sale revise xx --title New":                  "no sale id: one has 8",
		"sale release --sale xx --sku a --quantity 1": "no sale id: one has 8",
		"switch on force_ended --sale xx --reason r":  "no sale id: one has 8",
		"switch on everything --reason r":             "pause_purchases", // the names that there are
		"preheat --sale xx":                           "no sale id: one has 8",
		"reconcile --sale xx":                         "no sale id: one has 8",
		"rehydrate --sale xx":                         "no sale id: one has 8",
		"cleanup --sale xx":                           "no sale id: one has 8",
		"statement make --sale xx":                    "no sale id: one has 8",
		// Given, but empty: a variable of a script that was not set.
		"switch on force_ended --reason r --sale=":  "no sale id: one has 8",
		"switch off force_ended --reason r --sale=": "no sale id: one has 8",
		"rehydrate --sale=":                         "no sale id: one has 8",
		"reconcile --sale=":                         "no sale id: one has 8",
		"reconcile --repair --sale=":                "no sale id: one has 8",
		"drill --sale=":                             "no sale id: one has 8",
		"cleanup --sale=":                           "no sale id: one has 8",
		"replay --sale=":                            "no sale id: one has 8",
		"replay --order=":                           "no order id: one has 45",
		"replay --stream=":                          "--stream is empty",
		"replay --type=":                            "--type is empty",
	} {
		var out, errs bytes.Buffer
		code := run(strings.Fields(line), console{out: &out, err: &errs})
		if code != exitUsage || !strings.Contains(errs.String(), want) || strings.Count(errs.String(), "\n") != 1 || out.Len() > 0 {
			t.Errorf("%s: exit %d, %q; want %d and one line with %q", line, code, errs.String(), exitUsage, want)
		}
	}
}

func TestAnEmptyArgumentIsNotEverySale(t *testing.T) {
	for _, line := range [][]string{
		{"switch", "on", "force_ended", "--sale", "", "--reason", "r"}, {"rehydrate", "--sale", ""}, {"reconcile", "--sale", ""},
		{"drill", "--sale", ""}, {"sale", "close", ""}, {"order", "cancel", ""},
	} {
		var out, errs bytes.Buffer
		if code := run(line, console{out: &out, err: &errs}); code != exitUsage || !strings.Contains(errs.String(), `"" is no `) {
			t.Errorf("%q: exit %d, %q; want %d", line, code, errs.String(), exitUsage)
		}
	}
}
