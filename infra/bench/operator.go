package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"seckill/api"
	"seckill/commands"
	"seckill/domain"
)

// Operator asks an installation over HTTP as one of its operators, or with an empty
// token what everybody may.
type Operator struct {
	// URL is scheme and host, without a slash at the end.
	URL    string
	Token  string
	Client *http.Client
}

// RefusedError is a problem document as an error for people.
type RefusedError struct {
	Status  int
	Problem api.Problem
}

// Error gives the status and the sentence of the document.
func (e *RefusedError) Error() string {
	text := fmt.Sprintf("status %d: %s", e.Status, e.Problem.Detail)
	for _, f := range e.Problem.Errors {
		text += fmt.Sprintf(" %s: %s.", f.Field, f.Reason)
	}
	return text
}

// code gives the code of a refusal, "" for any other error.
func code(err error) domain.Code {
	var refused *RefusedError
	if errors.As(err, &refused) {
		return domain.Code(refused.Problem.Code)
	}
	return ""
}

// mostAnswer bounds what is read of an answer: a reconciliation may find much.
const mostAnswer = 64 << 20

// ask makes one call and reads its answer into to.
func (o Operator) ask(ctx context.Context, method, path string, body, to any) error {
	var sent bytes.Buffer
	if body != nil {
		if err := json.NewEncoder(&sent).Encode(body); err != nil {
			return fmt.Errorf("encode the request: %w", err)
		}
	}
	r, err := http.NewRequestWithContext(ctx, method, o.URL+path, &sent)
	if err != nil {
		return fmt.Errorf("make the request: %w", err)
	}
	if o.Token != "" {
		r.Header.Set("Authorization", "Bearer "+o.Token)
	}
	r.Header.Set("Content-Type", "application/json")
	answer, err := o.Client.Do(r)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }() // it was read as far as it is wanted
	raw, err := io.ReadAll(io.LimitReader(answer.Body, mostAnswer))
	if err != nil {
		return err
	}
	if answer.StatusCode >= http.StatusBadRequest {
		refused := &RefusedError{Status: answer.StatusCode}
		if json.Unmarshal(raw, &refused.Problem) != nil || refused.Problem.Detail == "" {
			refused.Problem.Detail = "it is no answer of seckill"
		}
		return refused
	}
	if err := json.Unmarshal(raw, to); err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	return nil
}

// Reach tells whether seckill answers at the address.
func (o Operator) Reach(ctx context.Context) error {
	var health map[string]any
	return o.ask(ctx, http.MethodGet, "/healthz", nil, &health)
}

// SaleWish is what a rehearsal sale is made with.
type SaleWish struct {
	Stock    int64
	SKUs     int
	Strategy string
	Buckets  int
	Life     time.Duration
}

// What a rehearsal sells.
const (
	saleTitle = "Rehearsal, nothing is sold · 演练，非真实活动"
	skuPrefix = "rehearsal-"
	// Price and Currency of one unit.
	Price    = "0.01"
	Currency = "CNY"
)

// MakeSale makes a sale that is open at once, for buyers of the rehearsal tier alone,
// and gives it as operators see it.
func (o Operator) MakeSale(ctx context.Context, w SaleWish) (api.AdminSaleView, error) {
	now := time.Now()
	body := api.SaleBody{
		Title: saleTitle, OpensAt: now.Format(time.RFC3339Nano), ClosesAt: now.Add(w.Life).Format(time.RFC3339Nano),
		Strategy: w.Strategy, Buckets: w.Buckets, EligibleTiers: []string{domain.RehearsalTier},
	}
	for i := range w.SKUs {
		sku := fmt.Sprintf("%s%d", skuPrefix, i+1)
		body.Items = append(body.Items, api.ItemBody{SKU: sku, Title: saleTitle, Price: Price, Currency: Currency, Stock: w.Stock})
	}
	var sale api.AdminSaleView
	if err := o.ask(ctx, http.MethodPost, "/api/v1/admin/sales", body, &sale); err != nil {
		return sale, fmt.Errorf("make a rehearsal sale: %w", err)
	}
	return sale, nil
}

// ShowSale gives a sale as operators see it.
func (o Operator) ShowSale(ctx context.Context, sale string) (api.AdminSaleView, error) {
	var view api.AdminSaleView
	err := o.ask(ctx, http.MethodGet, "/api/v1/admin/sales/"+url.PathEscape(sale), nil, &view)
	return view, err
}

// PublicSale gives a sale as buyers see it.
func (o Operator) PublicSale(ctx context.Context, sale string) (api.SaleView, error) {
	var view api.SaleView
	err := o.ask(ctx, http.MethodGet, "/api/v1/sales/"+url.PathEscape(sale), nil, &view)
	return view, err
}

// IsRehearsal tells whether nobody real can buy in a sale.
func IsRehearsal(sale api.AdminSaleView) bool {
	return slices.Equal(sale.EligibleTiers, []string{domain.RehearsalTier})
}

// Stacks tells what the goroutines of the node wait for.
func (o Operator) Stacks(ctx context.Context) (api.StacksView, error) {
	var view api.StacksView
	err := o.ask(ctx, http.MethodGet, "/api/v1/admin/stacks", nil, &view)
	return view, err
}

// Close ends a sale for good.
func (o Operator) Close(ctx context.Context, sale, note string) error {
	var view api.AdminSaleView
	return o.ask(ctx, http.MethodPost, "/api/v1/admin/sales/"+url.PathEscape(sale)+"/close", api.NoteBody{Note: note}, &view)
}

// Reconcile compares the books of a sale; while they cannot be compared it asks again.
func (o Operator) Reconcile(ctx context.Context, sale string) (commands.SaleReport, error) {
	for {
		var report commands.ReconcileReport
		err := o.ask(ctx, http.MethodPost, "/api/v1/admin/sales/"+url.PathEscape(sale)+"/reconciliation", map[string]bool{"repair": false}, &report)
		switch {
		case err == nil && len(report.Sales) == 1:
			return report.Sales[0], nil
		case err == nil:
			return commands.SaleReport{}, errors.New("the books of the sale were not compared")
		case code(err) != domain.CodeNotReady || !sleep(ctx, time.Second):
			return commands.SaleReport{}, err
		}
	}
}

// sleep waits; false: ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// loopback tells whether a URL is of this machine.
func loopback(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	host := u.Hostname()
	return host == "localhost" || host == "::1" || strings.HasPrefix(host, "127.")
}
