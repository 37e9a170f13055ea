package commands

import (
	"context"
	"fmt"

	"seckill/domain"
)

// Strength says which acknowledgements the server of a gate does not give, each with
// a sentence that says what to change there. What is not named it gives.
type Strength map[domain.Acknowledgement]string

// Strengths tells how surely the server of a gate keeps what it accepted. It is read
// from the server's own settings. Implementations: infra/redisgate, infra/memgate.
type Strengths interface {
	Strength(ctx context.Context, place domain.Place) (Strength, error)
}

// short gives what keeps the gate from the acknowledgement that a sale asks for, as a
// sentence, or "" where it gives it.
func short(ctx context.Context, gate Strengths, store uint8, sale domain.Sale) (string, error) {
	asked := sale.Terms.Acknowledged()
	if asked == domain.AcknowledgeMemory || sale.Terms.Strategy == domain.StrategyPostgres {
		return "", nil
	}
	if gate == nil {
		return "This process cannot tell what the gate's server gives.", nil
	}
	var seen [domain.Lanes]bool
	for _, place := range Places(store, sale) {
		if seen[place.Lane()] {
			continue
		}
		seen[place.Lane()] = true
		given, err := gate.Strength(ctx, place)
		if err != nil {
			return "", fmt.Errorf("ask what the gate's server gives: %w", err)
		}
		if why := given[asked]; why != "" {
			return why, nil
		}
	}
	return "", nil
}

// untilStrong gives what a new sale begins with whose gate does not give what it asks
// for, or cannot be asked: a pause that ends by itself once it does.
func (o *Operator) untilStrong(ctx context.Context, scheduled *domain.SaleScheduled) []domain.Event {
	sale := domain.Sale{}.FoldSale(scheduled)
	why, err := short(ctx, o.Strengths, o.Env.Store, sale)
	if err != nil {
		o.Env.Log.Warn("sale stored; it opens once its gate tells what it gives", "sale_id", sale.ID, "error", err)
		why = "The gate's server could not be asked what it gives."
	}
	if why == "" {
		return nil
	}
	return []domain.Event{sale.Pause(domain.PausedByAcknowledgement, why, strengthActor)}
}

// tooWeak tells why other terms cannot be had: they ask for another acknowledgement
// than before, which the gate's server does not give.
func (o *Operator) tooWeak(ctx context.Context, sale domain.Sale, terms domain.SaleTerms) ([]domain.FieldError, error) {
	if terms.Acknowledged() == sale.Terms.Acknowledged() {
		return nil, nil
	}
	sale.Terms = terms
	why, err := short(ctx, o.Strengths, o.Env.Store, sale)
	if err != nil || why == "" {
		return nil, err
	}
	return []domain.FieldError{{Field: "acknowledgement", Reason: "is not given. " + why}}, nil
}

// settle decides whether a sale may open that asks for more than memory.
func (p *Preheats) settle(ctx context.Context, id string) error {
	sale, err := p.Sales.Fold(ctx, id)
	if err != nil || sale.Over(p.Env.Now()) {
		return err
	}
	_, err = settleStrength(ctx, p.Operator, p.Operator.Strengths, sale)
	return err
}

// strength compares what a sale asks of the gate's server with what it gives.
func (p *Preheats) strength(ctx context.Context, sale domain.Sale, report *PreheatReport) error {
	asked := sale.Terms.Acknowledged()
	if asked == domain.AcknowledgeMemory || sale.Terms.Strategy == domain.StrategyPostgres {
		return nil
	}
	why, err := short(ctx, p.Operator.Strengths, p.Env.Store, sale)
	if err != nil {
		return err
	}
	given := string(asked)
	if why != "" {
		given = why
	}
	report.compare("server:"+sale.ID+"/acknowledgement", string(asked), given)
	return nil
}
