package api

import (
	"strings"
	"unicode/utf8"

	"seckill/domain"
)

// What a provider is told, where the sentence of the code is a buyer's.
const (
	// wantSignature never says what of it is wrong.
	wantSignature = "The signature of this message does not fit: it is missing, not of the last five minutes, or not made over these very bytes under a secret that we share."
	noProvider    = "No payment provider of this name is known here."
	noSuchOrder   = "No order of ours has this id; sending the message again does not help."
	notYetThere   = "This order is still being recorded, so the message was not heard; please send it again in a moment."
	notHeardNow   = "The message was not heard; please send it again in a moment."
)

// signatureChallenge is what 401 says of how to sign.
const signatureChallenge = headerSignature + ` realm="payments", algorithm="HMAC-SHA-256"`

// wantName is what an id of a provider must be.
const wantName = "want 1 to 200 visible ASCII characters"

// message is a payment message that was read.
type message struct {
	id, order, payment, note string
	amount                   domain.Money
	failed                   bool
}

// decodeMessage reads a message out of a JSON text that json.Valid has accepted;
// known is false for a type that is not heard. Names are taken as they are
// written, once each; members that are not ours are passed over.
func decodeMessage(body []byte) (m message, known bool, err error) {
	body = skipSpace(body)
	if body[0] != '{' {
		return m, false, wrong(domain.FieldError{Field: "body", Reason: "want an object"})
	}
	r := messageReader{texts: map[string]string{}}
	r.members(body)
	id, kind := r.name("id"), r.text("type")
	if len(r.bad) > 0 {
		return m, false, wrong(r.bad...)
	}
	if kind != paymentSucceeded && kind != paymentFailed {
		return m, false, nil
	}
	m = message{id: id, failed: kind == paymentFailed, order: r.text("order_id"), payment: r.name("payment_id"), note: r.texts["note"]}
	amount, currency := r.text("amount"), r.text("currency")
	if utf8.RuneCountInString(m.note) > 500 {
		r.wrong("note", "want at most 500 characters")
	}
	if len(r.bad) == 0 {
		var read reader
		m.amount = read.money(func(name string) string { return name }, amount, currency)
		r.bad = inAmount(read.bad)
	}
	if len(r.bad) > 0 {
		return m, false, wrong(r.bad...)
	}
	return m, true, nil
}

// messageReader reads the members of a message that are ours; all are texts.
type messageReader struct {
	texts map[string]string
	bad   []domain.FieldError
}

func (r *messageReader) wrong(field, reason string) {
	r.bad = append(r.bad, domain.FieldError{Field: field, Reason: reason})
}

func (r *messageReader) members(object []byte) {
	for rest := object[1:]; ; {
		name, value, after, ok := cutMember(rest)
		if !ok {
			return
		}
		rest = after
		switch name {
		case "id", "type", "order_id", "payment_id", "amount", "currency", "note":
		default:
			continue
		}
		_, seen := r.texts[name]
		switch {
		case seen:
			r.wrong(name, twice)
		case value[0] != '"':
			r.wrong(name, "want a text")
			r.texts[name] = ""
		case strings.ContainsRune(unquote(value), 0):
			r.wrong(name, "must not hold a NUL character")
			r.texts[name] = ""
		default:
			r.texts[name] = unquote(value)
		}
	}
}

// text gives a member that has to be there.
func (r *messageReader) text(name string) string {
	text, ok := r.texts[name]
	if !ok {
		r.wrong(name, missing)
	}
	return text
}

// name gives a member that names something of the provider's.
func (r *messageReader) name(field string) string {
	text, ok := r.texts[field]
	switch {
	case !ok:
		r.wrong(field, missing)
	case !visible(text) || len(text) > 200:
		r.wrong(field, wantName)
	}
	return text
}

// visible tells whether a text is visible ASCII, and not empty.
func visible(text string) bool {
	for _, c := range text {
		if c <= ' ' || c > '~' {
			return false
		}
	}
	return text != ""
}
