package commands

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"seckill/domain"
	"seckill/eventstore"
)

// judgeSaleRecord compares what a gate's record of the sale says beside its orders
// with the fold of the sale at the version that the record has applied.
func (r *reconciliation) judgeSaleRecord(c cut) {
	if r.books.unread[domain.SaleStream(r.sale.ID)] != nil {
		return // found already
	}
	f, at := Finding{about: about{place: c.place}}, c.seen.Sale.Applied
	if hash, known := r.books.sale[at.Number]; !known || hash != at.Hash {
		f.Kind = FindingNotPrefix
		f.Detail = fmt.Sprintf("the gate's record of the sale in bucket %d has applied %s, which is not in the stream", c.place.Bucket, versionSaid(at))
		r.report.found(f)
		return
	}
	if wrong := fieldsOff(r.books.fields[at.Number], c.seen.Fields); len(wrong) > 0 {
		f.Kind = FindingSaleRecord
		f.Detail = fmt.Sprintf("the gate's record of the sale in bucket %d at version %d: %s", c.place.Bucket, at.Number, strings.Join(wrong, "; "))
		r.report.found(f)
	}
}

// versionSaid names the version of a place that is in no stream.
func versionSaid(at eventstore.Mark) string {
	if at.Number == Unreadable {
		return "what is no version"
	}
	return fmt.Sprintf("version %d", at.Number)
}

// fieldsOff says which fields are not what they must be, and how.
func fieldsOff(want, got []SaleField) []string {
	var wrong []string
	for i, w := range want {
		is := SaleField{Name: w.Name}
		if i < len(got) {
			is = got[i]
		}
		switch {
		case is == w, meansSame(w, is):
		case w.Name == fieldTerms:
			wrong = append(wrong, "the terms that purchases are recorded with are not the log's")
		default:
			wrong = append(wrong, fmt.Sprintf("%s is %q and must be %q", w.Name, is.Value, w.Value))
		}
	}
	return wrong
}

// Fields that another version of the program may have written in another form.
const (
	fieldTerms = "terms"
	fieldWaits = "waits"
)

// meansSame tells whether two forms of a field mean the same to a purchase.
func meansSame(want, got SaleField) bool {
	switch {
	case want.Name != got.Name:
		return false
	case want.Name == fieldWaits:
		return want.Value == "0" && got.Value == ""
	case want.Name == fieldTerms:
		var a, b domain.Terms
		return json.Unmarshal([]byte(want.Value), &a) == nil && json.Unmarshal([]byte(got.Value), &b) == nil && reflect.DeepEqual(a, b)
	}
	return false
}

// foreign tells whether an id is of no order that this installation could have
// issued for a bucket.
func foreign(id string, place domain.Place) bool {
	ref, err := domain.ParseOrderID(id)
	return err != nil || ref.Place != place
}

// strangeOrder is about an id in the gate that nobody issued: the log can decide
// nothing about it.
func strangeOrder(id string, o *orderBook, place domain.Place) Finding {
	f := Finding{Kind: FindingOrphan, OrderID: id, BuyerID: o.buyer, about: about{place: place, strange: true},
		Detail: "the gate knows an order whose id nobody here gave out"}
	if o.gate.held > 0 {
		f.Kind, f.Detail = FindingStranded, fmt.Sprintf("the gate holds %d units for an order whose id nobody here gave out", o.gate.held)
	}
	return f
}

// judgeLists names the buyers whose list in the gate has an order of another one:
// they would be told that they have bought already.
func (r *reconciliation) judgeLists() {
	for _, id := range slices.Sorted(maps.Keys(r.books.lists)) {
		o := r.books.orders[id]
		for _, buyer := range r.books.lists[id] {
			if o.status == 0 || buyer == o.buyer {
				continue
			}
			place := domain.Place{Store: r.Env.Store, Sale: r.sale.ID, Bucket: int(o.bucket)}
			r.report.found(Finding{Kind: FindingOrphan, OrderID: id, BuyerID: buyer, about: about{place: place, strange: true},
				Detail: "the gate's list of this buyer's orders names one of another buyer"})
		}
	}
}
