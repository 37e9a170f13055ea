package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"seckill/api"
	"seckill/domain"
	"seckill/infra/bench"
	"seckill/infra/config"
	"seckill/infra/load"
)

type benchCmd struct {
	Scenario string `arg:"" enum:"spike,soak,refusals,repeat-clicks,hot-sku,drain,unit" help:"What is rehearsed: ${enum}; unit measures what single things cost on this machine, for plan."`

	URL      string `name:"url" placeholder:"URL" help:"The installation, http or https. Default: the one at --http-addr on this machine, and where nothing answers there, one that is started for it."`
	AdminURL string `name:"admin-url" placeholder:"URL" help:"Where its operators go, if they are served apart. Default: the same, on this machine --admin-addr where that is set."`
	Metrics  string `placeholder:"URL" help:"Its metrics. Default: /metrics where operators go."`

	Rate     *float64       `placeholder:"N" help:"Visitors a second, for a spike in its rush. Default: the scenario's."`
	Duration *time.Duration `placeholder:"TIME" help:"How long they come; of a spike it follows from buyers and rate. Default: the scenario's."`
	Buyers   *int           `placeholder:"N" help:"Distinct buyers. Default: as many as visitors, for a spike 10,000."`
	Stock    *int64         `placeholder:"N" help:"Units of each item. Default: the scenario's."`
	Mix      string         `placeholder:"KIND=PARTS,…" help:"Who comes: purchases, polls, pages, payments, repeats, attackers. Default: the scenario's."`
	Presses  *int           `placeholder:"N" help:"How often one of the repeats presses. Default: the scenario's."`
	Skus     *int           `name:"skus" placeholder:"N" help:"Items of the sale that is made. Default: the scenario's."`
	Strategy string         `enum:"postgres,redis-sync,redis-async" default:"redis-async" placeholder:"NAME" help:"Strategy of the sale that is made. Default: ${default}."`
	Buckets  int            `default:"1" placeholder:"N" help:"Its buckets. Default: ${default}."`

	Sale      string `placeholder:"ID" help:"Play in this open sale. Default: a rehearsal sale is made, and closed."`
	SKU       string `name:"sku" placeholder:"SKU" help:"The item that is bought in that sale. Default: its first."`
	Unchecked bool   `help:"Play in that sale although real buyers may buy there too: real units are taken."`

	OperatorToken config.Secret `env:"SECKILL_OPERATOR_TOKEN" placeholder:"TOKEN" help:"An operator's token, for making a sale and comparing the books. Default: signed by the secret."`
	Secret        config.Secret `placeholder:"TEXT" help:"What signs tokens there. Default: the settings' or the data folder's secret, for an installation on this machine."`
	Tokens        string        `placeholder:"FILE" help:"Buyers' tokens, one a line, in the place of signing them."`

	Conns    int           `default:"10000" placeholder:"N" help:"Connections at most. Default: ${default}."`
	Timeout  time.Duration `default:"10s" placeholder:"TIME" help:"How long one answer is waited for. Default: ${default}."`
	Tries    int           `default:"5" placeholder:"N" help:"How often a buyer presses who is told to come again, or nothing. Default: ${default}."`
	Poll     time.Duration `default:"1s" placeholder:"TIME" help:"Between two looks at an order. Default: ${default}."`
	Think    time.Duration `default:"500ms" placeholder:"TIME" help:"How long people think, on average. Default: ${default}."`
	Patience time.Duration `default:"2m" placeholder:"TIME" help:"How long orders and views are waited for after the last arrival. Default: ${default}."`

	RecordBaseline bool   `help:"Of a spike: keep the share of answers that were as expected in the data folder, for alerts to compare with."`
	HTML           string `name:"html" placeholder:"FILE" help:"Write the report as a page too, with plots."`
	JSON           bool   `name:"json" help:"Print the report as JSON."`
}

// Run rehearses. A run that is invalid, or in which a check failed, is exit code 3.
func (b *benchCmd) Run(c console) error {
	if b.Scenario == scenarioUnit {
		return c.runUnit(b.JSON)
	}
	scenario, err := b.scenario()
	if err != nil {
		return err
	}
	if err := pageFits(b.HTML); err != nil {
		return err
	}
	ctx, done := c.stoppable()
	defer done()
	options, stop, err := b.options(ctx, c, scenario)
	if err != nil {
		return err
	}
	defer stop()
	report, err := bench.Play(ctx, options)
	if err != nil {
		return benchError(err)
	}
	if err := c.tellBench(report, b.JSON); err != nil {
		return err
	}
	if err := b.keep(c, report); err != nil {
		return err
	}
	if !report.Valid || !report.Good {
		return errFound
	}
	return nil
}

// benchError says what a person can do about an error.
func benchError(err error) error {
	var away *bench.UnreachableError
	var sale *bench.SaleError
	switch {
	case errors.As(err, &away):
		return &told{away.Error(), err}
	case errors.As(err, &sale):
		return &usageError{sale}
	}
	return err
}

// scenario gives what is played, with what the flags say in the place of defaults.
func (b *benchCmd) scenario() (bench.Scenario, error) {
	s, ok := bench.Find(b.Scenario)
	if !ok {
		return s, usage("there is no scenario %q", b.Scenario)
	}
	if err := errors.Join(
		override("--rate", &s.Rate, b.Rate), override("--duration", &s.For, b.Duration), override("--buyers", &s.Buyers, b.Buyers),
		override("--stock", &s.Stock, b.Stock), override("--presses", &s.Presses, b.Presses), override("--skus", &s.SKUs, b.Skus),
	); err != nil {
		return s, usage("%s", strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	if b.Mix != "" {
		mix, err := load.ParseMix(b.Mix)
		if err != nil {
			return s, usage("--mix: %w", err)
		}
		s.Mix = mix
	}
	if err := s.Validate(); err != nil {
		return s, usage("%s", strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	switch {
	case b.RecordBaseline && s.Name != bench.Spike:
		return s, usage("--record-baseline is for a spike: other scenarios are no opening of a sale")
	case b.Conns < 1 || b.Conns > 1_000_000:
		return s, usage("--conns must be 1 to 1000000")
	case b.Tries < 1 || b.Tries > 100:
		return s, usage("--tries must be 1 to 100")
	case b.Timeout <= 0 || b.Poll <= 0 || b.Think <= 0 || b.Patience <= 0:
		return s, usage("--timeout, --poll, --think and --patience must be above 0")
	case b.Buckets < 1 || b.Buckets > domain.MaxBuckets:
		return s, usage("--buckets must be 1 to %d", domain.MaxBuckets)
	}
	return s, nil
}

// override puts a flag that was given in the place of a default. Nothing of what they
// count is done with none.
func override[T int | int64 | float64 | time.Duration](name string, to, flag *T) error {
	if flag == nil {
		return nil
	}
	if !(*flag > 0) {
		return fmt.Errorf("%s must be above 0; without it the scenario's holds", name)
	}
	*to = *flag
	return nil
}

// options finds the installation, or starts one, and says as whom it is asked. Call
// stop at the end.
func (b *benchCmd) options(ctx context.Context, c console, s bench.Scenario) (o bench.Options, stop func(), err error) {
	stop = func() {}
	address, foreign, err := b.address()
	if err != nil {
		return o, stop, err
	}
	admin, err := benchURL("--admin-url", b.AdminURL)
	if err != nil {
		return o, stop, err
	}
	secret, err := b.signer(c, foreign)
	if err != nil {
		return o, stop, err
	}
	token := string(b.OperatorToken)
	if token == "" && secret != nil {
		if token, err = api.SignToken(secret, benchOperator, api.RoleAdmin, "", tokenLife); err != nil {
			return o, stop, &usageError{err}
		}
	}
	if token == "" && b.Sale == "" {
		return o, stop, usage("making a rehearsal sale takes an operator's token (--operator-token) or the secret; else name an open sale with --sale")
	}
	o = bench.Options{
		Scenario: s, Sale: b.Sale, SKU: b.SKU, Unchecked: b.Unchecked, Strategy: b.Strategy, Buckets: b.Buckets,
		URL: address, Operator: bench.Operator{URL: admin, Token: token, Client: bench.NewClient(nil)}, Metrics: b.Metrics,
		Sign: b.sign(secret), Conns: min(b.Conns, max(openFiles()-200, 64)), Timeout: b.Timeout, Poll: b.Poll, Think: b.Think, Tries: b.Tries,
		Patience: b.Patience, Say: c.say, Progress: c.benchProgress, Module: moduleVersion(),
	}
	if address != "" {
		o.Paid = b.paid(c, foreign)
		return o, stop, nil
	}
	o.URL, stop, err = c.someNode(ctx, &o.Operator)
	o.Paid = b.paid(c, foreign)
	return o, stop, err
}

// benchOperator is who a rehearsal acts as.
const benchOperator = "bench-operator"

// address gives the URL without its end, "" for this machine's own, and whether it is
// of another machine.
func (b *benchCmd) address() (address string, foreign bool, err error) {
	address, err = benchURL("--url", b.URL)
	if err != nil || address == "" {
		return "", false, err
	}
	u, err := url.Parse(address)
	if err != nil {
		return "", false, usage("--url: %w", err)
	}
	ip := net.ParseIP(u.Hostname())
	return address, u.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback()), nil
}

// benchURL gives scheme and host of a flag, "" where it is not given.
func benchURL(flag, text string) (string, error) {
	if text == "" {
		return "", nil
	}
	u, err := url.Parse(text)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.User != nil {
		return "", usage("%s must be the address of an installation such as http://127.0.0.1:8080 or https://sale.example.com, without a path, not %q", flag, text)
	}
	return u.Scheme + "://" + u.Host, nil
}

// signer gives the secret that signs tokens, nil where it need not or cannot be known.
func (b *benchCmd) signer(c console, foreign bool) ([]byte, error) {
	switch {
	case b.Secret != "" && len(b.Secret) < api.MinSecret:
		return nil, usage("--secret has %d bytes: a secret has at least %d", len(b.Secret), api.MinSecret)
	case b.Secret != "":
		return []byte(string(b.Secret)), nil
	case b.Tokens != "" && (b.OperatorToken != "" || foreign || c.settings.JWKSURL != ""):
		return nil, nil
	case foreign && c.settings.JWTSecret == "":
		return nil, usage("%s is another machine: say what signs tokens there with --secret, or give buyers' tokens with --tokens, and an operator's with --operator-token", b.URL)
	}
	return signingSecret(c.settings)
}

// sign gives tokens out of the file or signs them.
func (b *benchCmd) sign(secret []byte) func(context.Context, int) ([]string, error) {
	return func(ctx context.Context, n int) ([]string, error) {
		if b.Tokens == "" {
			return signAll(ctx, secret, "bench-%07d", domain.RehearsalTier, n)
		}
		file, err := os.Open(b.Tokens)
		if err != nil {
			return nil, &told{fmt.Sprintf("The file of tokens %s cannot be read.", b.Tokens), err}
		}
		defer func() { _ = file.Close() }() // it was only read
		var tokens []string
		lines := bufio.NewScanner(file)
		for lines.Scan() && len(tokens) < n {
			if line := strings.TrimSpace(lines.Text()); line != "" {
				tokens = append(tokens, line)
			}
		}
		if err := lines.Err(); err != nil {
			return nil, &told{fmt.Sprintf("The file of tokens %s cannot be read.", b.Tokens), err}
		}
		if len(tokens) < n {
			return nil, usage("%s has %d tokens, and %d buyers are needed (a few of them before the crowd): lower --buyers, or --rate and --duration", b.Tokens, len(tokens), n)
		}
		return tokens, nil
	}
}

// someNode gives the address of the installation on this machine: what answers at the
// settings' address, else one that is started and ends with stop.
// Where operators are served apart there, as goes to their address.
func (c console) someNode(ctx context.Context, as *bench.Operator) (address string, stop func(), err error) {
	address = "http://" + dialable(c.settings.HTTPAddr)
	_, port, _ := net.SplitHostPort(c.settings.HTTPAddr) // what is no address is refused when it is listened on
	asking, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	public := bench.Operator{URL: address, Client: &http.Client{Timeout: askWithin}}
	if port != "0" && public.Reach(asking) == nil {
		if as.URL == "" && c.settings.AdminAddr != "" {
			as.URL = "http://" + dialable(c.settings.AdminAddr)
		}
		return address, func() {}, nil
	}
	node, err := startNode(ctx, childEnv(c.settings), allRoles()...)
	if err != nil {
		return "", func() {}, err
	}
	c.say("Nothing answered at %s, so an installation of its own was started at %s.", address, node.url)
	return node.url, func() {
		if err := node.stop(); err != nil {
			c.say("The installation that was started ended badly: %s", sentence(err))
		}
	}, nil
}
