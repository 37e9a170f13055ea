package payments

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// FuzzCharge: a form is a charge within its bounds, or told what is wrong with it.
func FuzzCharge(f *testing.F) {
	for _, form := range []string{
		"order=o&amount=19.90&currency=CNY", "order=o&amount=1&currency=CNY&delay=24h0m0.000000001s", "order=o&amount=1&currency=CNY&repeat=101&outcome=failed",
		"order=o&amount=1&currency=CNY&delay=-1ns", "order=%00&amount=<b>&currency=;", "order=o;amount=1", "%zz",
	} {
		f.Add(form)
	}
	f.Fuzz(func(t *testing.T, form string) {
		r := httptest.NewRequest("POST", "/pay", strings.NewReader(form))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		c, problem := readCharge(r)
		if problem == "" && (c.OrderID == "" || c.Amount == "" || c.Currency == "" || c.Delay < 0 || c.Delay > 24*time.Hour || c.Repeat < 0 || c.Repeat > 100) {
			t.Errorf("%q is the charge %+v", form, c)
		}
	})
}
