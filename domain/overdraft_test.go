package domain

import "testing"

func TestAnOverdraftIsSharedByTheBucketsAsTheStockIs(t *testing.T) {
	s := Sale{Terms: SaleTerms{Buckets: 3, Items: []ItemTerms{{SKU: "a", Stock: 9, Overdraft: 5}, {SKU: "b", Stock: 9}}}}
	for bucket, want := range []int64{2, 2, 1} {
		if got := s.OverdraftIn("a", bucket); got != want {
			t.Errorf("bucket %d: got %d, want %d", bucket, got, want)
		}
		if got := s.Judged().OverdraftIn("a", bucket); got != want {
			t.Errorf("bucket %d by the terms of a purchase: got %d, want %d", bucket, got, want)
		}
	}
	if s.OverdraftIn("b", 0) != 0 || s.OverdraftIn("none", 0) != 0 || s.OverdraftIn("a", 3) != 0 {
		t.Error("an item without overdraft, an unknown item or bucket has one")
	}
}

func TestMoreMayBeTakenThanThereIsOnlyWithinTheOverdraft(t *testing.T) {
	a := Account{Released: 10, Reserved: 12}
	if a.Within(1) || !a.Within(2) || !(Account{}).Within(0) {
		t.Errorf("two units beyond the stock: within 1 %t, within 2 %t", a.Within(1), a.Within(2))
	}
}

func TestAnOverdraftIsAtMostTheStock(t *testing.T) {
	for overdraft, ok := range map[int64]bool{-1: false, 0: true, 5: true, 6: false} {
		terms := goodTerms()
		terms.Items[0].Stock, terms.Items[0].Overdraft = 5, overdraft
		terms.Items[0].Release = nil
		bad := ValidateTerms(terms)
		if (len(bad) == 0) != ok {
			t.Errorf("overdraft %d of a stock of 5: %v", overdraft, bad)
		}
	}
}

func TestEveryWaitAndEveryRejectionIsSaidInBothLanguages(t *testing.T) {
	for _, language := range []string{"en", "zh"} {
		for _, w := range []Waiting{WaitingForRecorder, WaitingForGate, WaitingForLog, WaitingForSale} {
			if w.Sentence(language) == "" {
				t.Errorf("waiting for %s is not said in %s", w, language)
			}
		}
		for _, r := range []Reason{RejectedGuard, RejectedDuplicate, RejectedLimit, RejectedPoison, RejectedLost} {
			if r.Sentence(language) == "" {
				t.Errorf("rejected by %s is not said in %s", r, language)
			}
		}
	}
}
