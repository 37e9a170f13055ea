package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"seckill/api"
	"seckill/infra/load"
)

// openWithin bounds the wait for a sale that was made to sell.
const openWithin = 30 * time.Second

// SaleError says why a sale cannot be rehearsed with.
type SaleError struct{ Sale, Why string }

// Error says it in a sentence.
func (e *SaleError) Error() string {
	return fmt.Sprintf("sale %s cannot be rehearsed with: %s", e.Sale, e.Why)
}

// open finds or makes the sale.
func (p *play) open(ctx context.Context) error {
	if p.Sale != "" {
		return p.given(ctx)
	}
	s := p.Scenario
	stock := s.stock(len(p.visitors.Tokens))
	if s.Name != Refusals {
		stock++ // for the buyer who tries the door
	}
	p.primed = 1
	if s.Name == Refusals {
		p.primed = int(stock)
	}
	life := p.arrivals[len(p.arrivals)-1] + p.Patience + time.Hour
	sale, err := p.Operator.MakeSale(ctx, SaleWish{Stock: stock, SKUs: s.SKUs, Strategy: p.Strategy, Buckets: p.Buckets, Life: life})
	if err != nil {
		return err
	}
	p.sale, p.ours = sale.ID, true
	p.Scenario.Stock = stock
	p.skusOf(sale)
	p.Say("Rehearsal sale %s is made.", p.sale)
	return nil
}

func (p *play) skusOf(sale api.AdminSaleView) {
	for _, item := range sale.Items {
		p.skus = append(p.skus, item.SKU)
	}
}

// given looks at a sale that somebody else made.
func (p *play) given(ctx context.Context) error {
	p.sale, p.primed = p.Sale, 1
	if p.Operator.Token != "" {
		sale, err := p.Operator.ShowSale(ctx, p.sale)
		if err != nil {
			return err
		}
		if !IsRehearsal(sale) && !p.Unchecked {
			return &SaleError{p.sale, "it is for real buyers, as its eligible_tiers are not rehearsal alone, and a crowd would take real units (--unchecked does it all the same)"}
		}
	} else if !p.Unchecked {
		return &SaleError{p.sale, "without an operator's token it cannot be seen whether real buyers may buy there (--unchecked does it all the same)"}
	}
	seen, err := p.public().PublicSale(ctx, p.sale)
	if err != nil {
		return err
	}
	if !sellable(seen.State) {
		return &SaleError{p.sale, "it is not open, but " + seen.State}
	}
	for _, item := range seen.Items {
		if p.SKU == "" || item.SKU == p.SKU {
			p.skus = []string{item.SKU}
			return nil
		}
	}
	return &SaleError{p.sale, "it does not sell " + p.SKU}
}

// prime buys until the sale is what the scenario wants: tried once, or of a sale of
// refusals sold out. What it cannot buy for being busy it tries again.
func (p *play) prime(ctx context.Context) error {
	within, cancel := context.WithTimeout(ctx, openWithin)
	defer cancel()
	for bought := 0; bought < p.primed; {
		heard, err := p.buyers(within, p.spare[bought:p.primed])
		if err != nil {
			return err
		}
		for _, n := range heard {
			bought += n
		}
		if bought >= p.primed {
			return nil
		}
		if _, over := heard["sold_out"]; over || heard[load.Repeated] > 0 {
			return nil
		}
		if !sleep(within, 100*time.Millisecond) {
			return errors.Join(ctx.Err(), fmt.Errorf("%w: %v", errNotOpen, heard))
		}
	}
	return nil
}

// buyers lets so many buyers buy one unit, and gives what they were told; refusals
// count as none.
func (p *play) buyers(ctx context.Context, tokens []string) (map[string]int, error) {
	a, err := p.attack()
	if err != nil {
		return nil, err
	}
	a.Conns = 8
	crowd := load.NewCrowd(p.visitors.Host, p.sale, p.skus[0], tokens)
	crowd.Tries = 1
	a.Arrivals, a.Build, a.Judge = make([]time.Duration, len(tokens)), crowd.Build, crowd.Judge
	run, err := load.Start(ctx, a, time.Now())
	if err != nil {
		return nil, err
	}
	m := run.Wait()
	told := map[string]int{}
	for outcome, n := range m.Outcomes {
		told[outcome] = n
		if outcome != load.Accepted && outcome != load.Repeated {
			told[outcome] = 0
		}
	}
	if told[load.Accepted]+told[load.Repeated] == 0 && (m.Outcomes["unauthenticated"] > 0 || m.Outcomes["not_eligible"] > 0) {
		return nil, fmt.Errorf("the buyers' tokens are not taken there (%v): they must be signed by its secret, with the tier rehearsal in a rehearsal sale", m.Outcomes)
	}
	return told, nil
}
