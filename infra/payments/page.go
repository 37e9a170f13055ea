package payments

import (
	"context"
	"encoding/json"
	"errors"
	"html/template"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Bounds of what the page takes.
const (
	maxForm   = 16 << 10
	maxDelay  = 24 * time.Hour
	maxRepeat = 100
	// pageWait is for how long the page waits for the answer to its message.
	pageWait = 10 * time.Second
)

// ServeHTTP shows a page that pays an order (GET /pay?order=…&amount=…&currency=…)
// and does as it is told (POST /pay with order, amount, currency and, if wanted,
// outcome paid or failed, delay, repeat, payment_id, event_id). The answer is the
// page, or JSON where HTML is not asked for. What has a delay is told later, and
// answered 202 at once.
func (s *Simulator) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.URL.Path != "/pay":
		show(w, r, http.StatusNotFound, view{Error: "There is nothing here: orders are paid at /pay?order=…&amount=…&currency=…"})
	case r.Method == http.MethodGet || r.Method == http.MethodHead:
		q := r.URL.Query()
		show(w, r, http.StatusOK, view{Order: q.Get("order"), Amount: q.Get("amount"), Currency: q.Get("currency")})
	case r.Method == http.MethodPost:
		s.charge(w, r)
	default:
		w.Header().Set("Allow", "GET, HEAD, POST")
		show(w, r, http.StatusMethodNotAllowed, view{Error: "Please GET or POST."})
	}
}

func (s *Simulator) charge(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	c, problem := readCharge(r)
	v := view{Order: c.OrderID, Amount: c.Amount, Currency: c.Currency}
	if problem != "" {
		v.Error = problem
		show(w, r, http.StatusBadRequest, v)
		return
	}
	if c.Delay > 0 {
		// Its numbers are fixed now, so that the answer can name them.
		e := c.event()
		c.EventID, c.PaymentID = e.ID, e.PaymentID
		s.later(c)
		v.Receipt = &Receipt{Event: e}
		show(w, r, http.StatusAccepted, v)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), pageWait)
	defer cancel()
	receipt, err := s.Pay(ctx, c)
	v.Receipt = &receipt
	if err == nil {
		show(w, r, http.StatusOK, v)
		return
	}
	v.Error = "The message was not taken: " + err.Error()
	status := http.StatusBadGateway
	if errors.Is(err, context.DeadlineExceeded) {
		c.EventID, c.PaymentID = receipt.Event.ID, receipt.Event.PaymentID
		s.later(c)
		status, v.Error = http.StatusAccepted, "The message is not taken yet; it is sent again until it is."
	}
	show(w, r, status, v)
}

// later tells a charge when its time has come; Close ends it.
func (s *Simulator) later(c Charge) {
	s.sending.Go(func() {
		_, _ = s.Pay(s.life, c) // nobody waits for it any more
	})
}

func readCharge(r *http.Request) (c Charge, problem string) {
	if err := r.ParseForm(); err != nil {
		return c, "The form cannot be read."
	}
	c = Charge{
		OrderID: r.PostForm.Get("order"), Amount: r.PostForm.Get("amount"), Currency: r.PostForm.Get("currency"),
		PaymentID: r.PostForm.Get("payment_id"), EventID: r.PostForm.Get("event_id"),
	}
	var err error
	if text := r.PostForm.Get("delay"); text != "" {
		if c.Delay, err = time.ParseDuration(text); err != nil || c.Delay < 0 || c.Delay > maxDelay {
			return c, "delay must be a duration from 0s to 24h."
		}
	}
	if text := r.PostForm.Get("repeat"); text != "" {
		if c.Repeat, err = strconv.Atoi(text); err != nil || c.Repeat < 1 || c.Repeat > maxRepeat {
			return c, "repeat must be a number from 1 to 100."
		}
	}
	switch r.PostForm.Get("outcome") {
	case "", "paid":
	case "failed":
		c.Fails = true
	default:
		return c, "outcome must be paid or failed."
	}
	if c.OrderID == "" || c.Amount == "" || c.Currency == "" {
		return c, "order, amount and currency are required."
	}
	return c, ""
}

// view is what the page shows.
type view struct {
	Order    string   `json:"order,omitempty"`
	Amount   string   `json:"amount,omitempty"`
	Currency string   `json:"currency,omitempty"`
	Receipt  *Receipt `json:"receipt,omitempty"`
	Error    string   `json:"error,omitempty"`
}

func show(w http.ResponseWriter, r *http.Request, status int, v view) {
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Vary", "Accept")
	if !strings.Contains(r.Header.Get("Accept"), "text/html") {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(v) // the caller may be gone
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'")
	w.WriteHeader(status)
	_ = page.Execute(w, v) // the caller may be gone
}

// page is never written after this line.
var page = template.Must(template.New("pay").Parse(`<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Payment simulator · 模拟支付</title>
<style>body{font:16px/1.5 system-ui,sans-serif;max-width:34em;margin:3em auto;padding:0 1em}label{display:block;margin:.6em 0}pre{background:#eee;padding:1em;overflow:auto}.bad{color:#a00}</style>
<h1>Payment simulator · 模拟支付</h1>
<p>No money moves here. It tells the shop what a provider would tell. · 此处不产生真实支付。</p>
{{with .Error}}<p class="bad">{{.}}</p>{{end}}
{{with .Receipt}}<p>{{if .Status}}Told; the shop answered {{.Status}}.{{else}}It will be told later.{{end}}</p><pre>{{printf "%s" .Answer}}</pre>{{end}}
<form method="post" action="/pay">
<label>Order <input name="order" value="{{.Order}}" size="48"></label>
<label>Amount <input name="amount" value="{{.Amount}}" size="10"> <input name="currency" value="{{.Currency}}" size="4"></label>
<label>Delay <input name="delay" placeholder="0s" size="6"> Repeat <input name="repeat" placeholder="1" size="4"></label>
<button name="outcome" value="paid">Pay · 支付</button> <button name="outcome" value="failed">Fail · 支付失败</button>
</form></html>
`))
