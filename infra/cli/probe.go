package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

type probeCmd struct {
	Live bool          `help:"Ask only whether the process lives (/healthz), not whether it is ready (/readyz)."`
	URL  string        `name:"url" placeholder:"URL" help:"Where it serves. Default: the address of --http-addr on this machine."`
	In   time.Duration `default:"2s" placeholder:"TIME" help:"How long it may take to answer. Default: ${default}."`
}

// errNotReady ends a probe that was answered with a no, which is printed already.
var errNotReady = errors.New("the process is not ready")

// Run asks a process that serves, for images that hold no other program.
func (p *probeCmd) Run(c console) error {
	ctx, done := c.stoppable()
	defer done()
	ctx, cancel := context.WithTimeout(ctx, p.In)
	defer cancel()
	url := p.URL
	if url == "" {
		var err error
		if url, err = nearby(c.settings.HTTPAddr); err != nil {
			return err
		}
	}
	path := "/readyz"
	if p.Live {
		path = "/healthz"
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+path, nil)
	if err != nil {
		return usage("--url must be an address such as http://127.0.0.1:8080: %v", err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("ask %s%s: %w", url, path, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 16<<10))
	if err != nil {
		return fmt.Errorf("read the answer of %s%s: %w", url, path, err)
	}
	if _, err := fmt.Fprintf(c.out, "%d %s\n", resp.StatusCode, body); err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return errNotReady
	}
	return nil
}

// nearby is the URL by which this machine reaches what listens on an address.
func nearby(address string) (string, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil || port == "0" {
		return "", usage("--http-addr %s says no port to ask at: name the process with --url", address)
	}
	if ip := net.ParseIP(host); host == "" || ip.IsUnspecified() {
		host = "127.0.0.1"
		if ip != nil && ip.To4() == nil {
			host = "::1"
		}
	}
	return "http://" + net.JoinHostPort(host, port), nil
}
