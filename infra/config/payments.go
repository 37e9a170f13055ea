package config

import (
	"regexp"
	"slices"
	"strings"
)

// PaymentProvider is a payment provider as it is configured: where orders are
// paid, and what its messages may be signed with.
type PaymentProvider struct {
	Name    string
	Page    string
	Secrets []Secret
}

// minPaymentSecret is how many bytes a secret has at least: less could be guessed.
const minPaymentSecret = 16

var providerForm = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,30}$`)

// Payments lists the configured payment providers by name, none where none are.
func (s Settings) Payments() []PaymentProvider {
	var all []PaymentProvider
	secrets := pairs(strings.Split(string(s.PaymentSecrets), ","))
	for _, p := range pairs(s.PaymentProviders) {
		provider := PaymentProvider{Name: p.name, Page: p.value}
		for _, secret := range secrets {
			if secret.name == p.name {
				provider.Secrets = append(provider.Secrets, Secret(secret.value))
			}
		}
		all = append(all, provider)
	}
	return all
}

// WithPayment gives the settings with one more provider, in the place of any of
// its name.
func (s Settings) WithPayment(name, page string, secret Secret) Settings {
	others := func(list []string) []string {
		return slices.DeleteFunc(slices.Clone(list), func(item string) bool {
			return item == "" || strings.HasPrefix(item, name+"=")
		})
	}
	s.PaymentProviders = append(others(s.PaymentProviders), name+"="+page)
	s.PaymentSecrets = Secret(strings.Join(append(others(strings.Split(string(s.PaymentSecrets), ",")), name+"="+string(secret)), ","))
	return s
}

type pair struct{ name, value string }

// pairs reads a list of NAME=value; what is none has no name.
func pairs(list []string) []pair {
	var all []pair
	for _, item := range list {
		if item = strings.TrimSpace(item); item == "" {
			continue
		}
		name, value, ok := strings.Cut(item, "=")
		if !ok {
			name, value = "", item
		}
		all = append(all, pair{strings.TrimSpace(name), strings.TrimSpace(value)})
	}
	return all
}

// payments checks providers and secrets against each other; no secret, nor what
// could hold one, is repeated.
func (p *problems) payments(s Settings) {
	known := map[string]bool{}
	for _, provider := range pairs(s.PaymentProviders) {
		named := providerForm.MatchString(provider.name)
		p.check(named, "SECKILL_PAYMENT_PROVIDERS must be a list of NAME=URL, where a name begins with a small letter and has at most 31 small letters, digits, '_' and '-'.")
		if !named {
			continue
		}
		p.check(!known[provider.name], "SECKILL_PAYMENT_PROVIDERS names %s twice.", provider.name)
		p.check(hasScheme(strings.NewReplacer("{", "", "}", "").Replace(provider.value), "https", "http") && strings.Contains(provider.value, "{order}"),
			"SECKILL_PAYMENT_PROVIDERS must give %s an address that begins with https:// or http:// and holds {order}.", provider.name)
		known[provider.name] = true
	}
	signed, strange := map[string]bool{}, false
	for _, secret := range pairs(strings.Split(string(s.PaymentSecrets), ",")) {
		if !known[secret.name] {
			strange = true
			continue
		}
		p.check(len(secret.value) >= minPaymentSecret, "SECKILL_PAYMENT_SECRETS holds a secret of %s that could be guessed: give it at least %d bytes.", secret.name, minPaymentSecret)
		signed[secret.name] = true
	}
	p.check(!strange, "SECKILL_PAYMENT_SECRETS must be a list of NAME=secret, each for a provider that SECKILL_PAYMENT_PROVIDERS names; a secret holds no comma.")
	for _, provider := range pairs(s.PaymentProviders) {
		p.check(!known[provider.name] || signed[provider.name], "SECKILL_PAYMENT_SECRETS must hold a secret of %s, or nobody could tell that an order was paid there.", provider.name)
	}
}
