package cli

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"

	"seckill/infra/config"
	"seckill/infra/embedded"
	"seckill/infra/payments"
)

// The provider that there is where none is configured: the simulator, which
// `seckill simulator` serves at this address unless told otherwise.
const (
	simulatorName = "simulator"
	simulatorAddr = "127.0.0.1:8099"
	simulatorPage = "/pay?order={order}&amount={amount}&currency={currency}"
)

// withProviders gives the settings with the payment providers that hold: those
// configured, else on a private database the simulator, with the random secret of
// the data folder. Elsewhere none means none: orders are paid by operators alone.
func withProviders(s config.Settings) (config.Settings, error) {
	if len(s.PaymentProviders) > 0 || !s.NeedsPrivatePostgres() {
		return s, nil
	}
	secret, err := embedded.PaymentSecret(s.DataDir)
	if err != nil {
		return s, err
	}
	return s.WithPayment(simulatorName, "http://"+simulatorAddr+simulatorPage, config.Secret(secret)), nil
}

// providers gives the payment providers of the settings.
func providers(s config.Settings) (payments.Book, error) {
	s, err := withProviders(s)
	if err != nil {
		return nil, err
	}
	var all []payments.Provider
	for _, p := range s.Payments() {
		provider := payments.Provider{Name: p.Name, Page: p.Page}
		for _, secret := range p.Secrets {
			provider.Secrets = append(provider.Secrets, []byte(string(secret)))
		}
		all = append(all, provider)
	}
	return payments.NewBook(all...), nil
}

// freshSecret is a random secret for messages of this process alone.
func freshSecret() (config.Secret, error) {
	var b [32]byte
	if _, err := rand.Read(b[:]); err != nil {
		return "", fmt.Errorf("make a secret for payments: %w", err)
	}
	return config.Secret(hex.EncodeToString(b[:])), nil
}

// webhookOf is where the messages of a provider go.
func webhookOf(address, provider string) string {
	return address + "/webhooks/payments/" + provider
}
