package domain

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// saleOf folds events onto a sale with good terms.
func saleOf(events ...Event) Sale {
	s := Sale{}.FoldSale(&SaleScheduled{SaleID: "28t5cy4t", SaleTerms: goodTerms()})
	for _, e := range events {
		s = s.FoldSale(e)
	}
	return s
}

func TestWhereASaleStandsAtATime(t *testing.T) {
	terms := goodTerms()
	before, opens, last, closes := terms.OpensAt.Add(-time.Microsecond), terms.OpensAt, terms.ClosesAt.Add(-time.Microsecond), terms.ClosesAt
	paused, drift := &SalePaused{Reason: PausedByOperator}, &SalePaused{Reason: PausedByDrift}
	resumed := &SaleResumed{Reason: PausedByOperator}
	for name, c := range map[string]struct {
		events []Event
		now    time.Time
		want   SaleState
	}{
		"just before it opens":           {nil, before, SaleStateScheduled},
		"as it opens":                    {nil, opens, SaleStateOpen},
		"the moment before it closes":    {nil, last, SaleStateOpen},
		"as it closes":                   {nil, closes, SaleStateEnded},
		"paused before it opens":         {[]Event{paused}, before, SaleStatePaused},
		"paused":                         {[]Event{paused}, opens, SaleStatePaused},
		"paused past its end":            {[]Event{paused}, closes, SaleStateEnded},
		"resumed":                        {[]Event{paused, resumed}, opens, SaleStateOpen},
		"paused twice, resumed once":     {[]Event{paused, paused, resumed}, opens, SaleStateOpen},
		"one of two reasons taken away":  {[]Event{paused, drift, resumed}, opens, SaleStatePaused},
		"closed before it opened":        {[]Event{&SaleClosed{}}, before, SaleStateEnded},
		"closed while paused":            {[]Event{paused, &SaleClosed{}}, opens, SaleStateEnded},
		"a resume that nobody asked for": {[]Event{resumed}, opens, SaleStateOpen},
	} {
		if got := saleOf(c.events...).StateAt(c.now); got != c.want {
			t.Errorf("%s: got %s; want %s", name, got, c.want)
		}
	}
}

func TestTheVersionOfTheTermsMovesWithTheTermsAlone(t *testing.T) {
	revised := goodTerms()
	revised.Title = "Another title"
	calm := []Event{&SalePreheated{}, &SaleChecked{}, &SalePaused{Reason: PausedByOperator}, &SaleConfirmed{}, &SwitchFlipped{}, &SaleMembersSet{}, &SaleResumed{}, &SaleClosed{}}
	if got := saleOf(calm...); got.TermsVersion != 1 || got.Version != int64(len(calm))+1 {
		t.Errorf("got terms of version %d in version %d, want 1", got.TermsVersion, got.Version)
	}
	events := append([]Event{&SalePreheated{}, &SaleRevised{SaleTerms: revised}}, calm...)
	if got := saleOf(events...); got.TermsVersion != 3 {
		t.Errorf("revised: got terms of version %d, want 3", got.TermsVersion)
	}
}

func TestTheVersionOfTheTermsMovesWithWhatAPageSaysAlone(t *testing.T) {
	later := func(at time.Time) time.Time { return at.Add(time.Minute) }
	item := func(change func(*ItemTerms)) func(*SaleTerms) {
		return func(t *SaleTerms) {
			t.Items = slices.Clone(t.Items)
			t.Items[0].Release = slices.Clone(t.Items[0].Release)
			change(&t.Items[0])
		}
	}
	for name, c := range map[string]struct {
		change func(*SaleTerms)
		moves  bool
	}{
		"title":            {func(t *SaleTerms) { t.Title += "!" }, true},
		"opens_at":         {func(t *SaleTerms) { t.OpensAt = later(t.OpensAt) }, true},
		"closes_at":        {func(t *SaleTerms) { t.ClosesAt = later(t.ClosesAt) }, true},
		"limit_per_buyer":  {func(t *SaleTerms) { t.LimitPerBuyer++ }, true},
		"require_ticket":   {func(t *SaleTerms) { t.RequireTicket = true }, true},
		"item title":       {item(func(i *ItemTerms) { i.Title += "!" }), true},
		"price":            {item(func(i *ItemTerms) { i.Price.Minor++ }), true},
		"release":          {item(func(i *ItemTerms) { i.Release[0].At = later(i.Release[0].At) }), true},
		"nothing":          {func(*SaleTerms) {}, false},
		"another zone":     {func(t *SaleTerms) { t.OpensAt = t.OpensAt.In(time.FixedZone("", 3600)) }, false},
		"eligible_tiers":   {func(t *SaleTerms) { t.EligibleTiers = []string{"gold"} }, false},
		"orders_per_buyer": {func(t *SaleTerms) { t.OrdersPerBuyer++ }, false},
		"rebuy":            {func(t *SaleTerms) { t.Rebuy = !t.Rebuy }, false},
		"payment_window":   {func(t *SaleTerms) { t.PaymentWindow++ }, false},
		"auto_open":        {func(t *SaleTerms) { t.AutoOpen = !t.AutoOpen }, false},
		"acknowledgement":  {func(t *SaleTerms) { t.Acknowledgement = AcknowledgeFsync }, false},
		"overdraft":        {item(func(i *ItemTerms) { i.Overdraft++ }), false},
	} {
		before := goodTerms()
		before.RequireTicket = false
		item(func(i *ItemTerms) { i.Release = []Tranche{{At: before.OpensAt, Quantity: i.Stock}} })(&before)
		after := before
		c.change(&after)
		got := Sale{}.FoldSale(&SaleScheduled{SaleTerms: before}).FoldSale(&SaleRevised{SaleTerms: after})
		if moved := got.TermsVersion == 2; moved != c.moves || !moved && got.TermsVersion != 1 {
			t.Errorf("%s: terms of version %d, want moved: %t", name, got.TermsVersion, c.moves)
		}
		if got.Terms.EligibleTiers == nil != (after.EligibleTiers == nil) || got.Terms.PaymentWindow != after.PaymentWindow {
			t.Errorf("%s: the terms themselves were not taken: %+v", name, got.Terms)
		}
	}
}

func TestFoldingASaleLeavesWhatWasBefore(t *testing.T) {
	before := saleOf(&SalePaused{Reason: PausedByOperator}, &SalePreheated{Bucket: 1})
	reasons, buckets := slices.Clone(before.Pauses), slices.Clone(before.Preheated)
	before.FoldSale(&SaleResumed{Reason: PausedByOperator})
	before.FoldSale(&SalePaused{Reason: PausedByDrift})
	before.FoldSale(&SalePreheated{Bucket: 2})
	if !slices.Equal(before.Pauses, reasons) || !slices.Equal(before.Preheated, buckets) || before.Version != 3 {
		t.Errorf("got %+v; want pauses %v, preheated %v, version 3", before, reasons, buckets)
	}
}

func TestADecisionThatChangesNothingIsNoEvent(t *testing.T) {
	fresh, paused, closed := saleOf(), saleOf(&SalePaused{Reason: PausedByOperator}), saleOf(&SaleClosed{})
	for name, c := range map[string]struct{ got, want Event }{
		"pause":              {fresh.Pause(PausedByOperator, "n", "a"), &SalePaused{"28t5cy4t", PausedByOperator, "n", "a"}},
		"pause again":        {paused.Pause(PausedByOperator, "", ""), nil},
		"pause for drift":    {paused.Pause(PausedByDrift, "", ""), &SalePaused{SaleID: "28t5cy4t", Reason: PausedByDrift}},
		"pause what ended":   {closed.Pause(PausedByOperator, "", ""), nil},
		"resume":             {paused.Resume(PausedByOperator, "n", "a"), &SaleResumed{"28t5cy4t", PausedByOperator, "n", "a"}},
		"resume another":     {paused.Resume(PausedByDrift, "", ""), nil},
		"resume what sells":  {fresh.Resume(PausedByOperator, "", ""), nil},
		"close":              {fresh.Close("n", "a"), &SaleClosed{"28t5cy4t", "n", "a"}},
		"close again":        {closed.Close("", ""), nil},
		"preheat a bucket":   {fresh.Preheat(2), &SalePreheated{"28t5cy4t", 2}},
		"preheat it again":   {saleOf(&SalePreheated{Bucket: 2}).Preheat(2), nil},
		"preheat the others": {saleOf(&SalePreheated{Bucket: 2}).Preheat(0), &SalePreheated{"28t5cy4t", 0}},
	} {
		if diff := cmp.Diff(c.want, c.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestSchedulingReleasesWhatNoTrancheHoldsBack(t *testing.T) {
	scheduled, released := Schedule("28t5cy4t", goodTerms(), "admin-1")
	if diff := cmp.Diff(&SaleScheduled{"28t5cy4t", goodTerms(), "admin-1"}, scheduled); diff != "" {
		t.Errorf("scheduled (-want +got):\n%s", diff)
	}
	var want []*StockReleased
	for bucket, n := range []int64{2, 2, 1, 1} {
		want = append(want, &StockReleased{"28t5cy4t", "mug", bucket, n, 0, "admin-1"})
	}
	for bucket := range 4 { // a stream for every item and bucket, also for none at all
		want = append(want, &StockReleased{"28t5cy4t", "cup", bucket, 0, 0, "admin-1"})
	}
	if diff := cmp.Diff(want, released); diff != "" {
		t.Errorf("released (-want +got):\n%s", diff)
	}
}

func TestStockIsDealtWholeAndEvenly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		quantity, n := rapid.Int64Range(0, MaxQuantity).Draw(t, "quantity"), rapid.IntRange(1, MaxBuckets).Draw(t, "n")
		parts, sum := SplitStock(quantity, n), int64(0)
		for _, p := range parts {
			sum += p
		}
		if len(parts) != n || sum != quantity || slices.Max(parts)-slices.Min(parts) > 1 {
			t.Fatalf("%d over %d: got %v", quantity, n, parts)
		}
	})
}

func TestPurchasesAreJudgedByTheTermsOfTheSale(t *testing.T) {
	s := saleOf(&SalePaused{Reason: PausedByOperator})
	want := Terms{Version: 2, LimitPerBuyer: 2, OrdersPerBuyer: 1, PaymentWindow: 900, Prices: map[string]Money{"mug": {1990, "CNY"}, "cup": {0, "CNY"}}}
	if diff := cmp.Diff(want, s.Judged()); diff != "" {
		t.Errorf("terms (-want +got):\n%s", diff)
	}
	if item, ok := s.Item("mug"); !ok || item.Title != "Mug" {
		t.Errorf("mug: got %+v, %v", item, ok)
	}
	if item, ok := s.Item("hat"); ok {
		t.Errorf("hat: got %+v; want none", item)
	}
	if got := s.SKUs(); !slices.Equal(got, []string{"mug", "cup"}) {
		t.Errorf("skus: got %v; want the order they were scheduled in", got)
	}
}
