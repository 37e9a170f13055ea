package domain

import "testing"

func TestAMemberSetHoldsEachBuyerOnceInWhateverOrder(t *testing.T) {
	var a, b, none MemberSet
	for _, s := range []string{"u1", "u2", "u3", "u2"} {
		a.Add(s)
	}
	for _, s := range []string{"u3", "u2", "u1"} {
		b.Add(s)
	}
	a.Seal()
	b.Seal()
	none.Seal()
	if a.Count() != 3 || a.Digest() != b.Digest() || a.Digest() == none.Digest() {
		t.Errorf("got %d buyers, digests %s and %s", a.Count(), a.Digest(), b.Digest())
	}
	for buyer, want := range map[string]bool{"u1": true, "u3": true, "u4": false, "": false} {
		if a.Has(buyer) != want || none.Has(buyer) {
			t.Errorf("%q: got %t (empty set: %t), want %t", buyer, a.Has(buyer), none.Has(buyer), want)
		}
	}
}

func TestAListOfMembersReplacesTheOneBefore(t *testing.T) {
	first := MemberList{ID: "l1", Count: 2, Digest: "d1"}
	sale := saleOf()
	ev, _ := sale.SetMembers(first, "op").(*SaleMembersSet)
	if ev == nil || ev.Version != 1 || ev.List != "l1" || ev.Count != 2 || ev.Digest != "d1" || ev.By != "op" {
		t.Fatalf("got %+v", ev)
	}
	sale = sale.FoldSale(ev)
	if sale.SetMembers(first, "op") != nil {
		t.Error("the very same list again is an event")
	}
	next, _ := sale.SetMembers(MemberList{ID: "l2"}, "op").(*SaleMembersSet)
	if next == nil || next.Version != 2 {
		t.Fatalf("got %+v, want version 2", next)
	}
	if got := sale.FoldSale(next).Members; got.ID != "l2" || got.Version != 2 {
		t.Errorf("got %+v, want list l2", got)
	}
	checked := saleOf(&SaleChecked{}, &SaleConfirmed{}).FoldSale(next)
	if checked.Checked || !checked.Confirmed {
		t.Errorf("a list after a clean preheat: got checked %t, confirmed %t; want it to be preheated again, and what sells to go on", checked.Checked, checked.Confirmed)
	}
	for name, over := range map[string]Sale{"closed": saleOf(&SaleClosed{}), "cleaned": saleOf(&SaleCleaned{})} {
		if over.SetMembers(first, "op") != nil {
			t.Errorf("a %s sale took a list", name)
		}
	}
}
