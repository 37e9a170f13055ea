package payments

import (
	"net/url"
	"strings"
	"time"

	"seckill/domain"
)

// Provider is one that takes money for us.
type Provider struct {
	Name string
	// Page is where an order is paid, with {order}, {amount} and {currency} for
	// what they name.
	Page string
	// Secrets are what its messages may be signed with, any of them.
	Secrets [][]byte
}

// Book knows the configured providers, by name. The zero value knows none.
type Book map[string]Provider

// NewBook lists providers. Of two with one name the later one counts.
func NewBook(providers ...Provider) Book {
	b := Book{}
	for _, p := range providers {
		b[p.Name] = p
	}
	return b
}

// Knows tells whether there is a provider of that name.
func (b Book) Knows(provider string) bool {
	_, ok := b[provider]
	return ok
}

// Verify gives nil if a message is that provider's: see Verify.
func (b Book) Verify(provider, signature string, body []byte, now time.Time) error {
	return Verify(signature, body, now, b[provider].Secrets...)
}

// Pages gives, by the name of the provider, where an order can be paid.
func (b Book) Pages(order string, amount domain.Money) map[string]string {
	fill := strings.NewReplacer("{order}", url.QueryEscape(order), "{amount}", amount.Amount(), "{currency}", url.QueryEscape(amount.Currency))
	pages := make(map[string]string, len(b))
	for name, p := range b {
		pages[name] = fill.Replace(p.Page)
	}
	return pages
}
