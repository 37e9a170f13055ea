package domain

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// FieldError names a field of what a person sent and what is wrong with it.
type FieldError struct {
	Field  string
	Reason string
}

// Bounds of what a sale may be.
const (
	MaxItems = 100
	MaxTitle = 200 // characters
	// MaxTokens bounds the tickets per unit.
	MaxTokens = 1000
)

// WithDefaults fills in what was left out: one unit and one order per buyer,
// strategy redis-async, one bucket, 15 minutes to pay. A sale that bounds its tickets
// requires them.
func (t SaleTerms) WithDefaults() SaleTerms {
	if t.LimitPerBuyer == 0 {
		t.LimitPerBuyer = 1
	}
	if t.OrdersPerBuyer == 0 {
		t.OrdersPerBuyer = 1
	}
	if t.Strategy == "" {
		t.Strategy = StrategyRedisAsync
	}
	if t.Buckets == 0 {
		t.Buckets = 1
	}
	if t.PaymentWindow == 0 {
		t.PaymentWindow = int64((15 * time.Minute).Seconds())
	}
	if t.Acknowledgement == AcknowledgeMemory {
		t.Acknowledgement = "" // one form for it: terms are compared
	}
	t.RequireTicket = t.RequireTicket || t.Tokens > 0
	return t
}

// ValidateTerms gives everything that is wrong with the terms of a sale, all at
// once; nothing when they may be scheduled.
func ValidateTerms(t SaleTerms) []FieldError {
	var bad []FieldError
	check := func(ok bool, field, reason string) {
		if !ok {
			bad = append(bad, FieldError{field, reason})
		}
	}
	check(validTitle(t.Title), "title", badTitle)
	check(!t.OpensAt.IsZero(), "opens_at", "is missing")
	check(storable(t.OpensAt), "opens_at", badTime)
	check(storable(t.ClosesAt), "closes_at", badTime)
	check(t.ClosesAt.After(t.OpensAt), "closes_at", "must be later than opens_at")
	check(t.LimitPerBuyer >= 1 && t.LimitPerBuyer <= MaxQuantity, "limit_per_buyer", "want 1 to 2147483647")
	check(t.OrdersPerBuyer >= 1 && t.OrdersPerBuyer <= 1000, "orders_per_buyer", "want 1 to 1000")
	check(slices.Contains([]Strategy{StrategyPostgres, StrategyRedisSync, StrategyRedisAsync}, t.Strategy),
		"strategy", "want postgres, redis-sync or redis-async")
	check(slices.Contains(Acknowledgements(), t.Acknowledged()), "acknowledgement", "want memory, aof, fsync or replicated")
	check(t.Acknowledged() == AcknowledgeMemory || t.Strategy != StrategyPostgres,
		"acknowledgement", "is of sales with a gate: what strategy postgres acknowledges is in the log, on disk")
	check(t.Buckets >= 1 && t.Buckets <= MaxBuckets, "buckets", fmt.Sprintf("want 1 to %d", MaxBuckets))
	check(!t.Strategy.Gateless() || t.Buckets <= 1, "buckets", "want 1 with the strategy postgres: there is no gate to spread it over")
	check(t.PaymentWindow >= 1 && t.PaymentWindow <= 30*24*3600, "payment_window", "want 1 second to 30 days")
	check(t.Tokens >= 0 && t.Tokens <= MaxTokens, "tokens", "want 0 to 1000")
	check(len(t.Items) >= 1 && len(t.Items) <= MaxItems, "items", fmt.Sprintf("want 1 to %d items", MaxItems))
	bad = append(bad, validateTiers(t.EligibleTiers)...)
	return append(bad, validateItems(t)...)
}

// validateTiers refuses names that no list of them could show, and an empty one, which
// would look like everybody and let in whoever has no tier.
func validateTiers(tiers []string) []FieldError {
	var bad []FieldError
	for i, tier := range tiers {
		field := fmt.Sprintf("eligible_tiers[%d]", i)
		blank := strings.TrimSpace(tier) != tier || strings.ContainsFunc(tier, unicode.IsControl)
		if n := utf8.RuneCountInString(tier); n < 1 || n > 64 || blank || strings.Contains(tier, ",") || !utf8.ValidString(tier) {
			bad = append(bad, FieldError{field, "want 1 to 64 characters without commas, and no blanks around them"})
		} else if slices.Contains(tiers[:i], tier) {
			bad = append(bad, FieldError{field, "stands twice in this sale"})
		}
	}
	return bad
}

const badTitle = "want 1 to 200 characters, not all of them blank, and none that controls how text is shown"

// validTitle counts characters: a title of 汉字 may be as long as any other. What steers a
// terminal, ends a line or turns the direction of what follows could show as something
// that nobody wrote, to operators and to buyers.
func validTitle(title string) bool {
	return utf8.RuneCountInString(title) <= MaxTitle && strings.TrimSpace(title) != "" && !strings.ContainsFunc(title, steersText)
}

// steersText tells whether a character is shown as none: it controls, ends a line or
// paragraph, or sets the direction of others (Unicode's embeddings, overrides, isolates).
func steersText(r rune) bool {
	return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' || (r >= '\u202a' && r <= '\u202e') || (r >= '\u2066' && r <= '\u2069')
}

const badTime = "want a year up to 9999 and an offset below 24 hours"

// storable tells whether a time can be written into an event: RFC 3339 is read
// with offsets that it may not be written with.
func storable(t time.Time) bool {
	_, err := t.MarshalText()
	return err == nil
}

func validateItems(t SaleTerms) []FieldError {
	var bad []FieldError
	seen := map[string]bool{}
	for i, item := range t.Items {
		at := func(name string) string { return fmt.Sprintf("items[%d].%s", i, name) }
		if !ValidSKU(item.SKU) {
			bad = append(bad, FieldError{at("sku"), "want 1 to 64 letters, digits, '.', '_' or '-'"})
		} else if seen[item.SKU] {
			bad = append(bad, FieldError{at("sku"), "stands twice in this sale"})
		}
		seen[item.SKU] = true
		if item.Title != "" && !validTitle(item.Title) {
			bad = append(bad, FieldError{at("title"), badTitle})
		}
		if item.Stock < 0 || item.Stock > MaxQuantity {
			bad = append(bad, FieldError{at("stock"), "want 0 to 2147483647"})
		}
		if item.Overdraft < 0 || item.Overdraft > max(item.Stock, 0) {
			bad = append(bad, FieldError{at("overdraft"), "want 0 to the stock"})
		}
		if t.Strategy.Gateless() && item.Overdraft > 0 {
			bad = append(bad, FieldError{at("overdraft"), "want 0 with the strategy postgres: there is no gate that could forget a promise"})
		}
		if item.Price.Minor < 0 || !validCurrency(item.Price.Currency) {
			bad = append(bad, FieldError{at("price"), "want a decimal amount and a currency of three capital letters"})
		} else if item.Price.Currency != t.Items[0].Price.Currency {
			bad = append(bad, FieldError{at("currency"), "all items of a sale have one currency"})
		} else if _, fits := item.Price.Times(max(t.LimitPerBuyer, 0)); !fits {
			bad = append(bad, FieldError{at("price"), "times limit_per_buyer is more than we can count"})
		}
		bad = append(bad, validateRelease(t, item, at)...)
	}
	return bad
}

// MostTickets is how many buyers get tickets: Tokens for each unit of the stock the
// sale was scheduled with. 0: as many as ask.
func (t SaleTerms) MostTickets() int64 {
	var stock int64
	for _, item := range t.Items {
		stock += item.Stock
	}
	return int64(t.Tokens) * stock
}
