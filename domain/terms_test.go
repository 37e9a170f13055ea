package domain

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"
)

// goodTerms gives terms that may be scheduled.
func goodTerms() SaleTerms {
	opens := time.Date(2026, 11, 1, 1, 30, 0, 0, time.FixedZone("", -4*3600))
	return SaleTerms{
		Title: "秋季大促", OpensAt: opens, ClosesAt: opens.Add(time.Hour), LimitPerBuyer: 2, OrdersPerBuyer: 1,
		Strategy: StrategyRedisAsync, Buckets: 4, PaymentWindow: 900, AutoOpen: true,
		Items: []ItemTerms{
			{SKU: "mug", Title: "Mug", Price: Money{1990, "CNY"}, Stock: 10, Release: []Tranche{{opens.Add(time.Minute), 4}}},
			{SKU: "cup", Price: Money{0, "CNY"}, Stock: 0},
		},
	}
}

func TestTermsThatMayBeScheduled(t *testing.T) {
	for name, change := range map[string]func(*SaleTerms){
		"as they are":           func(*SaleTerms) {},
		"tiers of any language": func(s *SaleTerms) { s.EligibleTiers = []string{"黄金 会员", strings.Repeat("级", 64)} },
		"at every upper bound":  func(s *SaleTerms) { s.LimitPerBuyer, s.Buckets, s.PaymentWindow = MaxQuantity, MaxBuckets, 30*24*3600 },
		"the largest stock":     func(s *SaleTerms) { s.Items[0].Stock = MaxQuantity },
		"a tranche at once":     func(s *SaleTerms) { s.Items[0].Release = plan(s.OpensAt, 0, 1) },
		"many tranches": func(s *SaleTerms) {
			s.Items[0].Stock = 200
			s.Items[0].Release = plan(s.OpensAt, manyTimes(MaxTranches)...)
		},
		"all stock in tranches":  func(s *SaleTerms) { s.Items[0].Release[0].Quantity = 10 },
		"a price at the edge":    func(s *SaleTerms) { s.Items[0].Price.Minor = math.MaxInt64 / s.LimitPerBuyer },
		"two clocks of one hour": func(s *SaleTerms) { s.ClosesAt = s.OpensAt.Add(time.Hour).In(time.FixedZone("", -5*3600)) },
	} {
		terms := goodTerms()
		change(&terms)
		if bad := ValidateTerms(terms); len(bad) != 0 {
			t.Errorf("%s: got %v; want no complaint", name, bad)
		}
	}
}

func TestEachFaultOfTermsNamesItsField(t *testing.T) {
	for field, changes := range map[string][]func(*SaleTerms){
		"title":    {func(s *SaleTerms) { s.Title = "" }, func(s *SaleTerms) { s.Title = strings.Repeat("x", MaxTitle+1) }},
		"opens_at": {func(s *SaleTerms) { s.OpensAt = time.Time{} }, func(s *SaleTerms) { s.OpensAt = inOffset(s.OpensAt, -24) }},
		"closes_at": {func(s *SaleTerms) { s.ClosesAt = s.OpensAt; s.Items[0].Release = nil }, func(s *SaleTerms) { s.ClosesAt = time.Time{}; s.Items[0].Release = nil },
			func(s *SaleTerms) { s.ClosesAt = inOffset(s.ClosesAt, 24) }, func(s *SaleTerms) { s.ClosesAt = s.ClosesAt.AddDate(8000, 0, 0) }},
		"limit_per_buyer": {func(s *SaleTerms) { s.LimitPerBuyer = 0 }, func(s *SaleTerms) { s.LimitPerBuyer = -1 },
			func(s *SaleTerms) { s.LimitPerBuyer = MaxQuantity + 1 }},
		"orders_per_buyer": {func(s *SaleTerms) { s.OrdersPerBuyer = 0 }, func(s *SaleTerms) { s.OrdersPerBuyer = 1001 }},
		"strategy":         {func(s *SaleTerms) { s.Strategy = "redis" }, func(s *SaleTerms) { s.Strategy = "" }},
		"eligible_tiers[0]": {func(s *SaleTerms) { s.EligibleTiers = []string{""} }, func(s *SaleTerms) { s.EligibleTiers = []string{"a,b"} },
			func(s *SaleTerms) { s.EligibleTiers = []string{" gold"} }, func(s *SaleTerms) { s.EligibleTiers = []string{"go\nld"} },
			func(s *SaleTerms) { s.EligibleTiers = []string{strings.Repeat("x", 65)} }},
		"eligible_tiers[1]": {func(s *SaleTerms) { s.EligibleTiers = []string{"gold", "gold"} }},
		"acknowledgement": {func(s *SaleTerms) { s.Acknowledgement = "disk" },
			func(s *SaleTerms) {
				s.Strategy, s.Buckets, s.Acknowledgement = StrategyPostgres, 1, AcknowledgeFsync
			}},
		"buckets": {func(s *SaleTerms) { s.Buckets = 0 }, func(s *SaleTerms) { s.Buckets = MaxBuckets + 1 },
			func(s *SaleTerms) { s.Strategy = StrategyPostgres }},
		"payment_window": {func(s *SaleTerms) { s.PaymentWindow = 0 }, func(s *SaleTerms) { s.PaymentWindow = math.MaxInt64 }},
		"tokens":         {func(s *SaleTerms) { s.Tokens = -1 }},
		"items":          {func(s *SaleTerms) { s.Items = nil }, func(s *SaleTerms) { s.Items = manyItems(MaxItems + 1) }},
		"items[1].sku":   {func(s *SaleTerms) { s.Items[1].SKU = "mug" }, func(s *SaleTerms) { s.Items[1].SKU = "a b" }},
		"items[0].title": {func(s *SaleTerms) { s.Items[0].Title = strings.Repeat("x", MaxTitle+1) }},
		"items[1].stock": {func(s *SaleTerms) { s.Items[1].Stock = -1 }, func(s *SaleTerms) { s.Items[1].Stock = MaxQuantity + 1 }},
		"items[0].price": {func(s *SaleTerms) { s.Items[0].Price.Minor = -1 }, func(s *SaleTerms) { s.Items[0].Price.Minor = math.MaxInt64 },
			func(s *SaleTerms) { s.Items = s.Items[:1]; s.Items[0].Price = Money{} }},
		"items[0].overdraft": {func(s *SaleTerms) { s.Items[0].Overdraft = -1 },
			func(s *SaleTerms) { s.Strategy, s.Buckets, s.Items[0].Overdraft = StrategyPostgres, 1, 1 }},
		"items[1].currency": {func(s *SaleTerms) { s.Items[1].Price.Currency = "EUR" }},
		"items[0].release": {func(s *SaleTerms) { s.Items[0].Release[0].Quantity = 11 }, func(s *SaleTerms) { s.Items[0].Release[0].Quantity = 0 },
			func(s *SaleTerms) { s.Items[0].Release[0].Quantity = math.MaxInt64 }, func(s *SaleTerms) { s.Items[0].Release[0].At = time.Time{} },
			func(s *SaleTerms) { s.Items[0].Release[0].At = s.ClosesAt },
			func(s *SaleTerms) { s.Items[0].Release[0].At = s.OpensAt.Add(-1) },
			func(s *SaleTerms) { s.Items[0].Release = plan(s.OpensAt, 0, 0) },
			func(s *SaleTerms) { s.Items[0].Release = plan(s.OpensAt, time.Minute, time.Second, time.Millisecond) },
			func(s *SaleTerms) {
				s.Items[0].Stock = 200
				s.Items[0].Release = plan(s.OpensAt, manyTimes(MaxTranches+1)...)
			},
			func(s *SaleTerms) { s.Items[0].Release[0].At = inOffset(s.OpensAt, 24) }},
	} {
		for i, change := range changes {
			terms := goodTerms()
			change(&terms)
			bad := ValidateTerms(terms)
			if len(bad) != 1 || bad[0].Field != field || bad[0].Reason == "" {
				t.Errorf("%s, change %d: got %v; want this field alone, with a reason", field, i, bad)
			}
		}
	}
}

// plan releases one unit so long after the opening, each.
func plan(opens time.Time, after ...time.Duration) []Tranche {
	all := make([]Tranche, len(after))
	for i, d := range after {
		all[i] = Tranche{opens.Add(d), 1}
	}
	return all
}

func manyTimes(n int) []time.Duration {
	all := make([]time.Duration, n)
	for i := range all {
		all[i] = time.Duration(i) * time.Second
	}
	return all
}

func inOffset(t time.Time, hours int) time.Time { return t.In(time.FixedZone("", hours*3600)) }

func manyItems(n int) []ItemTerms {
	items := make([]ItemTerms, n)
	for i := range items {
		items[i] = ItemTerms{SKU: fmt.Sprint("sku-", i), Price: Money{1, "CNY"}, Stock: 1}
	}
	return items
}

func TestTranchesWhoseSumIsHugeAreMoreThanTheStock(t *testing.T) {
	terms := goodTerms()
	terms.Items[0].Release = nil
	for i := range MaxTranches {
		terms.Items[0].Release = append(terms.Items[0].Release, Tranche{terms.OpensAt.Add(time.Duration(i)), MaxQuantity})
	}
	if bad := ValidateTerms(terms); len(bad) != 1 || !strings.Contains(bad[0].Reason, "more units than the stock") {
		t.Errorf("got %v; want one complaint about the sum", bad)
	}
}

func TestAllFaultsAreReportedTogether(t *testing.T) {
	var fields []string
	for _, f := range ValidateTerms(SaleTerms{}) {
		fields = append(fields, f.Field)
	}
	want := []string{"title", "opens_at", "closes_at", "limit_per_buyer", "orders_per_buyer", "strategy", "buckets", "payment_window", "items"}
	if !slices.Equal(fields, want) {
		t.Errorf("empty terms: got %v; want %v", fields, want)
	}
}

func TestWhatIsLeftOutGetsItsDefault(t *testing.T) {
	got := SaleTerms{}.WithDefaults()
	if got.LimitPerBuyer != 1 || got.OrdersPerBuyer != 1 || got.Strategy != StrategyRedisAsync || got.Buckets != 1 || got.PaymentWindow != 900 || got.Rebuy {
		t.Errorf("got %+v; want one unit, one order, no buying again, redis-async, one bucket and 15 minutes", got)
	}
	if memory := (SaleTerms{Acknowledgement: AcknowledgeMemory}).WithDefaults(); memory.Acknowledgement != "" || memory.Acknowledged() != AcknowledgeMemory {
		t.Errorf("memory said aloud is stored as %q and read as %q; want it left out, so that it is no change", memory.Acknowledgement, memory.Acknowledged())
	}
	terms := goodTerms()
	terms.Strategy, terms.PaymentWindow = StrategyPostgres, 60
	if kept := terms.WithDefaults(); kept.Strategy != StrategyPostgres || kept.PaymentWindow != 60 || kept.Buckets != 4 || kept.LimitPerBuyer != 2 {
		t.Errorf("got %+v; want what was set to stay", kept)
	}
}

func TestATitleIsCountedInCharactersAndIsNotBlank(t *testing.T) {
	for title, ok := range map[string]bool{
		"": false, " \t\u3000": false, "x": true, strings.Repeat("秒", 200): true, strings.Repeat("x", 201): false, strings.Repeat("秒", 201): false,
	} {
		wrong := map[string]bool{}
		for _, bad := range ValidateTerms(SaleTerms{Title: title, Items: []ItemTerms{{Title: title}}}) {
			wrong[bad.Field] = true
		}
		if wrong["title"] == ok || wrong["items[0].title"] == (ok || title == "") {
			t.Errorf("%.10q… of %d bytes: refused %v, want that titles are taken: %t", title, len(title), wrong, ok)
		}
	}
}

func TestATitleHoldsNothingThatSteersWhatIsShown(t *testing.T) {
	for title, ok := range map[string]bool{
		"Phone 手机 é 👨‍👩‍👧 \u200eשלום": true, "Phone\u202egpj.exe": false, "\u2066Phone": false, "Phone\nFree": false, "Phone\x1b[2J": false, "Phone\u2028": false,
		"Phone\x7f": false, "Phone\u0085": false, "Phone\tX": false,
	} {
		terms := goodTerms()
		terms.Title, terms.Items[0].Title = title, title
		if bad := ValidateTerms(terms); (len(bad) == 0) != ok || !ok && len(bad) != 2 {
			t.Errorf("%q: got %v, want that it is taken: %t", title, bad, ok)
		}
	}
}
