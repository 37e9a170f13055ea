package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"seckill/api"
	"seckill/infra/bench"
)

// storesPlay is a drill of stores under way.
type storesPlay struct {
	console
	site   *storesSite
	load   *tellsAll
	op     bench.Operator
	sale   string
	hold   time.Duration
	within time.Duration
}

// breakage is one way to break a store: do breaks it, and mend ends that.
type breakage struct {
	name, says string
	skip       string
	do, mend   func(context.Context) error
}

// playStores plays everything on an installation of its own.
func (c console) playStores(ctx context.Context, d *drillStoresCmd) (report *storesReport, err error) {
	c.say("Starting an installation of this drill's own: PostgreSQL, Redis and a process that serves.")
	site, err := c.openSite(ctx, d)
	if err != nil {
		return nil, fmt.Errorf("start the installation of the drill: %w", err)
	}
	defer func() { err = errors.Join(err, site.close(context.WithoutCancel(ctx))) }()
	token, err := api.SignToken([]byte(site.secret), operatorName(), api.RoleAdmin, "", tokenLife)
	if err != nil {
		return nil, err
	}
	p := &storesPlay{console: c, site: site, hold: d.Hold, within: d.Within, op: bench.Operator{URL: site.node.url, Token: token, Client: bench.NewClient(nil)}}
	sale, err := p.op.MakeSale(ctx, bench.SaleWish{Stock: 1_000_000, SKUs: 1, Strategy: "redis-async", Life: time.Hour})
	if err != nil {
		return nil, err
	}
	p.sale = sale.ID
	crowd := &crowd{goods: goods{sale: sale.ID, sku: sale.Items[0].SKU, limit: 1}, secret: []byte(site.secret), tag: "stores"}
	crowd.client = http.Client{Timeout: 2 * askWithin, Transport: &http.Transport{MaxIdleConnsPerHost: 256}}
	p.load = &tellsAll{crowd: crowd, node: site.node.url, rate: d.Rate}
	p.load.start(ctx)
	report = &storesReport{SaleID: sale.ID}
	err = p.steps(ctx, report)
	p.load.end()
	if err != nil {
		return nil, err
	}
	report.Checks = p.standing(ctx)
	report.judge()
	return report, ctx.Err()
}

// steps breaks one store after the other.
func (p *storesPlay) steps(ctx context.Context, report *storesReport) error {
	for _, b := range p.breakages() {
		step := storesStep{Step: b.name, Says: b.says, Skipped: b.skip}
		if b.skip == "" {
			p.say("%s: %s.", b.name, b.says)
			if err := p.one(ctx, b, &step); err != nil {
				return fmt.Errorf("%s: %w", b.name, err)
			}
		}
		report.Steps = append(report.Steps, step)
	}
	return nil
}

// breakages is the one list of what is broken.
func (p *storesPlay) breakages() []breakage {
	s := p.site
	var paused []int
	kafka := breakage{name: "kafka_stopped", says: "Kafka is killed, and started again"}
	if s.kafka == nil {
		kafka.skip = "no broker of this drill's own was named by --kafka"
	} else {
		kafka.do, kafka.mend = func(context.Context) error { s.kafka.kill(); return nil }, s.kafka.start
	}
	return []breakage{
		{name: "redis_killed", says: "Redis is killed, and started again with its file",
			do: func(context.Context) error { s.redis.kill(); return nil }, mend: s.redis.start},
		{name: "redis_lost", says: "Redis is killed, and started again with nothing",
			do: func(context.Context) error {
				s.redis.kill()
				return errors.Join(os.RemoveAll(s.redisDir()), os.MkdirAll(s.redisDir(), 0o700))
			},
			mend: s.redis.start},
		{name: "redis_paused", says: "Redis stands still, and goes on",
			do:   func(context.Context) error { return signalAll([]int{s.redis.cmd.Process.Pid}, syscall.SIGSTOP) },
			mend: func(context.Context) error { return signalAll([]int{s.redis.cmd.Process.Pid}, syscall.SIGCONT) }},
		{name: "postgres_paused", says: "PostgreSQL stands still, and goes on",
			do: func(ctx context.Context) (err error) {
				if paused, err = s.postgresProcesses(ctx); err != nil {
					return err
				}
				return signalAll(paused, syscall.SIGSTOP)
			},
			mend: func(context.Context) error { return signalAll(paused, syscall.SIGCONT) }},
		kafka,
	}
}

// patience is how long the drill waits for what must come before and after a break.
const drillPatience = 2 * time.Minute

// one breaks one store and grades what came of it.
func (p *storesPlay) one(ctx context.Context, b breakage, step *storesStep) error {
	begun := time.Now()
	if !p.await(ctx, drillPatience, func() bool { _, ok := p.load.settled(begun); return ok }) {
		return firstError(ctx.Err(), errNotNormal)
	}
	broke := time.Now()
	if err := b.do(ctx); err != nil {
		return errors.Join(err, b.mend(context.WithoutCancel(ctx)))
	}
	_ = p.await(ctx, p.hold, func() bool { return false }) // it is to stay broken
	mended := time.Now()
	if err := b.mend(context.WithoutCancel(ctx)); err != nil {
		return err
	}
	var normal time.Time
	if p.await(ctx, max(drillPatience, p.within), func() bool {
		began, ok := p.load.settled(mended)
		normal = began
		return ok
	}) {
		step.NormalMS = max(0, normal.Sub(mended).Milliseconds())
	} else {
		step.NormalMS, normal = -1, time.Now()
	}
	told := p.load.since(broke)
	step.seen(told, broke, normal)
	recorded, lost := p.became(ctx, told, normal)
	step.Lost = int64(len(lost))
	if step.NormalMS >= 0 {
		step.NormalMS = max(step.NormalMS, recorded.Sub(mended).Milliseconds())
	}
	step.grade(p.within)
	for _, l := range lost {
		p.say("%s: %s", b.name, l)
	}
	return ctx.Err()
}

// await looks again and again until it is so; false: it was not within that time.
func (p *storesPlay) await(ctx context.Context, within time.Duration, so func() bool) bool {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	for !so() {
		select {
		case <-ctx.Done():
			return false
		case <-time.After(20 * time.Millisecond):
		}
	}
	return true
}

// became waits until what was acknowledged up to a time is recorded, and gives when it
// was, and what of it was not placed in the end.
func (p *storesPlay) became(ctx context.Context, told []toldOnce, until time.Time) (recorded time.Time, lost []string) {
	recorded = until
	end := time.Now().Add(max(drillPatience, p.within))
	for _, t := range told {
		if t.order == "" || t.sent.After(until) {
			continue
		}
		status := ""
		for {
			seen, err := p.load.crowd.orderStatus(ctx, p.site.node.url, t.heard)
			if status = seen; err != nil {
				status = oneLine(err)
			}
			if status == "placed" || strings.HasPrefix(status, "rejected") || ctx.Err() != nil || time.Now().After(end) {
				break
			}
			recorded = time.Now() // it was not yet
			_ = p.await(ctx, 100*time.Millisecond, func() bool { return false })
		}
		if status != "placed" {
			lost = append(lost, fmt.Sprintf("order %s of %s was acknowledged and is %s", t.order, t.buyer, status))
		}
	}
	return recorded, lost
}

// standing checks all of it at the end: every order that anybody was told of, the books,
// the log, and the views.
func (p *storesPlay) standing(ctx context.Context) []drillCheck {
	all := p.load.since(time.Time{})
	_, lost := p.became(ctx, all, time.Now())
	checks := []drillCheck{{Name: "every acknowledged order is placed", OK: len(lost) == 0, Detail: fmt.Sprintf("%d are not", len(lost))}}
	within, cancel := context.WithTimeout(ctx, drillPatience)
	defer cancel()
	books := drillCheck{Name: "the books agree"}
	if report, err := p.op.Reconcile(within, p.sale); err != nil {
		books.Detail = oneLine(err)
	} else {
		books.OK, books.Detail = len(report.Findings) == 0, fmt.Sprintf("%d findings", len(report.Findings))
	}
	verified := drillCheck{Name: "the log verifies"}
	if err := p.verify(within); err != nil {
		verified.Detail = oneLine(err)
	} else {
		verified.OK = true
	}
	views := drillCheck{Name: "the views have followed"}
	views.OK = p.await(within, drillPatience, func() bool {
		views.Detail = p.behind(within)
		return views.Detail == ""
	})
	return append(checks, books, verified, views)
}

// behind says which view has not applied everything, or has something parked; "" where
// none is.
func (p *storesPlay) behind(ctx context.Context) string {
	text, err := p.ownProgram(ctx, "checkpoints", "--json")
	if err != nil {
		return oneLine(err)
	}
	var list checkpointList
	if err := json.Unmarshal(text, &list); err != nil {
		return oneLine(err)
	}
	for _, line := range list.Projections {
		if line.Behind > 0 || line.Parked > 0 {
			return fmt.Sprintf("%s, shard %d, is %d events behind and has %d sequences parked", line.Projection, line.Shard, line.Behind, line.Parked)
		}
	}
	return ""
}

// verify audits the log.
func (p *storesPlay) verify(ctx context.Context) error {
	_, err := p.ownProgram(ctx, "audit", "verify", "--json")
	return err
}

// ownProgram runs a command of this program at the drill's installation.
func (p *storesPlay) ownProgram(ctx context.Context, args ...string) (out []byte, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find the program: %w", err)
	}
	cmd := exec.CommandContext(ctx, self, args...)
	cmd.Env = p.site.env
	var said bytes.Buffer
	cmd.Stderr = &said
	if out, err = cmd.Output(); err != nil {
		return nil, fmt.Errorf("%s: %w: %s%s", strings.Join(args, " "), err, out, said.Bytes())
	}
	return out, nil
}
