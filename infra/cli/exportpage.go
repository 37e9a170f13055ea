package cli

import (
	"context"
	"net/http"
	"net/url"

	"seckill/api"
	buyerpage "seckill/api/pages"
)

type exportPageCmd struct {
	Sale string `required:"" placeholder:"ID" help:"The sale's id."`
	Out  string `required:"" type:"path" placeholder:"DIR" help:"Folder of the bundle; made where it is missing. Other sales and versions in it stay."`
	JSON bool   `name:"json" help:"Print JSON."`
}

// exported is what a bundle consists of.
type exported struct {
	Sale    string   `json:"sale_id"`
	Version int64    `json:"version"`
	Dir     string   `json:"dir"`
	Files   []string `json:"files"`
}

// Run writes the buyer page of a sale for a CDN.
func (e *exportPageCmd) Run(c console) error {
	return c.withAPI(func(ctx context.Context, in inside) error {
		var sale api.SaleView
		if err := in.ask(ctx, http.MethodGet, "/api/v1/sales/"+url.PathEscape(e.Sale), nil, &sale); err != nil {
			return err
		}
		book, err := buyerpage.New()
		if err != nil {
			return err
		}
		files, err := book.Export(e.Out, api.PageOf(&sale))
		if err != nil {
			return err
		}
		if e.JSON {
			return c.json(exported{Sale: sale.ID, Version: sale.Version, Dir: e.Out, Files: files})
		}
		c.say("Wrote the page of sale %s, version %d, as %d files in %s. The same host has to pass /api/ on to this service.", sale.ID, sale.Version, len(files), e.Out)
		return nil
	})
}
