package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"

	"seckill/infra/bench"
	"seckill/infra/load"
	"seckill/infra/payments"
)

// tellBench prints a report.
func (c console) tellBench(r *bench.Report, asJSON bool) error {
	if asJSON {
		return c.json(r)
	}
	for _, t := range []table.Writer{kindTable(r), outcomeTable(r), runTable(r), checkTable(r)} {
		if err := c.print(t); err != nil {
			return err
		}
	}
	verdict := "The run is valid."
	if !r.Valid {
		verdict = "INVALID: " + strings.Join(r.Invalid, "; ") + ". Its figures say more of the generator than of the installation."
	}
	if !r.Good {
		verdict += " A check FAILED."
	}
	_, err := fmt.Fprintln(c.out, verdict)
	return err
}

func kindTable(r *bench.Report) table.Writer {
	t := newTable("", "sent", "ok", "refused", "failed", "p50 ms", "p90", "p99", "p99.9", "most")
	t.SetTitle(fmt.Sprintf("%s · sale %s · %s · %.1f s", r.Scenario, r.SaleID, r.URL, r.Seconds))
	numbers(t, 2, 3, 4, 5, 6, 7, 8, 9, 10)
	for _, k := range r.Kinds {
		t.AppendRow(table.Row{bench.Title(k.Name), grouped(k.Sent), grouped(k.OK), grouped(k.Refused), grouped(k.Failed + k.Unanswered),
			millis(k.P50), millis(k.P90), millis(k.P99), millis(k.P999), millis(k.Max)})
	}
	return t
}

func millis(v float64) string { return fmt.Sprintf("%.1f", v) }

func outcomeTable(r *bench.Report) table.Writer {
	t := newTable("answer to a purchase, each try", "", "share")
	numbers(t, 2, 3)
	for _, k := range r.Kinds {
		if k.Name != load.KindPurchase {
			continue
		}
		names := slices.Sorted(maps.Keys(k.Outcomes))
		slices.SortStableFunc(names, func(a, b string) int { return int(k.Outcomes[b] - k.Outcomes[a]) })
		for _, name := range names {
			t.AppendRow(table.Row{name, grouped(k.Outcomes[name]), percent(float64(k.Outcomes[name]) / float64(k.Sent))})
		}
	}
	return t
}

func percent(share float64) string { return fmt.Sprintf("%.2f %%", 100*share) }

func runTable(r *bench.Report) table.Writer {
	t := newTable()
	numbers(t, 2)
	row := func(what string, value any, note string) { t.AppendRow(table.Row{what, value, note}) }
	row("purchases offered a second", whole(r.Offered), "on average over the arrivals; answered "+whole(r.Answered)+" over the whole run")
	row("accepted", grouped(int64(r.Accepted)), whole(r.AcceptedPerS)+" a second until the last of them")
	row("answered as expected", percent(r.AsExpected), "of purchases, each try: a unit, the own order, or a no with a reason; not busy, not ready or a fault")
	b := r.Backlog
	if b.Seen {
		row("most undecided at once", grouped(b.Peak.Undecided), fmt.Sprintf("journal entries %s, events unpublished %s", grouped(b.Peak.Journal), grouped(b.Peak.Relay)))
		for _, name := range slices.Sorted(maps.Keys(b.Peak.Views)) {
			row("most behind: "+name, grouped(b.Peak.Views[name]), "events that its slowest shard lacked")
		}
		if b.Drained {
			row("drained after", short(time.Duration(b.AfterMS)*time.Millisecond), "from the last acceptance until nothing was left, seen once a second")
		}
	}
	row("requests · answers", fmt.Sprintf("%.1f · %.1f Mbit/s", r.Bytes.RequestMbit, r.Bytes.AnswerMbit), fmt.Sprintf("%.0f and %.0f bytes each, over the whole run, as HTTP", r.Bytes.PerQuestion, r.Bytes.PerAnswer))
	g := r.Generator
	row("generator", percent(g.CPUPeak), fmt.Sprintf("of %d cores in its busiest second; %d connections", g.Cores, g.Conns))
	row("sent late", millis(g.LateP99)+" ms", fmt.Sprintf("at p99, %s ms at most; it counts into the latencies", millis(g.LateMax)))
	return t
}

func checkTable(r *bench.Report) table.Writer {
	t := newTable("check", "", "")
	for _, k := range r.Checks {
		mark := "-"
		if k.OK != nil {
			mark = map[bool]string{true: "✓", false: "✗"}[*k.OK]
		}
		t.AppendRow(table.Row{k.Name, mark, k.Detail})
	}
	return t
}

// pageFits refuses a page that could not be written, before a run rather than after it.
func pageFits(file string) error {
	if file == "" {
		return nil
	}
	if is, err := os.Stat(file); err == nil && is.IsDir() {
		return usage("--html %s is a folder: name a file in it", file)
	}
	probe, err := os.CreateTemp(filepath.Dir(file), ".seckill-*")
	if err != nil {
		return noPage(file, err)
	}
	if err := errors.Join(probe.Close(), os.Remove(probe.Name())); err != nil {
		return noPage(file, err)
	}
	return nil
}

func noPage(file string, err error) error {
	why := err
	if path := (*fs.PathError)(nil); errors.As(err, &path) { // of the probe, whose name says nothing
		why = path.Err
	}
	return &told{fmt.Sprintf("The page %s cannot be written: %v.", file, why), err}
}

// keep writes what was asked for beside what is printed.
func (b *benchCmd) keep(c console, r *bench.Report) error {
	if b.HTML != "" {
		page, err := bench.Page(r)
		if err != nil {
			return err
		}
		if err := os.WriteFile(b.HTML, page, 0o644); err != nil {
			return noPage(b.HTML, err)
		}
		c.say("Written: %s.", b.HTML)
	}
	if !b.RecordBaseline {
		return nil
	}
	if !r.Valid || !r.Good || r.AsExpected == 0 {
		c.say("No baseline is kept of a run that is invalid or broken, or in which nobody was served.")
		return nil
	}
	file := filepath.Join(c.settings.DataDir, bench.BaselineFile)
	if err := bench.WriteBaseline(file, bench.Baseline{At: r.StartedAt, Scenario: r.Scenario, Rate: r.AsExpected}); err != nil {
		return err
	}
	c.say("Baseline: %s of purchases answered as expected, in %s.", percent(r.AsExpected), file)
	return nil
}

// benchProgress shows how a run goes until the function it gives is called.
func (c console) benchProgress(run *load.Run, start time.Time) (stop func()) {
	every, line := 2*time.Second, "%s\n"
	if isTerminal(c.err) {
		every, line = 200*time.Millisecond, "\r\x1b[K%s"
	}
	show := func() {
		n := run.Counts()
		fmt.Fprintf(c.err, line, fmt.Sprintf("%5.1f s  %s came, %s got what they came for, %s refused, %s failed, %s asked again",
			max(time.Since(start).Seconds(), 0), grouped(n.Arrived), grouped(n.OK), grouped(n.Refused), grouped(n.Failed), grouped(n.Retries)))
	}
	ctx, quit := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				show()
			case <-ctx.Done():
				show()
				if isTerminal(c.err) {
					fmt.Fprintln(c.err)
				}
				return
			}
		}
	}()
	return func() {
		quit()
		<-done
	}
}

// paid gives how an order is told to be paid, where this process knows a provider's
// secret: of an installation on this machine, in a sale that the rehearsal made.
func (b *benchCmd) paid(c console, foreign bool) func(order string) (path, headers, body string) {
	settings, err := withProviders(c.settings)
	if err != nil || foreign || b.Sale != "" || len(settings.Payments()) == 0 {
		return nil // then buyers ask where to pay, and nobody pays
	}
	provider := settings.Payments()[0]
	secret := []byte(string(provider.Secrets[0]))
	return func(order string) (string, string, string) {
		body, err := json.Marshal(payments.Event{ID: "bench-" + order, Type: payments.Succeeded, OrderID: order, PaymentID: "bench-" + order, Amount: bench.Price, Currency: bench.Currency})
		if err != nil {
			panic("a message of strings cannot fail to be written: " + err.Error())
		}
		return webhookOf("", provider.Name), payments.Header + ": " + payments.Sign(secret, time.Now(), body) + "\r\n", string(body)
	}
}

// moduleVersion names the program that measured.
func moduleVersion() string {
	p := thisProgram()
	return strings.TrimSpace(p.Module + " " + p.Version + " " + p.Revision)
}
