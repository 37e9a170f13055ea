package api

import (
	"strconv"
	"strings"
)

// languageOf chooses between the languages we speak, "en" and "zh", by an
// Accept-Language header. English when it names neither.
func languageOf(header string) string {
	if header == "" {
		return "en"
	}
	best, bestQ := "en", 0.0
	for part := range strings.SplitSeq(header, ",") {
		tag, params, _ := strings.Cut(strings.TrimSpace(part), ";")
		primary, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(tag)), "-")
		if primary == "*" {
			primary = "en"
		}
		if q := quality(params); (primary == "en" || primary == "zh") && q > bestQ {
			best, bestQ = primary, q
		}
	}
	return best
}

// quality reads ";q=0.8"; 1 when it is absent, 0 when it is nonsense.
func quality(params string) float64 {
	name, value, ok := strings.Cut(strings.TrimSpace(params), "=")
	if !ok || strings.TrimSpace(name) != "q" {
		return 1
	}
	q, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
	if err != nil || q < 0 || q > 1 {
		return 0
	}
	return q
}
