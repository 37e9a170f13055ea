package commands

import (
	"cmp"
	"context"
	"fmt"
	"hash/maphash"
	"slices"
	"time"

	"seckill/domain"
	"seckill/eventstore"
)

// stitcher takes chunks in order and checks what shows only across them.
type stitcher struct {
	log      AuditLog
	opts     AuditOptions
	seals    *sealCheck
	seed     streamSeed
	versions map[uint64]int64 // by the hash of the stream's name
	stocks   map[uint64]domain.Account
	overdraw map[uint64]int64 // by stock stream: what it may go below zero
	halves   halves
	ends     time.Time

	report  AuditReport
	unknown int
	strange int
	unsure  int // stock streams whose beginning could not be read
}

func newStitcher(log AuditLog, opts AuditOptions) *stitcher {
	return &stitcher{
		log: log, opts: opts, seed: maphash.MakeSeed(), versions: map[uint64]int64{}, stocks: map[uint64]domain.Account{}, overdraw: map[uint64]int64{}, halves: halves{},
		report: AuditReport{From: opts.From, Faults: []AuditFault{}, Warnings: []string{}},
	}
}

func (st *stitcher) fault(f AuditFault) {
	st.report.FaultsTotal++
	if len(st.report.Faults) < st.opts.MaxFaults {
		st.report.Faults = append(st.report.Faults, f)
	}
}

func (st *stitcher) add(ctx context.Context, c *auditChunk) error {
	for _, f := range c.faults {
		st.fault(f)
	}
	st.unknown += c.unknown
	st.strange += c.strange
	if !st.ends.IsZero() && len(c.steps) > 0 && c.begins.Before(st.ends) {
		st.fault(AuditFault{Position: c.steps[0].position, Kind: FaultTime, Detail: "recorded before the record in front of it"})
	}
	if len(c.steps) > 0 {
		st.ends = c.ends
	}
	for _, side := range c.moves {
		st.halves.add(side)
	}
	stocks, overdrafts := c.stocks, c.overdrafts
	for i := range c.steps {
		s := &c.steps[i]
		if err := st.version(ctx, s); err != nil {
			return err
		}
		for ; len(overdrafts) > 0 && overdrafts[0].step == i; overdrafts = overdrafts[1:] {
			o := overdrafts[0] // revised terms may allow less; what was taken before stays
			st.overdraw[o.stream] = max(st.overdraw[o.stream], o.units)
		}
		if len(stocks) > 0 && stocks[0].step == i {
			if err := st.stock(ctx, s, stocks[0].change); err != nil {
				return err
			}
			stocks = stocks[1:]
		}
		if err := st.seals.record(s.position, s.hash); err != nil {
			return err
		}
		st.report.Events++
		st.report.Head, st.report.Hash = s.position, s.hash.String()
	}
	return nil
}

func (st *stitcher) version(ctx context.Context, s *auditStep) error {
	before, known := st.versions[s.stream]
	st.versions[s.stream] = s.version
	if s.version == before+1 || (!known && st.opts.From > 1) {
		return nil
	}
	if len(st.report.Faults) == st.opts.MaxFaults { // not worth looking at each again
		st.report.FaultsTotal++
		return nil
	}
	r, detail, err := st.versionFault(ctx, s, before)
	if err != nil || detail == "" {
		return err
	}
	st.fault(AuditFault{Position: s.position, Stream: r.Stream, Version: s.version, Kind: FaultVersion, Detail: detail})
	return nil
}

// versionFault looks again, by name: two names may have the same hash.
func (st *stitcher) versionFault(ctx context.Context, s *auditStep, before int64) (r eventstore.Record, detail string, err error) {
	if r, err = st.recordAt(ctx, s.position); err != nil {
		return r, "", err
	}
	around, err := st.log.ReadStream(ctx, r.Stream, max(0, s.version-2), 3)
	if err != nil {
		return r, "", err
	}
	if s.version > 1 && len(around) > 0 && around[0].Version == s.version-1 && around[0].Position < s.position {
		around = around[1:]
	} else if s.version > 1 {
		return r, fmt.Sprintf("version %d follows version %d", s.version, before), nil
	}
	if len(around) == 0 || around[0].Position != s.position || (len(around) > 1 && around[1].Version == s.version) {
		return r, fmt.Sprintf("version %d stands in the log twice", s.version), nil
	}
	return r, "", nil
}

func (st *stitcher) recordAt(ctx context.Context, position int64) (r eventstore.Record, err error) {
	err = st.log.Scan(ctx, position-1, position, func(x *eventstore.Record) error {
		r = *x
		r.Payload, r.Metadata = nil, nil // good until here only
		return nil
	})
	return r, err
}

func (st *stitcher) stock(ctx context.Context, s *auditStep, change domain.Account) error {
	account, known := st.stocks[s.stream]
	if !known && s.version > 1 && st.opts.From > 1 {
		var err error
		if account, err = st.stockBefore(ctx, s); err != nil {
			return err
		}
		if err := st.overdraftBefore(ctx, s); err != nil {
			return err
		}
	}
	before, overdraft := account, st.overdraw[s.stream]
	account.Released += change.Released
	account.Reserved += change.Reserved
	account.Returned += change.Returned
	st.stocks[s.stream] = account
	if account.Within(overdraft) || !before.Within(overdraft) { // one fault, where it begins
		return nil
	}
	r, err := st.recordAt(ctx, s.position)
	if err != nil {
		return err
	}
	st.fault(AuditFault{Position: s.position, Stream: r.Stream, Version: s.version, Kind: FaultStock, Detail: fmt.Sprintf(
		"released %d - reserved %d + returned %d is %d: more was taken than there was", account.Released, account.Reserved, account.Returned, account.Left())})
	return nil
}

// plenty stands for a stock whose beginning is not known: it never runs out.
const plenty = 1 << 60

// stockBefore folds a stock stream up to the first record of it that is audited.
func (st *stitcher) stockBefore(ctx context.Context, s *auditStep) (domain.Account, error) {
	var account domain.Account
	r, err := st.recordAt(ctx, s.position)
	if err != nil {
		return account, err
	}
	for account.Version < s.version-1 {
		page, err := st.log.ReadStream(ctx, r.Stream, account.Version, int(min(streamPage, s.version-1-account.Version)))
		if err != nil || len(page) == 0 || page[0].Version != account.Version+1 {
			st.unsure++
			return domain.Account{Released: plenty}, nil
		}
		for i := range page {
			ev, err := domain.Decode(page[i].Type, page[i].Schema, page[i].Payload)
			if err != nil {
				account.Version++ // its fault is that of another audit
				continue
			}
			account = account.Fold(ev)
		}
	}
	return account, nil
}

// overdraftBefore reads the terms that stand before what is audited. Where they
// cannot be read, nothing is taken for a fault.
func (st *stitcher) overdraftBefore(ctx context.Context, s *auditStep) error {
	r, err := st.recordAt(ctx, s.position)
	if err != nil {
		return err
	}
	key, err := domain.ParseStockStream(r.Stream)
	if err != nil {
		return nil // whatever this is, it has no sale
	}
	whole, sale := true, domain.Sale{ID: key.Sale}
	err = eachRecord(ctx, st.log, domain.SaleStream(key.Sale), 0, func(r *eventstore.Record) error {
		ev, err := decode(r)
		whole = whole && (sale.Version > 0 || r.Version == 1)
		if err == nil && r.Position < s.position {
			sale = sale.FoldSale(ev)
			st.overdraw[s.stream] = max(st.overdraw[s.stream], sale.OverdraftIn(key.SKU, key.Bucket))
		}
		return nil
	})
	if err != nil || !whole {
		st.unsure++
		st.overdraw[s.stream] = plenty
	}
	return nil
}

func (st *stitcher) result() AuditReport {
	r := &st.report
	if st.unknown > 0 {
		r.Warnings = append(r.Warnings, fmt.Sprintf("%d events in stock streams are of types or versions that this program does not know; they are left out of the stock rule", st.unknown))
	}
	if st.strange > 0 {
		r.Warnings = append(r.Warnings, fmt.Sprintf("of events in other streams, %d are of types or versions that this program does not know; what they say was not read", st.strange))
	}
	if st.unsure > 0 {
		r.Warnings = append(r.Warnings, fmt.Sprintf("the stock rule of %d streams could not be checked: they begin before what was audited and cannot be read there", st.unsure))
	}
	if warning, needed := st.seals.note(); needed {
		r.Warnings = append(r.Warnings, warning)
	}
	if r.Head > 0 && st.seals.judged < r.Head {
		r.Warnings = append(r.Warnings, fmt.Sprintf("positions %d to %d are under no seal yet", max(st.seals.judged+1, r.From), r.Head))
	}
	slices.SortStableFunc(r.Faults, func(a, b AuditFault) int { return cmp.Compare(a.Position, b.Position) })
	r.OK = r.FaultsTotal == 0
	return *r
}
