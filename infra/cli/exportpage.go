package cli

import "context"

type exportPageCmd struct {
	Sale string `required:"" placeholder:"ID" help:"The sale's id."`
	Out  string `required:"" type:"path" placeholder:"DIR" help:"Folder of the bundle; made where it is missing. Other sales and versions in it stay."`
	JSON bool   `name:"json" help:"Print JSON."`
}

// exported is what a bundle consists of.
type exported struct {
	Sale    string   `json:"sale_id"`
	Version string   `json:"version"`
	Dir     string   `json:"dir"`
	Files   []string `json:"files"`
}

// Run writes the buyer page of a sale for a CDN.
func (e *exportPageCmd) Run(c console) error {
	return c.withAPI(func(ctx context.Context, in inside) error {
		version, files, err := in.server.ExportPage(ctx, e.Sale, e.Out)
		if err != nil {
			return err
		}
		if e.JSON {
			return c.json(exported{Sale: e.Sale, Version: version, Dir: e.Out, Files: files})
		}
		c.say("Wrote the page of sale %s, version %s, as %d files in %s. The same host has to pass /api/ on to this service.", e.Sale, version, len(files), e.Out)
		return nil
	})
}
