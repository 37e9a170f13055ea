package load

import (
	"net/http"
	"strconv"
)

// Build appends what arrival i asks next.
func (v *Visitors) Build(dst []byte, i int) []byte {
	who := &v.at[i]
	token := v.Tokens[v.Visits[i].Buyer]
	switch who.doing {
	case following:
		return v.get(dst, "/api/v1/orders/"+who.order, token)
	case asking:
		return v.post(dst, "/api/v1/orders/"+who.order+"/payment", bearer(token), "{}")
	case paying:
		path, headers, body := v.Paid(who.order)
		return v.post(dst, path, headers, body)
	}
	switch v.Visits[i].Persona {
	case Polls:
		return v.get(dst, "/api/v1/orders?sale="+v.Sale, token)
	case Pages:
		if who.looks == 0 {
			return v.get(dst, "/s/"+v.Sale, "")
		}
		return v.get(dst, "/api/v1/sales/"+v.Sale, "")
	case Attackers:
		return v.attack(dst, i, token)
	}
	return v.press(dst, i, token)
}

// press asks for one unit. Every press of a visitor has the same key.
func (v *Visitors) press(dst []byte, i int, token string) []byte {
	dst = append(dst, "POST /api/v1/sales/"...)
	dst = append(dst, v.Sale...)
	dst = append(dst, "/purchases HTTP/1.1\r\nHost: "...)
	dst = append(dst, v.Host...)
	dst = append(dst, "\r\nAuthorization: Bearer "...)
	dst = append(dst, token...)
	dst = append(dst, "\r\nIdempotency-Key: "...)
	dst = append(dst, v.Tag...)
	dst = append(dst, '-')
	dst = strconv.AppendInt(dst, int64(v.Visits[i].Buyer), 10)
	sku := v.SKUs[v.Visits[i].SKU]
	const head, tail = `{"sku":"`, `","quantity":1}`
	dst = append(dst, "\r\nContent-Type: application/json\r\nContent-Length: "...)
	dst = strconv.AppendInt(dst, int64(len(head)+len(sku)+len(tail)), 10)
	dst = append(dst, "\r\n\r\n"...)
	dst = append(dst, head...)
	dst = append(dst, sku...)
	return append(dst, tail...)
}

func bearer(token string) string { return "Authorization: Bearer " + token + "\r\n" }

// get appends a question with a token, "" for none.
func (v *Visitors) get(dst []byte, path, token string) []byte {
	dst = append(dst, "GET "...)
	dst = append(dst, path...)
	dst = append(dst, " HTTP/1.1\r\nHost: "...)
	dst = append(dst, v.Host...)
	dst = append(dst, "\r\n"...)
	if token != "" {
		dst = append(dst, bearer(token)...)
	}
	return append(dst, "\r\n"...)
}

// post appends a message; headers each end their line.
func (v *Visitors) post(dst []byte, path, headers, body string) []byte {
	dst = append(dst, "POST "...)
	dst = append(dst, path...)
	dst = append(dst, " HTTP/1.1\r\nHost: "...)
	dst = append(dst, v.Host...)
	dst = append(dst, "\r\n"...)
	dst = append(dst, headers...)
	dst = append(dst, "Content-Type: application/json\r\nContent-Length: "...)
	dst = strconv.AppendInt(dst, int64(len(body)), 10)
	dst = append(dst, "\r\n\r\n"...)
	return append(dst, body...)
}

// Attacks, and the status by which each is repelled.
var attacks = [...]int{
	http.StatusUnauthorized, http.StatusUnauthorized, http.StatusNotFound,
	http.StatusBadRequest, http.StatusUnprocessableEntity, http.StatusNotFound,
}

// attack appends what should not be asked.
func (v *Visitors) attack(dst []byte, i int, token string) []byte {
	purchases := "/api/v1/sales/" + v.Sale + "/purchases"
	body := `{"sku":"` + v.SKUs[0] + `","quantity":1}`
	switch i % len(attacks) {
	case 0: // somebody else's signature
		forged := []byte(token)
		forged[len(forged)-5] ^= 1
		return v.post(dst, purchases, bearer(string(forged)), body)
	case 1:
		return v.post(dst, purchases, "", body)
	case 2:
		return v.post(dst, "/api/v1/sales/zzzzzzzz/purchases", bearer(token), body)
	case 3:
		return v.post(dst, purchases, bearer(token), `{"sku":`)
	case 4:
		return v.post(dst, purchases, bearer(token), `{"sku":"`+v.SKUs[0]+`","quantity":99999999999}`)
	}
	return v.get(dst, "/api/v1/orders/0123456789abcdefghjkmnpqrstvwxyz", token)
}

// repelled reads the answer to an attack: what it was to get, that it was to come
// again, or a fault.
func repelled(i int, a Answer) Next {
	want := attacks[i%len(attacks)]
	switch {
	case a.Err != nil:
		return Next{Outcome: fault(a.Err), Failed: true}
	case a.Status == want:
		return Next{Outcome: "repelled", OK: true}
	case comeAgain(a.Status):
		return Next{Outcome: "status " + strconv.Itoa(a.Status)}
	}
	return Next{Outcome: "status " + strconv.Itoa(a.Status) + " in the place of " + strconv.Itoa(want), Failed: true}
}
