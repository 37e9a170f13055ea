package cli

import (
	"fmt"
	"time"

	"seckill/api"
	"seckill/infra/config"
	"seckill/infra/embedded"
)

type tokenCmd struct {
	Buyer string        `required:"" placeholder:"ID" help:"Who the token is for."`
	Role  string        `complete:"admin" placeholder:"ROLE" help:"admin, or left out for a buyer."`
	Tier  string        `placeholder:"TIER" help:"The buyer's tier."`
	TTL   time.Duration `default:"24h" help:"How long it is valid."`
	JSON  bool          `name:"json" help:"Print JSON."`
}

// Run prints a token.
func (t *tokenCmd) Run(c console) error {
	if t.Role != "" && t.Role != api.RoleAdmin {
		return usage("there is no role %q: --role must be admin, or left out for a buyer", t.Role)
	}
	secret, err := signingSecret(c.settings)
	if err != nil {
		return err
	}
	token, err := api.SignToken(secret, t.Buyer, t.Role, t.Tier, t.TTL)
	if err != nil {
		return &usageError{err}
	}
	if t.JSON {
		return c.json(map[string]any{"token": token, "buyer": t.Buyer, "expires_at": time.Now().Add(t.TTL).UTC().Format(time.RFC3339)})
	}
	_, err = fmt.Fprintln(c.out, token)
	return err
}

// signingSecret gives the secret that tokens are signed with here.
func signingSecret(s config.Settings) ([]byte, error) {
	switch {
	case s.JWTSecret != "" && len(s.JWTSecret) < api.MinSecret:
		return nil, usage("SECKILL_JWT_SECRET has %d bytes, which could be guessed: give it at least %d", len(s.JWTSecret), api.MinSecret)
	case s.JWTSecret != "":
		return []byte(string(s.JWTSecret)), nil
	case s.JWKSURL != "":
		return nil, usage("tokens are signed by the issuer whose keys are at the JWKS URL, not here: set SECKILL_JWT_SECRET in its place to sign them yourself")
	}
	secret, err := embedded.Secret(s.DataDir)
	if err != nil {
		return nil, err
	}
	return []byte(secret), nil
}
