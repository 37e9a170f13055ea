package domain

import (
	"slices"
	"testing"
	"time"
)

// waiting is a sale with good terms that does not open by itself.
func waiting(events ...Event) Sale {
	terms := goodTerms()
	terms.AutoOpen = false
	s := Sale{}.FoldSale(&SaleScheduled{SaleID: "28t5cy4t", SaleTerms: terms})
	for _, e := range events {
		s = s.FoldSale(e)
	}
	return s
}

// revised gives the terms of a sale with a change.
func revised(s Sale, change func(*SaleTerms)) SaleTerms {
	t := s.Terms
	t.Items = slices.Clone(t.Items)
	change(&t)
	return t
}

func TestASaleThatWaitsShowsScheduledUntilItIsConfirmed(t *testing.T) {
	s := waiting()
	opens := s.Terms.OpensAt
	if got := s.StateAt(opens.Add(time.Second)); got != SaleStateScheduled || s.OpenAt(opens) {
		t.Errorf("unconfirmed, past its time: got %s, open %v; want scheduled", got, s.OpenAt(opens))
	}
	s = s.FoldSale(&SaleChecked{}).FoldSale(&SaleConfirmed{})
	if got := s.StateAt(opens); got != SaleStateOpen || !s.OpenAt(opens) || s.OpenAt(opens.Add(-1)) {
		t.Errorf("confirmed, at its time: got %s; want open", got)
	}
	if got := waiting().StateAt(s.Terms.ClosesAt); got != SaleStateEnded {
		t.Errorf("never confirmed, past its end: got %s; want ended", got)
	}
}

func TestAChangeOfWhatWasCheckedTakesCheckAndConfirmationBack(t *testing.T) {
	s := waiting(&SaleChecked{}, &SaleConfirmed{})
	for name, c := range map[string]struct {
		change func(*SaleTerms)
		keeps  bool
	}{
		"title":        {func(t *SaleTerms) { t.Title = "another" }, true},
		"item's title": {func(t *SaleTerms) { t.Items[0].Title = "another" }, true},
		"closes_at":    {func(t *SaleTerms) { t.ClosesAt = t.ClosesAt.Add(time.Hour) }, true},
		"opens_at":     {func(t *SaleTerms) { t.OpensAt = t.OpensAt.Add(time.Minute) }, false},
		"limit":        {func(t *SaleTerms) { t.LimitPerBuyer++ }, false},
		"price":        {func(t *SaleTerms) { t.Items[0].Price.Minor++ }, false},
	} {
		after := s.FoldSale(&SaleRevised{SaleTerms: revised(s, c.change)})
		if after.Confirmed != c.keeps || after.Checked != c.keeps {
			t.Errorf("%s changed: got checked %v, confirmed %v; want %v", name, after.Checked, after.Confirmed, c.keeps)
		}
	}
	if again := s.FoldSale(&SaleChecked{Differences: 1}); again.Checked || !again.Confirmed {
		t.Errorf("a preheat that differs: got %+v; want unchecked and, as a person said so, confirmed", again)
	}
}

func TestACheckIsNotedWhereSomebodyAskedForItOrItChangesSomething(t *testing.T) {
	for name, c := range map[string]struct {
		sale           Sale
		differences    int
		asked, routine bool // whether there is an event
	}{
		"clean":               {waiting(), 0, true, true},
		"clean again":         {waiting(&SaleChecked{}), 0, true, false},
		"differs":             {waiting(), 1, true, false},
		"differs after clean": {waiting(&SaleChecked{}), 1, true, true},
		"opens by itself":     {saleOf(), 0, true, false},
		"closed":              {waiting(&SaleClosed{}), 0, true, false},
		"cleaned up":          {waiting(&SaleClosed{}, &SaleCleaned{}), 0, false, false},
	} {
		for routine, want := range map[bool]bool{false: c.asked, true: c.routine} {
			got := c.sale.Check(3, c.differences, "a", routine)
			checked, _ := got.(*SaleChecked)
			if (got != nil) != want || want && (checked.Keys != 3 || checked.Differences != c.differences || checked.By != "a" || checked.Version != c.sale.Version) {
				t.Errorf("%s, routine %v: got %+v; want an event: %v", name, routine, got, want)
			}
		}
	}
}

func TestAConfirmationIsNotedOnlyWhereItChangesSomething(t *testing.T) {
	for name, c := range map[string]struct {
		got   Event
		event bool
	}{
		"confirm":               {waiting(&SaleChecked{}).Confirm("n", "a"), true},
		"confirm again":         {waiting(&SaleConfirmed{}).Confirm("n", "a"), false},
		"confirm what needs it": {saleOf().Confirm("n", "a"), false},
	} {
		if (c.got != nil) != c.event {
			t.Errorf("%s: got %+v; want an event: %v", name, c.got, c.event)
		}
	}
}

func TestWhatMayChangeDependsOnWhetherTheSaleHasOpened(t *testing.T) {
	s := saleOf()
	for name, c := range map[string]struct {
		change         func(*SaleTerms)
		before, opened string // field that is refused, "" for none
	}{
		"title":     {func(t *SaleTerms) { t.Title = "another" }, "", ""},
		"closes_at": {func(t *SaleTerms) { t.ClosesAt = t.ClosesAt.Add(time.Hour) }, "", ""},
		"opens_at":  {func(t *SaleTerms) { t.OpensAt = t.OpensAt.Add(time.Minute) }, "", "opens_at"},
		"limit":     {func(t *SaleTerms) { t.LimitPerBuyer++ }, "", "limit_per_buyer"},
		"price":     {func(t *SaleTerms) { t.Items[0].Price.Minor++ }, "", "items[0].price"},
		"stock":     {func(t *SaleTerms) { t.Items[0].Stock++ }, "items[0].stock", "items[0].stock"},
		"tranche":   {func(t *SaleTerms) { t.Items[0].Release = nil }, "items[0].release", "items[0].release"},
		"its time":  {func(t *SaleTerms) { t.Items[0].Release = []Tranche{{t.OpensAt.Add(2 * time.Minute), 4}} }, "", "items[0].release"},
		"its units": {func(t *SaleTerms) { t.Items[0].Release = []Tranche{{t.OpensAt.Add(time.Minute), 3}} }, "items[0].release", "items[0].release"},
		"buckets":   {func(t *SaleTerms) { t.Buckets++ }, "buckets", "buckets"},
		"one less":  {func(t *SaleTerms) { t.Items = t.Items[1:] }, "items", "items"},
	} {
		for opened, want := range map[bool]string{false: c.before, true: c.opened} {
			ev, bad := s.Revise(revised(s, c.change), opened, "a")
			switch {
			case want == "" && (ev == nil || len(bad) > 0):
				t.Errorf("%s, opened %v: got %v, refused %v; want an event", name, opened, ev, bad)
			case want != "" && (len(bad) != 1 || bad[0].Field != want || ev != nil):
				t.Errorf("%s, opened %v: got %v; want %s refused", name, opened, bad, want)
			}
		}
	}
	if ev, bad := s.Revise(revised(s, func(*SaleTerms) {}), true, "a"); ev != nil || bad != nil {
		t.Errorf("nothing changed: got %v, %v; want no event", ev, bad)
	}
}

func TestTheGateIsToldFirstOfWhatStops(t *testing.T) {
	s := saleOf()
	for name, c := range map[string]struct {
		change func(*SaleTerms)
		stops  bool
	}{
		"title":           {func(t *SaleTerms) { t.Title = "another" }, false},
		"closes later":    {func(t *SaleTerms) { t.ClosesAt = t.ClosesAt.Add(time.Hour) }, false},
		"closes earlier":  {func(t *SaleTerms) { t.ClosesAt = t.ClosesAt.Add(-1) }, true},
		"opens later":     {func(t *SaleTerms) { t.OpensAt = t.OpensAt.Add(1) }, true},
		"costs more":      {func(t *SaleTerms) { t.Items[0].Price.Minor++ }, true},
		"is to confirm":   {func(t *SaleTerms) { t.AutoOpen = !t.AutoOpen }, true},
		"nothing changes": {func(*SaleTerms) {}, false},
	} {
		if got := s.Stops(revised(s, c.change)); got != c.stops {
			t.Errorf("%s: got %v; want %v", name, got, c.stops)
		}
	}
}
