package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime"
	"sync"
	"time"

	"seckill/api"
	"seckill/infra/load"
)

// The one thing that the demo sells.
const (
	demoSKU    = "phone"
	demoTitle  = "A phone for one yuan · 一元抢手机"
	demoSeed   = 20261111
	tokenLife  = 2 * time.Hour
	adminBuyer = "demo-operator"
)

// signTokens signs one token per buyer.
func (s *stage) signTokens(ctx context.Context) ([]string, error) {
	return signAll(ctx, s.secret, "buyer-%07d", "", *s.demo.Buyers)
}

// signAll signs n tokens, each for a buyer of its own.
func signAll(ctx context.Context, secret []byte, name, tier string, n int) ([]string, error) {
	tokens := make([]string, n)
	workers := runtime.GOMAXPROCS(0)
	errs := make([]error, workers)
	var all sync.WaitGroup
	for w := range workers {
		all.Go(func() {
			for i := w; i < len(tokens) && errs[w] == nil && ctx.Err() == nil; i += workers {
				tokens[i], errs[w] = api.SignToken(secret, fmt.Sprintf(name, i+1), "", tier, tokenLife)
			}
		})
	}
	all.Wait()
	for _, err := range append(errs, ctx.Err()) {
		if err != nil {
			return nil, err
		}
	}
	return tokens, nil
}

// schedule makes the sale, over HTTP as an operator would.
func (s *stage) schedule(ctx context.Context) error {
	token, err := api.SignToken(s.secret, adminBuyer, api.RoleAdmin, "", time.Minute)
	if err != nil {
		return err
	}
	s.opens = time.Now().Add(opensIn).Truncate(time.Millisecond)
	body, err := json.Marshal(api.SaleBody{
		Title: demoTitle, Strategy: s.demo.Strategy, Buckets: s.demo.Buckets,
		OpensAt: s.opens.Format(time.RFC3339Nano), ClosesAt: s.opens.Add(24 * time.Hour).Format(time.RFC3339Nano),
		Items: []api.ItemBody{{SKU: demoSKU, Title: demoTitle, Price: "1.00", Currency: "CNY", Stock: *s.demo.Stock}},
	})
	if err != nil {
		return fmt.Errorf("encode the sale: %w", err)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+s.address+"/api/v1/admin/sales", bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("schedule the sale: %w", err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return fmt.Errorf("schedule the sale: %w", err)
	}
	defer answer.Body.Close()
	raw, err := io.ReadAll(answer.Body)
	if err != nil {
		return fmt.Errorf("schedule the sale: %w", err)
	}
	var sale api.AdminSaleView
	if err := json.Unmarshal(raw, &sale); err != nil || answer.StatusCode != http.StatusCreated {
		return fmt.Errorf("schedule the sale: status %d: %s", answer.StatusCode, raw)
	}
	s.sale = sale.ID
	// A machine that took long lets the crowd in when it is ready, not in the past.
	if ready := time.Now().Add(20 * time.Millisecond); s.opens.Before(ready) {
		s.opens = ready
	}
	return nil
}

// sent is a crowd that was answered.
type sent struct {
	*load.Measurement
	crowd  *load.Crowd
	tokens []string
	watch  *watch
}

// send lets the crowd in at the opening and shows how it goes.
func (s *stage) send(ctx context.Context, tokens []string) (*sent, error) {
	crowd := load.NewCrowd(s.address, s.sale, demoSKU, tokens)
	run, err := load.Start(ctx, load.Attack{
		Addr: s.address, Arrivals: load.Arrivals(len(tokens), load.FlashSale(), demoSeed),
		Build: crowd.Build, Judge: crowd.Judge,
	}, s.opens)
	if err != nil {
		return nil, err
	}
	w := s.startWatch(ctx)
	show := s.startProgress(ctx, run, w)
	measured := run.Wait()
	show()
	if ctx.Err() != nil {
		w.stop()
		return nil, ctx.Err()
	}
	return &sent{Measurement: measured, crowd: crowd, tokens: tokens, watch: w}, nil
}

// startProgress shows the numbers until the function it gives is called.
func (s *stage) startProgress(ctx context.Context, run *load.Run, w *watch) (stop func()) {
	every, line := time.Second, "%s\n"
	if isTerminal(s.console.err) {
		every, line = 100*time.Millisecond, "\r\x1b[K%s"
	}
	quit, done := make(chan struct{}), make(chan struct{})
	show := func() {
		n := run.Counts()
		fmt.Fprintf(s.console.err, line, fmt.Sprintf("%5.1f s  %s pressed, %s accepted, %s refused, %s failed, %s recorded",
			max(time.Since(s.opens).Seconds(), 0), grouped(n.Arrived), grouped(n.OK), grouped(n.Refused), grouped(n.Failed), grouped(w.decided())))
	}
	go func() {
		defer close(done)
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				show()
			case <-quit:
				show()
				if isTerminal(s.console.err) {
					fmt.Fprintln(s.console.err)
				}
				return
			case <-ctx.Done():
				<-quit
				return
			}
		}
	}()
	return func() {
		close(quit)
		<-done
	}
}

// isTerminal tells whether a person looks at w.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	st, err := f.Stat()
	return err == nil && st.Mode()&os.ModeCharDevice != 0 && os.Getenv("TERM") != "dumb"
}
