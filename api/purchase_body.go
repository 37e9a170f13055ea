package api

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"

	"seckill/domain"
)

// wantQuantity is what a quantity must be.
const wantQuantity = "want a whole number from 1 to 2147483647"

// purchaseBody is what is found in the body of a purchase.
type purchaseBody struct {
	lines []domain.Line
	bad   []domain.FieldError
}

func (p *purchaseBody) wrong(field, reason string) {
	p.bad = append(p.bad, domain.FieldError{Field: field, Reason: reason})
}

// purchaseLines reads the body of a purchase, or says what is wrong with it.
func purchaseLines(body []byte) ([]domain.Line, error) {
	if line, ok := plainPurchase(body); ok {
		return []domain.Line{line}, nil
	}
	if err := validJSON(body); err != nil {
		return nil, err
	}
	return decodePurchase(body)
}

// plainPurchase reads the body as nearly every client writes it, members in this
// order and without blanks or escapes. ok is false for everything else, right or
// wrong, which decodePurchase judges.
func plainPurchase(body []byte) (line domain.Line, ok bool) {
	rest, ok := bytes.CutPrefix(body, []byte(`{"sku":"`))
	if !ok {
		return line, false
	}
	sku, rest, ok := bytes.Cut(rest, []byte(`","quantity":`))
	if !ok || len(rest) < 2 || len(rest) > len("2147483647}") || rest[0] == '0' || rest[len(rest)-1] != '}' {
		return line, false
	}
	for _, digit := range rest[:len(rest)-1] {
		if digit < '0' || digit > '9' {
			return line, false
		}
		line.Quantity = 10*line.Quantity + int64(digit-'0')
	}
	line.SKU = string(sku)
	return line, line.Quantity <= domain.MaxQuantity && domain.ValidSKU(line.SKU)
}

// decodePurchase reads {"sku","quantity"} or {"lines":[{"sku","quantity"},…]} out
// of a JSON text that json.Valid has accepted. Anything else in it, such as a
// price or a buyer, is refused; all that is wrong is reported together.
func decodePurchase(body []byte) ([]domain.Line, error) {
	body = skipSpace(body)
	if body[0] != '{' {
		return nil, wrong(domain.FieldError{Field: "body", Reason: "want an object"})
	}
	var p purchaseBody
	if lines, ok := linesOf(body); ok {
		p.readMany(body, lines)
	} else {
		p.lines = []domain.Line{p.readLine("", body)}
	}
	p.checkTwice()
	if len(p.bad) > 0 {
		return nil, wrong(p.bad...)
	}
	return p.lines, nil
}

// linesOf gives the member "lines" of an object, if it has one.
func linesOf(body []byte) ([]byte, bool) {
	for rest := body[1:]; ; {
		name, value, after, ok := cutMember(rest)
		if !ok || name == "lines" {
			return value, ok
		}
		rest = after
	}
}

// readMany reads the form with lines; nothing else may stand beside them.
func (p *purchaseBody) readMany(body, lines []byte) {
	seen := false
	for rest := body[1:]; ; {
		name, _, after, ok := cutMember(rest)
		if !ok {
			break
		}
		switch {
		case name != "lines":
			p.wrong(name, unknownField)
		case seen:
			p.wrong(name, twice)
		}
		seen, rest = seen || name == "lines", after
	}
	if lines[0] != '[' {
		p.wrong("lines", fmt.Sprintf("want 1 to %d lines", domain.MaxLines))
		return
	}
	for rest := lines[1:]; ; {
		line, after, ok := cutElement(rest)
		if !ok {
			break
		}
		if len(p.lines) == domain.MaxLines {
			p.wrong("lines", fmt.Sprintf("want 1 to %d lines", domain.MaxLines))
			return
		}
		at := "lines[" + strconv.Itoa(len(p.lines)) + "]"
		if line[0] != '{' {
			p.wrong(at, "want an object")
			p.lines = append(p.lines, domain.Line{})
		} else {
			p.lines = append(p.lines, p.readLine(at+".", line))
		}
		rest = after
	}
	if len(p.lines) == 0 {
		p.wrong("lines", fmt.Sprintf("want 1 to %d lines", domain.MaxLines))
	}
}

// readLine reads one object of sku and quantity.
func (p *purchaseBody) readLine(at string, object []byte) domain.Line {
	var line domain.Line
	var sku, quantity bool
	for rest := object[1:]; ; {
		name, value, after, ok := cutMember(rest)
		if !ok {
			break
		}
		switch {
		case name == "sku" && !sku:
			line.SKU, sku = p.readSKU(at, value), true
		case name == "quantity" && !quantity:
			line.Quantity, quantity = p.readQuantity(at, value), true
		case name == "sku" || name == "quantity":
			p.wrong(at+name, twice)
		default:
			p.wrong(at+name, unknownField)
		}
		rest = after
	}
	if !sku {
		p.wrong(at+"sku", missing)
	}
	if !quantity {
		p.wrong(at+"quantity", missing)
	}
	return line
}

func (p *purchaseBody) readSKU(at string, value []byte) string {
	if value[0] == '"' {
		if sku := unquote(value); domain.ValidSKU(sku) {
			return sku
		}
	}
	p.wrong(at+"sku", "want a text of 1 to 64 letters, digits, '.', '_' or '-'")
	return ""
}

func (p *purchaseBody) readQuantity(at string, value []byte) int64 {
	n, ok := wholeNumber(value)
	if !ok || n < 1 || n > domain.MaxQuantity {
		p.wrong(at+"quantity", wantQuantity)
		return 0
	}
	return n
}

// checkTwice refuses a SKU that stands in two lines.
func (p *purchaseBody) checkTwice() {
	for i, line := range p.lines {
		if line.SKU != "" && slices.ContainsFunc(p.lines[:i], func(l domain.Line) bool { return l.SKU == line.SKU }) {
			p.wrong("lines["+strconv.Itoa(i)+"].sku", "stands twice in this purchase")
		}
	}
}

// bodyHash gives the digest an idempotency key is remembered with: 32
// hexadecimal digits over the lines in their order. It is the same however the
// body was written, with or without "lines".
func bodyHash(lines []domain.Line) string {
	var b []byte
	for _, l := range lines {
		b = append(b, l.SKU...)
		b = append(b, ' ')
		b = strconv.AppendInt(b, l.Quantity, 10)
		b = append(b, '\n')
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:16])
}
