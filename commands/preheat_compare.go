package commands

import (
	"context"
	"errors"
	"fmt"

	"seckill/domain"
	"seckill/eventstore"
)

// lane compares a lane, and tells whether the log has all that the gate had sold
// at the cut.
func (p *Preheats) lane(ctx context.Context, lane int, seen LaneState, report *PreheatReport) (bool, error) {
	at := func(field string) string { return fmt.Sprintf("lane:%d/%s", lane, field) }
	report.compare(at("open"), "true", fmt.Sprint(seen.Exists && seen.Open))
	report.compare(at("same_server"), "true", fmt.Sprint(seen.SameServer))
	var cursor eventstore.Cursor
	for deadline := p.Env.Now().Add(p.patience()); ; pause(ctx, inspectPause) {
		cursors, err := p.Log.Cursors(ctx, []int{lane})
		if err != nil {
			return false, fmt.Errorf("read cursor of lane %d: %w", lane, err)
		}
		cursor = cursors[0]
		if cursor.Epoch != seen.Epoch || cursor.N >= seen.N || ctx.Err() != nil || p.Env.Now().After(deadline) {
			break
		}
	}
	report.compare(at("epoch"), fmt.Sprint(cursor.Epoch), fmt.Sprint(seen.Epoch))
	recorded := cursor.Epoch == seen.Epoch && cursor.N >= seen.N
	if !recorded && cursor.Epoch == seen.Epoch {
		report.compare(at("recorded"), fmt.Sprint(seen.N), fmt.Sprint(cursor.N))
	}
	return recorded, ctx.Err()
}

// compare lists a value and whether it is what it must be.
func (r *PreheatReport) compare(key, want, got string) {
	r.Values[key] = got
	if want != got {
		r.Differences = append(r.Differences, PreheatDifference{Key: key, Want: want, Got: got})
	}
}

// record compares the record of a sale.
func (r *PreheatReport) record(place domain.Place, h held) error {
	at := func(field string) string { return fmt.Sprintf("sale:%s:%d/%s", place.Sale, place.Bucket, field) }
	want, err := SaleFields(h.sale.Sale)
	if err != nil {
		return err
	}
	r.compare(at("state"), HashOpen.String(), h.seen.Sale.State.String())
	r.compare(at("applied"), h.sale.Mark.String(), h.seen.Sale.Applied.String())
	r.compare(at("hold"), "", h.seen.Hold)
	for i, f := range want {
		r.compare(at(f.Name), f.Value, h.seen.Fields[i].Value)
	}
	return nil
}

// stockSeen is a stock hash at a cut, the head of its stream before the cut, and
// whether what the gate had sold until then is recorded.
type stockSeen struct {
	StockHash
	lane     LaneState
	head     eventstore.StreamState
	recorded bool
}

// stock compares the account of one stock with what its stream says of the cut.
func (p *Preheats) stock(ctx context.Context, place domain.Place, sku string, s stockSeen, report *PreheatReport) error {
	at := func(field string) string {
		return fmt.Sprintf("stock:%s:%s:%d/%s", place.Sale, sku, place.Bucket, field)
	}
	report.compare(at("state"), HashOpen.String(), s.State.String())
	cut := stockCut{applied: s.Applied, epoch: s.lane.Epoch, n: s.lane.N}
	var left int64
	var whole domain.Account
	follows := s.Applied.Number == 0
	err := eachRecord(ctx, p.Log, domain.StockStream(place.Sale, sku, place.Bucket), 0, func(r *eventstore.Record) error {
		ev, err := decode(r)
		if err != nil {
			return err
		}
		whole = whole.Fold(ev)
		left += cut.counts(entryFor(ev), r.Version)
		follows = follows || r.At() == s.Applied
		return nil
	})
	var unread *UnreadableError
	switch {
	case errors.As(err, &unread):
		report.compare(at("stream"), "readable", unread.Error())
		return nil
	case err != nil:
		return err
	}
	must := s.Applied
	if s.State == HashMissing || !follows || s.Applied.Number < s.head.Version {
		must, left = markOf(s.head), whole.Left()
	}
	report.compare(at("applied"), must.String(), s.Applied.String())
	want, got := fmt.Sprint(left), fmt.Sprint(s.Available)
	if s.State == HashMissing {
		got = ""
	}
	if !s.recorded && s.State != HashMissing { // no exact account can be made: the lane's difference says so
		want = got
	}
	report.compare(at("available"), want, got)
	return nil
}
