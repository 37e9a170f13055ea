package e2e

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"seckill/api"
)

// A node that buys, pays, is asked nonsense and loses its gate writes neither its
// secrets nor anybody's token.
func TestNoSecretStandsInTheLogOfANode(t *testing.T) {
	rig := NewRig(t)
	const payments = "a payment secret for tests alone"
	child := ServeRig(t, rig, "SECKILL_PAYMENT_PROVIDERS=acme=https://pay.example/{order}", "SECKILL_PAYMENT_SECRETS=acme="+payments)
	client := NewClient(child.URL)
	sale := client.CreateSale(t, 5)
	token, err := api.SignToken([]byte(TestSecret), "alice", "", "", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	ask := func(method, path string, body any, headers ...string) {
		t.Helper()
		if _, err := client.Call(method, path, "", "", body, append([]string{"Authorization", "Bearer " + token}, headers...)...); err != nil {
			t.Fatal(err)
		}
	}
	ask(http.MethodPost, "/api/v1/sales/"+sale+"/purchases", oneItem, "Idempotency-Key", "k")
	ask(http.MethodPost, "/api/v1/sales/"+sale+"/purchases", "{", "Idempotency-Key", "k")
	ask(http.MethodPost, "/webhooks/payments/acme", map[string]any{"id": "1"}, "Seckill-Signature", "t=1,v1=00")
	ask(http.MethodPut, "/api/v1/admin/switches/force_ended", map[string]any{"on": true, "reason": "r"})
	rig.Redis.Stop()
	ask(http.MethodPost, "/api/v1/sales/"+sale+"/purchases", oneItem)
	ask(http.MethodGet, "/readyz", nil)
	log := child.Log()
	for _, secret := range []string{TestSecret, payments, token, token[strings.LastIndex(token, ".")+1:]} {
		if strings.Contains(log, secret) {
			t.Errorf("the log tells %.10q…", secret)
		}
	}
	if !strings.Contains(log, "alice") {
		t.Error("the log does not even tell who bought: is it the right one?")
	}
}
