package payments_test

import (
	"testing"

	"seckill/domain"
	"seckill/infra/payments"
)

func TestAnOrderIsPaidAtEveryProvidersOwnPage(t *testing.T) {
	book := payments.NewBook(
		payments.Provider{Name: "a", Page: "https://a.test/pay/{order}"},
		payments.Provider{Name: "b", Page: "https://b.test/?o={order}&a={amount}&c={currency}&again={order}"},
	)
	got := book.Pages("o1", domain.Money{Minor: 1990, Currency: "CNY"})
	for name, want := range map[string]string{"a": "https://a.test/pay/o1", "b": "https://b.test/?o=o1&a=19.90&c=CNY&again=o1"} {
		if got[name] != want {
			t.Errorf("%s: got %q, want %q", name, got[name], want)
		}
	}
	if len(got) != 2 {
		t.Errorf("got %v, want two pages", got)
	}
}

func TestAMessageIsCheckedWithItsProvidersSecretsAlone(t *testing.T) {
	book := payments.NewBook(payments.Provider{Name: "a", Secrets: [][]byte{other, secret}}, payments.Provider{Name: "b", Secrets: [][]byte{other}})
	signed := payments.Sign(secret, now, body)
	if err := book.Verify("a", signed, body, now); err != nil {
		t.Errorf("its own: %v", err)
	}
	for _, name := range []string{"b", "nobody"} {
		if err := book.Verify(name, signed, body, now); err == nil {
			t.Errorf("a message that a signed passes as one of %s", name)
		}
	}
	if !book.Knows("a") || book.Knows("nobody") {
		t.Error("the book does not know who is in it")
	}
}
