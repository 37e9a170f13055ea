package domain

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

func TestEveryCodeIsSaidInFullSentencesOfBothLanguages(t *testing.T) {
	word := regexp.MustCompile(`^[a-z]+(_[a-z]+)*$`)
	for _, c := range Codes() {
		if !word.MatchString(string(c)) {
			t.Errorf("code %q: want snake_case", c)
		}
		en, zh := c.Sentence("en"), c.Sentence("zh")
		if !strings.HasSuffix(en, ".") || !unicode.IsUpper([]rune(en)[0]) || strings.ContainsFunc(en, isHan) {
			t.Errorf("%s in English: got %q; want a sentence with a capital and a full stop", c, en)
		}
		if !strings.HasSuffix(zh, "。") || !strings.ContainsFunc(zh, isHan) {
			t.Errorf("%s in Chinese: got %q; want a sentence in 汉字 that ends with 。", c, zh)
		}
	}
}

func isHan(r rune) bool { return unicode.Is(unicode.Han, r) }

func TestTheContractsCodesHaveSentences(t *testing.T) {
	codes := Codes()
	if !slices.IsSorted(codes) {
		t.Errorf("codes are not sorted: %v", codes)
	}
	for _, c := range strings.Fields(`invalid_request unauthenticated not_eligible ticket_required ticket_invalid sale_not_found
		sku_not_found order_not_found sold_out limit_exceeded in_progress sale_ended idempotency_mismatch too_early rate_limited
		busy not_ready paused wrong_state version_conflict`) {
		if !slices.Contains(codes, Code(c)) {
			t.Errorf("%s has no sentence", c)
		}
	}
}

func TestNoTwoCodesSayTheSame(t *testing.T) {
	for _, language := range []string{"en", "zh"} {
		said := map[string]Code{}
		for _, c := range Codes() {
			s := c.Sentence(language)
			if other, ok := said[s]; ok {
				t.Errorf("%s and %s both say %q", c, other, s)
			}
			said[s] = c
		}
	}
}

func TestAnUnknownLanguageIsEnglishAndAnUnknownCodeIsOurFault(t *testing.T) {
	if got, want := CodeSoldOut.Sentence("fr"), CodeSoldOut.Sentence("en"); got != want {
		t.Errorf("got %q; want %q", got, want)
	}
	if got, want := Code("surprise").Sentence("zh"), CodeInternal.Sentence("zh"); got != want {
		t.Errorf("got %q; want %q", got, want)
	}
}

func TestAProblemSaysWhichFieldsAreWrong(t *testing.T) {
	p := Invalid(FieldError{"title", "is missing"}, FieldError{"buckets", "want 1 to 1024"})
	p.Note = "Nothing was stored."
	want := "The request is not in the form we expect. Nothing was stored. title: is missing. buckets: want 1 to 1024."
	if got := p.Error(); got != want || p.Code != CodeInvalidRequest {
		t.Errorf("got %q; want %q", got, want)
	}
}
