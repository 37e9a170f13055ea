package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"seckill/api"
)

type saleReviseCmd struct {
	Sale     string            `arg:"" help:"The sale's id."`
	Version  int64             `placeholder:"N" help:"Its version that you saw. Default: whatever stands now."`
	File     string            `placeholder:"FILE" help:"The changes as the admin API takes them, in JSON (- reads stdin). Then no other flag is needed."`
	Title    *string           `placeholder:"TEXT" help:"Title of the sale."`
	OpensAt  *string           `placeholder:"TIME" help:"When it opens, RFC 3339 with a zone."`
	ClosesAt *string           `placeholder:"TIME" help:"When it closes. A time that is over, alone, ends it."`
	Limit    *int64            `placeholder:"N" help:"Units a buyer may hold."`
	Price    map[string]string `placeholder:"SKU=AMOUNT" help:"Price of a unit of an item."`
	JSON     bool              `name:"json" help:"Print JSON."`
}

// Validate refuses two ways to say the same, and nothing to say.
func (s *saleReviseCmd) Validate() error {
	flags := s.Title != nil || s.OpensAt != nil || s.ClosesAt != nil || s.Limit != nil || len(s.Price) > 0
	if flags == (s.File != "") {
		return errors.New("say what changes: by flags, or in a --file")
	}
	return nil
}

// Run changes what a sale says.
func (s *saleReviseCmd) Run(c console) error {
	return c.withAPI(func(ctx context.Context, in inside) error {
		if err := in.checkLog(ctx); err != nil {
			return err
		}
		path := "/api/v1/admin/sales/" + url.PathEscape(s.Sale)
		var sale api.AdminSaleView
		if err := in.ask(ctx, http.MethodGet, path, nil, &sale); err != nil {
			return err
		}
		body, err := s.body(sale)
		if err != nil {
			return err
		}
		if err := in.ask(ctx, http.MethodPut, path, body, &sale); err != nil {
			return wrongSale(err)
		}
		return c.printSale(sale, s.JSON)
	})
}

// body is what the API is asked for, of a sale as it stands.
func (s *saleReviseCmd) body(sale api.AdminSaleView) (any, error) {
	version := s.Version
	if version == 0 {
		version = sale.Version
	}
	if s.File != "" {
		raw, err := readJSON(s.File)
		if err != nil {
			return nil, err
		}
		var body map[string]any
		if err := json.Unmarshal(raw, &body); err != nil {
			return nil, usage("%s is no JSON object", s.File)
		}
		if _, named := body["version"]; !named || s.Version != 0 {
			body["version"] = version
		}
		return body, nil
	}
	body := api.RevisionBody{Version: version, Title: s.Title, OpensAt: s.OpensAt, ClosesAt: s.ClosesAt, LimitPerBuyer: s.Limit}
	if len(s.Price) == 0 {
		return body, nil
	}
	prices := map[string]string{}
	for sku, price := range s.Price {
		prices[sku] = price
	}
	for _, item := range sale.Items {
		asked := api.ItemRevisionBody{SKU: item.SKU}
		if price, ok := prices[item.SKU]; ok {
			asked.Price = &price
			delete(prices, item.SKU)
		}
		body.Items = append(body.Items, asked)
	}
	for sku := range prices {
		return nil, usage("%s", fmt.Sprintf("the sale has no item %q", sku))
	}
	return body, nil
}
