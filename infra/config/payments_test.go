package config

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	oneSecret   = "geheim-geheim-geheim"
	otherSecret = "geheim=auch-geheim=="
)

func TestPaymentProvidersHaveAPageAndOneOrMoreSecrets(t *testing.T) {
	clean(t)
	t.Setenv("SECKILL_PAYMENT_PROVIDERS", "bank=https://bank.test/pay/{order}, wallet=http://w.test/?o={order}&a={amount}&c={currency}")
	t.Setenv("SECKILL_PAYMENT_SECRETS", "bank="+oneSecret+",wallet="+oneSecret+", bank="+otherSecret)
	s := load(t)
	want := []PaymentProvider{
		{Name: "bank", Page: "https://bank.test/pay/{order}", Secrets: []Secret{oneSecret, otherSecret}},
		{Name: "wallet", Page: "http://w.test/?o={order}&a={amount}&c={currency}", Secrets: []Secret{oneSecret}},
	}
	if d := cmp.Diff(want, s.Payments()); d != "" {
		t.Errorf("providers (-want +got):\n%s", d)
	}
	if out := fmt.Sprintf("%v %+v %#v", s, s.Payments(), s.Payments()); strings.Contains(out, "geheim") {
		t.Errorf("a secret is shown: %s", out)
	}
}

func TestWithoutPaymentSettingsThereAreNoProviders(t *testing.T) {
	clean(t)
	if got := load(t).Payments(); len(got) > 0 {
		t.Errorf("got %v, want none", got)
	}
}

func TestAProviderIsAddedInThePlaceOfOneOfItsName(t *testing.T) {
	clean(t)
	s := load(t, "--payment-providers", "a=http://a/{order},b=http://b/{order}", "--payment-secrets", "a="+oneSecret+",b="+oneSecret)
	got := s.WithPayment("a", "http://new/{order}", otherSecret).Payments()
	want := []PaymentProvider{
		{Name: "b", Page: "http://b/{order}", Secrets: []Secret{oneSecret}}, {Name: "a", Page: "http://new/{order}", Secrets: []Secret{otherSecret}},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("providers (-want +got):\n%s", d)
	}
	if d := cmp.Diff(want[1:], Settings{}.WithPayment("a", "http://new/{order}", otherSecret).Payments()); d != "" {
		t.Errorf("beside none (-want +got):\n%s", d)
	}
	if len(s.Payments()) != 2 || s.Payments()[0].Page != "http://a/{order}" {
		t.Errorf("the settings it was added to changed: %v", s.Payments())
	}
}

func TestPaymentSettingsThatCannotWorkAreRefusedWithoutTheSecrets(t *testing.T) {
	for args, want := range map[string]string{
		"--payment-providers=bank":                                                                     "must be a list of NAME=URL",
		"--payment-providers=Bank=https://b/{order}":                                                   "must be a list of NAME=URL",
		"--payment-providers=b=https://b/pay --payment-secrets=b=" + oneSecret:                         "and holds {order}",
		"--payment-providers=b=ftp://b/{order} --payment-secrets=b=" + oneSecret:                       "begins with https://",
		"--payment-providers=b=https://b/{order},b=https://c/{order} --payment-secrets=b=" + oneSecret: "names b twice",
		"--payment-providers=b=https://b/{order}":                                                      "must hold a secret of b",
		"--payment-providers=b=https://b/{order} --payment-secrets=b=geheim":                           "at least 16 bytes",
		"--payment-secrets=b=" + oneSecret:                                                             "each for a provider",
		"--payment-providers=b=https://b/{order} --payment-secrets=" + oneSecret:                       "each for a provider",
	} {
		clean(t)
		_, err := Load(strings.Fields(args))
		var invalid *InvalidError
		if !errors.As(err, &invalid) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "geheim") {
			t.Errorf("%s: got %v, want that it says %q and no secret", args, err, want)
		}
	}
}
