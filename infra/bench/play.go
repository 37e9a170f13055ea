package bench

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"runtime"
	"slices"
	"time"

	"seckill/domain"
	"seckill/infra/load"
)

// Options say what is rehearsed, where, and as whom.
type Options struct {
	Scenario Scenario
	// URL is where buyers go: scheme and host, without a slash at the end.
	URL string
	// Operator is where operators go, the same place unless they are served apart, and
	// whose token; with an empty token Sale is needed, and what operators may is not
	// checked.
	Operator Operator
	// Metrics is the address of the metrics (the operator's URL and /metrics).
	Metrics string
	// Sale is played in; "" makes one, and closes it. SKU is the item, "" the first.
	Sale, SKU string
	// Unchecked plays in a sale that is no rehearsal, or cannot be seen to be one.
	Unchecked bool
	Strategy  string
	Buckets   int
	// Sign gives so many tokens, each of a buyer of its own of the rehearsal tier.
	Sign func(ctx context.Context, n int) ([]string, error)
	// Paid tells that an order was paid; see load.Visitors.
	Paid        func(order string) (path, headers, body string)
	Conns       int
	Timeout     time.Duration
	Poll, Think time.Duration
	Tries       int
	// Patience is how long after the last arrival orders and views are waited for (2 min).
	Patience time.Duration
	TLS      *tls.Config // of https; nil for the system's authorities
	Say      func(format string, args ...any)
	// Progress is called with what is under way, until the function it gives is called.
	Progress func(run *load.Run, start time.Time) (stop func())
	Module   string
}

// play is a rehearsal under way.
type play struct {
	Options
	report   Report
	visitors *load.Visitors
	arrivals []time.Duration
	spare    []string // tokens of buyers who do not visit
	sale     string
	ours     bool
	skus     []string
	start    time.Time
	last     time.Duration // when the last order was told, after the start
	won      []load.Won
	primed   int
	visited  int // visitors; one who repeats arrives several times
}

// Play rehearses. The report says how it went, with Valid and Good; an error is that
// it could not be played to its end. A sale that it made is closed either way.
func Play(ctx context.Context, o Options) (*Report, error) {
	if o.Patience <= 0 {
		o.Patience = 2 * time.Minute
	}
	if o.Conns <= 0 {
		o.Conns = 10_000
	}
	if o.Operator.URL == "" {
		o.Operator.URL = o.URL
	}
	if o.Metrics == "" {
		o.Metrics = o.Operator.URL + "/metrics"
	}
	p := &play{Options: o}
	for _, at := range []Operator{p.public(), p.Operator} {
		if err := at.Reach(ctx); err != nil {
			return nil, &UnreachableError{URL: at.URL, Err: err}
		}
	}
	if err := p.people(ctx); err != nil {
		return nil, err
	}
	if err := p.open(ctx); err != nil {
		return nil, err
	}
	err := p.rehearse(ctx)
	if p.ours {
		err = errors.Join(err, p.close(ctx))
	}
	if err != nil {
		return nil, err
	}
	return &p.report, nil
}

// public asks what everybody may, where buyers go.
func (p *play) public() Operator { return Operator{URL: p.URL, Client: p.Operator.Client} }

// UnreachableError says that nothing that is seckill answers at an address.
type UnreachableError struct {
	URL string
	Err error
}

// Error says it in a sentence.
func (e *UnreachableError) Error() string {
	return fmt.Sprintf("the installation at %s cannot be reached: is it running, and is the address right?", e.URL)
}

// Unwrap gives what was met.
func (e *UnreachableError) Unwrap() error { return e.Err }

// spares is how many buyers are kept for what comes before the crowd.
const spares = 8

// people makes the crowd.
func (p *play) people(ctx context.Context) error {
	s := p.Scenario
	came := s.arrivals()
	crush := load.Crush{Arrivals: came, Mix: s.Mix, Buyers: s.Buyers, Presses: s.Presses, SKUs: s.SKUs, Hot: s.Hot, Seed: seed}
	if p.Sale != "" {
		crush.SKUs = 1
	}
	at, visits := crush.Visits()
	buyers := len(came)
	if s.Buyers > 0 {
		buyers = min(buyers, s.Buyers)
	}
	spare := spares
	if s.Name == Refusals && p.Sale == "" {
		spare += int(min(s.Stock, MostBuyers))
	}
	p.Say("Signing %d tokens.", buyers+spare)
	tokens, err := p.Sign(ctx, buyers+spare)
	if err != nil {
		return err
	}
	var tag [5]byte
	if _, err := rand.Read(tag[:]); err != nil {
		return fmt.Errorf("name the rehearsal: %w", err)
	}
	u, err := url.Parse(p.URL)
	if err != nil {
		return fmt.Errorf("read the address: %w", err)
	}
	every := time.Second
	if total := came[len(came)-1]; total > 5*time.Minute {
		every = total / 300
	} else if total < 20*time.Second {
		every = 250 * time.Millisecond
	}
	p.arrivals, p.spare, p.visited = at, tokens[buyers:], len(came)
	p.visitors = &load.Visitors{
		Host: u.Host, Tokens: tokens[:buyers], Visits: visits, Account: load.NewAccount(every),
		Tries: p.Tries, Poll: p.Poll, Think: p.Think, Paid: p.Paid, Tag: hex.EncodeToString(tag[:]),
	}
	return nil
}

// attack gives what is common to all that is sent.
func (p *play) attack() (load.Attack, error) {
	u, err := url.Parse(p.URL)
	if err != nil {
		return load.Attack{}, fmt.Errorf("read the address: %w", err)
	}
	a := load.Attack{Addr: u.Host, Conns: p.Conns, Timeout: p.Timeout}
	port := u.Port()
	if u.Scheme == "https" {
		a.TLS = p.TLS.Clone()
		if a.TLS == nil {
			a.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
		}
		if a.TLS.ServerName == "" {
			a.TLS.ServerName = u.Hostname()
		}
		if port == "" {
			port = "443"
		}
	}
	if port == "" {
		port = "80"
	}
	a.Addr = net.JoinHostPort(u.Hostname(), port)
	return a, nil
}

// rehearse sends the crowd, waits until everything has gone through, and judges.
func (p *play) rehearse(ctx context.Context) error {
	if err := p.prime(ctx); err != nil {
		return err
	}
	a, err := p.attack()
	if err != nil {
		return err
	}
	v := p.visitors
	v.Sale, v.SKUs = p.sale, p.skus
	p.start = time.Now().Add(100 * time.Millisecond)
	v.Until = p.start.Add(p.arrivals[len(p.arrivals)-1] + p.Patience)
	v.Start()
	a.Arrivals, a.Build, a.Judge, a.Kind, a.Account = p.arrivals, v.Build, v.Judge, v.Kind, v.Account
	w := startWatch(ctx, p.Metrics, p.Operator.Client, p.start)
	defer w.stop()
	cpu, err := load.WatchCPU(ctx)
	if err != nil {
		return err
	}
	run, err := load.Start(ctx, a, p.start)
	if err != nil {
		cpu()
		return err
	}
	shown := p.Progress(run, p.start)
	measured := run.Wait()
	shown()
	busy := cpu()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	p.won, p.last = v.Won()
	p.Say("All are answered; waiting up to %s until log and views of the whole installation have followed, other sales included.", p.Patience)
	waiting, cancel := context.WithTimeout(ctx, p.Patience)
	defer cancel()
	w.await(waiting, p.last)
	p.report.Backlog = w.stop()
	p.tell(measured, run.Conns(), busy)
	p.report.Checks = p.checks(ctx)
	p.report.Good = good(p.report.Checks)
	return ctx.Err()
}

// tell fills in what was measured.
func (p *play) tell(m *load.Measurement, conns int, busy load.CPU) {
	r, a := &p.report, p.visitors.Account
	r.Scenario, r.About, r.URL, r.SaleID, r.StartedAt = p.Scenario.Name, p.Scenario.About, p.URL, p.sale, p.start.UTC()
	r.Size, r.Mix, r.Module, r.Go = p.Scenario.Size, p.Scenario.Mix.String(), p.Module, runtime.Version()
	r.Seconds, r.Visitors, r.ArrivedFor = m.Took.Seconds(), p.visited, p.arrivals[len(p.arrivals)-1].Seconds()
	r.Kinds, r.Series = []Kind{}, []Slice{}
	var sends int64
	for _, k := range a.Kinds() {
		r.Kinds = append(r.Kinds, kindOf(k))
		switch k.Name {
		case load.KindPurchase:
			r.Series = seriesOf(k, a.Every())
			r.Offered = perSecond(float64(k.Sent), max(p.arrivals[len(p.arrivals)-1], a.Every()))
			r.Answered = perSecond(float64(k.Sent-k.Waited), m.Took)
		case load.KindPlaced, load.KindVerdict:
			continue
		}
		sends += k.Sent
	}
	slices.SortFunc(r.Kinds, byOrder)
	r.Accepted, r.AcceptedPerS = len(p.won), perSecond(float64(len(p.won)), p.last)
	r.AsExpected = a.AsExpected()
	r.Bytes = bytesOf(a, sends, m.Took)
	r.Generator = Generator{
		Cores: runtime.GOMAXPROCS(0), CPUMean: busy.Mean, CPUPeak: busy.Peak, CPU: busy.Windows,
		LateP99: ms(a.Late(99)), LateMax: ms(a.Late(100)), Conns: conns, Shared: loopback(p.URL),
	}
	r.Invalid = r.Generator.judge(p.Conns)
	r.Valid = len(r.Invalid) == 0
}

// close ends the sale that was made, also after ctx has ended.
func (p *play) close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 20*time.Second)
	defer cancel()
	if err := p.Operator.Close(ctx, p.sale, "end of a rehearsal, seckill bench"); err != nil {
		return fmt.Errorf("close rehearsal sale %s: %w", p.sale, err)
	}
	return nil
}

// NewClient gives the client of an operator.
func NewClient(config *tls.Config) *http.Client {
	return &http.Client{Timeout: 10 * time.Minute, Transport: &http.Transport{
		TLSClientConfig: config, MaxIdleConnsPerHost: 4, Proxy: http.ProxyFromEnvironment,
	}}
}

var errNotOpen = errors.New("the sale does not open")

// sellable tells whether a sale takes purchases.
func sellable(state string) bool { return state == string(domain.SaleStateOpen) }
