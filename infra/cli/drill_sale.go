package cli

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"time"

	"seckill/api"
	"seckill/domain"
)

// The one thing that a rehearsal sells.
const (
	drillTitle = "Rehearsal, nothing is sold · 演练，非真实活动"
	drillSKU   = "rehearsal"
	drillStock = 1_000_000
	drillLimit = 2
)

// prepare makes sure that a drill can tell something and harms nobody, and gives the
// sale that it is played at.
func (r *rehearsal) prepare(ctx context.Context, sale string) (goods, error) {
	for _, node := range r.Nodes {
		if err := r.reach(ctx, node); err != nil {
			return goods{}, &told{fmt.Sprintf("The node at %s cannot be reached: is it running, and is the address right?", node), err}
		}
	}
	var given *api.AdminSaleView
	if sale != "" {
		given = new(api.AdminSaleView)
		if err := r.ask(ctx, http.MethodGet, "/api/v1/admin/sales/"+url.PathEscape(sale), nil, given); err != nil {
			return goods{}, err
		}
		if why := noRehearsal(given); why != "" {
			return goods{}, usage("sale %s cannot be rehearsed with: %s. Leave --sale out, and the drill makes one", sale, why)
		}
	}
	if err := r.noneOn(ctx, sale); err != nil {
		return goods{}, err
	}
	if given == nil {
		return r.makeSale(ctx)
	}
	return goods{sale: given.ID, sku: given.Items[0].SKU, limit: given.LimitPerBuyer}, nil
}

// reach tells whether something answers at a node's address.
func (r *rehearsal) reach(ctx context.Context, node string) error {
	client := http.Client{Timeout: askWithin}
	ask, err := http.NewRequestWithContext(ctx, http.MethodGet, node+"/healthz", nil)
	if err != nil {
		return err
	}
	answer, err := client.Do(ask)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }() // it was read as far as it is wanted
	_, err = io.Copy(io.Discard, io.LimitReader(answer.Body, maxAnswer))
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("/healthz answers %d", answer.StatusCode)
	}
	return err
}

// noRehearsal says why a sale is not for rehearsals; "" when it is.
func noRehearsal(s *api.AdminSaleView) string {
	switch {
	case !slices.Equal(s.EligibleTiers, []string{rehearsalTier}):
		return "it is for real buyers, as its eligible_tiers are not " + rehearsalTier + " alone, and a drill stops it and closes it"
	case s.Members != nil || s.RequireTicket:
		return "buyers need a ticket or a place on a list there"
	case s.OrdersPerBuyer != 1:
		return "its orders_per_buyer is not 1"
	case s.LimitPerBuyer >= domain.MaxQuantity:
		return "its limit_per_buyer cannot be passed"
	case s.State != string(domain.SaleStateOpen):
		return "it is not open, but " + s.State
	}
	return ""
}

// noneOn refuses while a switch is on that would be rehearsed, or that hides others:
// a drill must not turn off what somebody needs.
func (r *rehearsal) noneOn(ctx context.Context, sale string) error {
	var list api.SwitchList
	if err := r.ask(ctx, http.MethodGet, "/api/v1/admin/switches", nil, &list); err != nil {
		return err
	}
	for _, s := range list.Switches {
		ours := s.Sale == "" && (r.Global || domain.SwitchName(s.Name).OfSales()) || sale != "" && s.Sale == sale
		if s.On && ours {
			t := turn{domain.SwitchName(s.Name), s.Sale}
			return &told{fmt.Sprintf("%s is on (%s: %s): nothing can be rehearsed until it is off.", t, s.By, s.Reason), errNotNormal}
		}
	}
	return nil
}

// makeSale makes a rehearsal sale, which is open at once and ends by itself. Once
// begun it is made, so that it can be closed.
func (r *rehearsal) makeSale(ctx context.Context) (goods, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), normalWithin)
	defer cancel()
	now := time.Now()
	body := api.SaleBody{
		Title: drillTitle, OpensAt: now.Format(time.RFC3339Nano), ClosesAt: now.Add(drillSaleLife).Format(time.RFC3339Nano),
		LimitPerBuyer: drillLimit, EligibleTiers: []string{rehearsalTier},
		Items: []api.ItemBody{{SKU: drillSKU, Title: drillTitle, Price: "0.01", Currency: "CNY", Stock: drillStock}},
	}
	var sale api.AdminSaleView
	if err := r.ask(ctx, http.MethodPost, "/api/v1/admin/sales", body, &sale); err != nil {
		return goods{}, fmt.Errorf("make a rehearsal sale: %w", err)
	}
	r.Say("Rehearsal sale %s is made.", sale.ID)
	return goods{sale: sale.ID, sku: drillSKU, limit: drillLimit}, nil
}

// closeSale ends the sale for good, also after ctx has ended.
func (r *rehearsal) closeSale(ctx context.Context, sale string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), takeBackTime)
	defer cancel()
	for {
		var closed api.AdminSaleView
		err := r.ask(ctx, http.MethodPost, "/api/v1/admin/sales/"+url.PathEscape(sale)+"/close", api.NoteBody{Note: r.reason}, &closed)
		if err == nil {
			return nil
		}
		pauseFor(ctx, takeBackPause)
		if ctx.Err() != nil {
			return fmt.Errorf("close rehearsal sale %s: %w", sale, err)
		}
	}
}
