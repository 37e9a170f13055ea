package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"

	"seckill/infra/config"
)

// drillCmds are what can be rehearsed; the switches where nothing is named.
type drillCmds struct {
	Switches drillCmd       `cmd:"" default:"withargs" help:"Rehearse the switches at a sale of their own, against nodes that serve, and take them back. This is what drill alone does."`
	Stores   drillStoresCmd `cmd:"" help:"Break Redis, PostgreSQL and Kafka of an installation of its own under a load, one after the other, and grade what buyers saw and what was lost."`
}

type drillCmd struct {
	URLs   []string `name:"url" placeholder:"URL" help:"A node that answers buyers; once for each. Default: the one at --http-addr on this machine."`
	Sale   string   `placeholder:"ID" help:"An open rehearsal sale, whose eligible_tiers are rehearsal alone. Default: one is made."`
	Global bool     `help:"Turn the switches everywhere too: real buyers are stopped, and let in, for some seconds. pause_noncore is rehearsed only so."`
	Rate   int      `default:"20" placeholder:"N" help:"Purchases a second of each of three kinds at each node. Default: ${default}."`
	JSON   bool     `name:"json" help:"Print JSON."`
}

// maxDrillRate bounds what a drill asks for: it is a light load.
const maxDrillRate = 500

// Validate refuses what cannot be asked.
func (d *drillCmd) Validate() error {
	if d.Rate < 1 || d.Rate > maxDrillRate {
		return fmt.Errorf("--rate must be 1 to %d", maxDrillRate)
	}
	for _, text := range d.URLs {
		if u, err := url.Parse(text); err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
			return fmt.Errorf("--url must be the address of a node such as http://127.0.0.1:8080, but one is %q", text)
		}
	}
	return nil
}

// nodes gives the addresses of the nodes, each once.
func (d *drillCmd) nodes(settings config.Settings) ([]string, error) {
	if len(d.URLs) == 0 {
		if _, port, err := net.SplitHostPort(settings.HTTPAddr); err == nil && port == "0" {
			return nil, usage("the port of the node is not known here: name the node with --url")
		}
		return []string{"http://" + dialable(settings.HTTPAddr)}, nil
	}
	var nodes []string
	seen := map[string]bool{}
	for _, text := range d.URLs {
		if text = strings.TrimRight(text, "/"); !seen[text] {
			seen[text] = true
			nodes = append(nodes, text)
		}
	}
	return nodes, nil
}

// Run rehearses the switches. What did not hold, or took longer than it may, is exit
// code 3. Whatever happens, the switches are taken back and the sale is closed.
func (d *drillCmd) Run(c console) error {
	nodes, err := d.nodes(c.settings)
	if err != nil {
		return err
	}
	secret, err := signingSecret(c.settings)
	if err != nil {
		return err
	}
	return c.withApp(func(ctx context.Context, a *app) error {
		server, err := a.newServer(roles{roleAPI}, front{verifier: insideVerifier{operatorName()}})
		if err != nil {
			return err
		}
		in := inside{server: server, log: a.log, checkLog: a.checkLog}
		if err := in.checkLog(ctx); err != nil {
			return err
		}
		r, err := newRehearsal(in.ask, a.progress.Stats, drillOptions{Nodes: nodes, Secret: secret, Global: d.Global, Rate: d.Rate, Say: c.say})
		if err != nil {
			return err
		}
		report, err := r.play(ctx, d.Sale)
		if err != nil {
			return err
		}
		return c.tellDrill(report, d.JSON)
	})
}

// tellDrill prints the report; one that is not good is errFound.
func (c console) tellDrill(report *drillReport, asJSON bool) error {
	var err error
	if asJSON {
		err = c.json(report)
	} else {
		err = c.print(report.table())
	}
	if err == nil && !report.good() {
		err = errFound
	}
	return err
}

// errNotNormal ends a drill before anything was switched.
var errNotNormal = errors.New("the nodes do not answer as they should without any switch")
