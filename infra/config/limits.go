package config

// MaxBuyerLimit is the highest limit per buyer and second.
const MaxBuyerLimit = 100

// limits checks the limits per second.
func (p *problems) limits(s Settings) {
	for name, n := range map[string]Count{"SECKILL_LIMIT_PURCHASES": s.LimitPurchases, "SECKILL_LIMIT_POLLS": s.LimitPolls} {
		p.check(n >= 0 && n <= MaxBuyerLimit, "%s must be a number from 1 to %d, or 0 for no limit, but it is %d.", name, MaxBuyerLimit, n)
	}
	p.check(s.LimitEndpoint >= 0 && s.LimitEndpoint <= 10_000_000, "SECKILL_LIMIT_ENDPOINT must be a number from 1 to 10000000, or 0 for no limit, but it is %d.", s.LimitEndpoint)
}
