package docs

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"seckill/domain"
)

// glossary says what a field means, once for all events that have it; a name
// with the event before it wins.
var glossary = map[string]string{
	"sale_id":                    "Id of the sale, 8 characters.",
	"order_id":                   "Id of the order, 45 characters.",
	"buyer_id":                   "Who bought: the subject of the buyer's token.",
	"bucket":                     "Part of the stock that serves some of the buyers, counted from 0.",
	"sku":                        "The item.",
	"quantity":                   "Units, above 0.",
	"entry":                      "Entry of the gate's journal that it comes from, `epoch-n.i`; empty where there was none.",
	"key":                        "SHA-256 of the idempotency key it was bought under; left out where there was none.",
	"body_hash":                  "Hash of the request's body that belongs to the key.",
	"reason":                     "Why.",
	"by":                         "Who did it: an operator, or a part of the program.",
	"note":                       "What that person wrote about it.",
	"lines":                      "What was bought.",
	"price":                      "Price of one unit.",
	"amount":                     "Sum of all lines.",
	"currency":                   "ISO 4217.",
	"accepted_at":                "When the gate took the units, by its clock.",
	"pay_by":                     "Until when it must be paid, counted from when the order was recorded.",
	"ordinal":                    "Counts the buyer's orders in this sale from 1.",
	"terms_version":              "Version of the sale's stream whose terms it was judged and priced by; 0: not known.",
	"detail":                     "The reason in words, for people who look into it.",
	"raw":                        "The bytes that could not be recorded, where the reason is `poison`.",
	"payment_id":                 "Id of the payment at its provider; an order is paid once.",
	"restock":                    "Whether the units came back on sale.",
	"withdraw_id":                "Id of the withdrawal.",
	"move_id":                    "Id of the move between two buckets.",
	"to":                         "Bucket that receives.",
	"from":                       "Bucket that gave.",
	"title":                      "For people.",
	"stock":                      "Units over all, those of later tranches included.",
	"release":                    "Parts of the stock that come on sale later.",
	"tranche":                    "Which of those parts of its item it is, from 1; left out for the first stock and for what somebody released.",
	"at":                         "When.",
	"opens_at":                   "From when on it sells.",
	"closes_at":                  "Until when it sells, not included.",
	"limit_per_buyer":            "Units that a buyer may hold.",
	"orders_per_buyer":           "Orders that a buyer may have at a time.",
	"rebuy":                      "May a buyer whose order was cancelled or expired buy again.",
	"strategy":                   "Which machinery serves the sale.",
	"acknowledgement":            "What must have become of a purchase in the gate before its buyer hears that it was accepted; left out: it is in memory.",
	"buckets":                    "Into how many parts the stock is dealt.",
	"tokens":                     "Tickets per unit that are given out; 0: no limit.",
	"payment_window":             "Seconds to pay in.",
	"eligible_tiers":             "Who may buy; left out: everybody.",
	"require_ticket":             "Whether a ticket is needed to buy.",
	"auto_open":                  "Whether it opens by itself at its time.",
	"items":                      "What is on sale.",
	"sale.preheated.bucket":      "The part that the gate is about to hold.",
	"sale.checked.version":       "Version of the stream that was compared with.",
	"keys":                       "Values that were compared.",
	"differences":                "Those that were not what the log says; 0: it may be confirmed.",
	"sale.confirmed.version":     "Version of the stream that was confirmed.",
	"sale.paused.reason":         "Who stopped it.",
	"sale.resumed.reason":        "The reason that is gone.",
	"stock.returned.reason":      "Why the units came back.",
	"order.cancelled.by":         "Who wished it: `buyer`, `payment` (it failed), else an operator, by name; one whose name is such a word as `operator:buyer`.",
	"order.rejected.lines":       "What was asked for; unknown, and left out, for a lost order.",
	"order.rejected.buyer_id":    "Who bought; empty where that could not be read.",
	"stock.reserved.order_id":    "The order that has the units.",
	"stock.returned.order_id":    "The order that had the units.",
	"stock.refused.order_id":     "The order that is not kept; left out where it is a withdrawal or a move.",
	"stock.refused.buyer_id":     "Who bought; left out where that could not be read, and for a withdrawal or a move.",
	"stock.refused.withdraw_id":  "The withdrawal that is not kept; left out where it is an order or a move.",
	"stock.refused.move_id":      "The move between two buckets that is not kept; left out where it is an order or a withdrawal.",
	"stock.withdrawn.quantity":   "Units that are no longer on sale.",
	"stock.released.quantity":    "Units, 0 or more.",
	"overdraft":                  "Units beyond the stock that the log may accept to keep a promise that the gate forgot; left out: none.",
	"kind":                       "Which finding was mended.",
	"before":                     "What stood there before.",
	"after":                      "What stands there now.",
	"stock.adjusted.before":      "Units left there before; the gate's, or the guard's where the kind says so.",
	"stock.adjusted.after":       "Units left there now.",
	"node":                       "The process that counted.",
	"sale.tallied.from":          "From when on it counted.",
	"sale.tallied.to":            "Until when it counted.",
	"asked":                      "Purchases that reached the gate.",
	"won":                        "Those that the gate accepted.",
	"refused":                    "The others, by the code that was told.",
	"code":                       "What the buyer was told.",
	"count":                      "How often.",
	"slices":                     "Split by arrival, in order; empty ones are left out.",
	"buckets.bucket":             "Home bucket.",
	"millis":                     "Milliseconds after the opening at which the slice begins; below 0: before it.",
	"sale.tallied.buckets":       "Split by home bucket, in order; empty ones are left out.",
	"sale.cleaned.items":         "The checklist of the clean-up.",
	"name":                       "What was looked at.",
	"list":                       "Id of the stored list.",
	"ticket":                     "Id of the purchase ticket that it used up; left out where there was none.",
	"digest":                     "SHA-256, hexadecimal, over the first 16 bytes of each buyer's SHA-256, in byte order.",
	"sale.members_set.version":   "Counts the lists of the sale from 1.",
	"sale.members_set.count":     "Buyers on it, each once.",
	"done":                       "Whether it is ticked.",
	"sale.cleaned.detail":        "What was found.",
	"projection":                 "The view.",
	"letters.retried.version":    "Version of the view's fold.",
	"letters.dropped.version":    "Version of the view's fold.",
	"shard":                      "Part of the view.",
	"sequence":                   "An order, or the stream of events without one.",
	"events":                     "How many were set aside.",
	"letters.dropped.reason":     "Why.",
	"switch.flipped.name":        "Which switch.",
	"switch.flipped.sale_id":     "The sale; left out where it is flipped everywhere.",
	"on":                         "Whether it is on from now.",
	"everywhere":                 "The sale follows what was flipped everywhere.",
	"stock.written_off.reason":   "Why the order ended.",
	"stock.written_off.order_id": "The order that had the units.",
	"stock.written_off.quantity": "Units that do not come back on sale.",
	"order.refund_due.reason":    "Why the payment cannot be kept: `late`, `double` or `amount`.",
	"order.refund_due.amount":    "What was paid.",
}

// field is a field of a payload as it is documented.
type field struct {
	name     string
	kind     string // for people
	optional bool
	about    string
	schema   pairs
}

var (
	moneyType = reflect.TypeFor[domain.Money]()
	timeType  = reflect.TypeFor[time.Time]()
	bytesType = reflect.TypeFor[[]byte]()
)

// fields gives the fields of a struct as JSON has them.
func fields(t *testing.T, event string, of reflect.Type) []field {
	t.Helper()
	var all []field
	for i := range of.NumField() {
		f := of.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && name == "" {
			all = append(all, fields(t, event, f.Type)...)
			continue
		}
		about, ok := glossary[event+"."+name]
		if !ok {
			about, ok = glossary[name]
		}
		if !ok {
			t.Errorf("what is %s of %s? Add it to the glossary in docs/schema_test.go", name, event)
		}
		kind, schema := shape(t, event, f.Type)
		all = append(all, field{name: name, kind: kind, optional: options == "omitempty", about: about, schema: append(schema, pair{"description", about})})
	}
	return all
}

// shape gives the form of a type, for people and as JSON Schema.
func shape(t *testing.T, event string, of reflect.Type) (string, pairs) {
	t.Helper()
	switch of {
	case moneyType:
		return "money or null", pairs{{"oneOf", []any{pairs{{"$ref", "#/components/schemas/Money"}}, pairs{{"type", "null"}}}}}
	case timeType:
		return "time", pairs{{"type", "string"}, {"format", "date-time"}}
	case bytesType:
		return "base64", pairs{{"type", "string"}, {"contentEncoding", "base64"}}
	}
	switch of.Kind() {
	case reflect.String:
		values := []string(nil)
		if of.PkgPath() != "" {
			values = constants(t, of.Name())
		}
		if len(values) == 0 {
			return "text", pairs{{"type", "string"}}
		}
		return "`" + strings.Join(values, "`, `") + "`", pairs{{"type", "string"}, {"examples", anys(values)}}
	case reflect.Int, reflect.Int64:
		return "integer", pairs{{"type", "integer"}}
	case reflect.Bool:
		return "true or false", pairs{{"type", "boolean"}}
	case reflect.Slice:
		kind, items := shape(t, event, of.Elem())
		return "list of " + kind, pairs{{"type", "array"}, {"items", items}}
	case reflect.Struct:
		list := fields(t, event, of)
		names := make([]string, len(list))
		for i, f := range list {
			names[i] = "`" + f.name + "`"
		}
		return "{" + strings.Join(names, ", ") + "}", object(list)
	}
	t.Fatalf("%s: what is a %s in JSON?", event, of)
	return "", nil
}

func anys(texts []string) []any {
	all := make([]any, len(texts))
	for i, text := range texts {
		all[i] = text
	}
	return all
}

// object gives the JSON Schema of an object. Further fields are allowed: an
// optional one may be added to a form at any time.
func object(list []field) pairs {
	var properties pairs
	var required []any
	for _, f := range list {
		properties = append(properties, pair{f.name, f.schema})
		if !f.optional {
			required = append(required, f.name)
		}
	}
	s := pairs{{"type", "object"}}
	if len(required) > 0 {
		s = append(s, pair{"required", required})
	}
	return append(s, pair{"properties", properties})
}

func TestEveryGoldenPayloadFitsItsSchema(t *testing.T) {
	for _, e := range catalogue(t) {
		list := fields(t, e.name, e.goType)
		for _, f := range e.forms {
			if f.schema != e.schema {
				continue
			}
			var payload map[string]any
			if err := json.Unmarshal(f.payload, &payload); err != nil {
				t.Fatal(err)
			}
			if wrong := misfit(payload, object(list), e.name); wrong != "" {
				t.Errorf("%s version %d %s: %s", e.name, f.schema, f.what, wrong)
			}
		}
	}
	wrong := map[string]any{"order_id": "a", "payment_id": 7.0, "amount": nil}
	for _, e := range catalogue(t) {
		if e.name == "order.paid" && misfit(wrong, object(fields(t, e.name, e.goType)), "") == "" {
			t.Error("a payment id that is a number fits the schema of order.paid")
		}
	}
}

// misfit tells what of a value does not fit the subset of JSON Schema that shape
// writes, "" when all does.
func misfit(value any, schema pairs, at string) string {
	want, _ := schema.get("type").(string)
	switch v := value.(type) {
	case map[string]any:
		properties, ok := schema.get("properties").(pairs)
		if !ok { // money
			return ""
		}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			s, ok := properties.get(name).(pairs)
			if !ok {
				return at + "." + name + " is not described"
			}
			if wrong := misfit(v[name], s, at+"."+name); wrong != "" {
				return wrong
			}
		}
		required, _ := schema.get("required").([]any)
		for _, name := range required {
			if _, ok := v[name.(string)]; !ok {
				return fmt.Sprintf("%s.%s is missing", at, name)
			}
		}
	case []any:
		items, ok := schema.get("items").(pairs)
		if !ok {
			return at + " is a list"
		}
		for i := range v {
			if wrong := misfit(v[i], items, fmt.Sprintf("%s[%d]", at, i)); wrong != "" {
				return wrong
			}
		}
	case string:
		if want != "string" {
			return at + " is text"
		}
	case float64:
		if want != "integer" || v != float64(int64(v)) {
			return at + " is a number"
		}
	case bool:
		if want != "boolean" {
			return at + " is a boolean"
		}
	}
	return ""
}
