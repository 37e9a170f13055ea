package projections

import (
	"context"
	"crypto/md5"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"seckill/domain"
)

// Proof is a quiet fold of the log into a few sums, made without Fold, without
// tables and without regard to order, and the statement that finds the same sums
// in the tables. A rebuild compares the two before anybody reads what it built:
// an event that was lost, doubled or brought to the wrong row shows.
type Proof struct {
	// Sums is how many numbers there are. The first is the number of rows.
	Sums int
	// Add adds what an event must leave in the tables.
	Add func(f Fact, sums []int64)
	// Query gives the sums as bigints, in one row.
	Query string
	// Digest is the number of the one sum that counts modulo 2^62; 0 for none.
	Digest int
}

const (
	// The digest of a set of ids is the sum of the first 62 bits of their MD5,
	// modulo 2^62: the same in every order.
	proveOrders = `
select count(*), coalesce(sum(version), 0)::bigint, coalesce(sum(units), 0)::bigint, coalesce(sum(amount_minor), 0)::bigint,
  mod(coalesce(sum((('x' || substr(md5(order_id), 1, 16))::bit(64) >> 2)::bigint), 0), 4611686018427387904)::bigint
from order_view`

	proveStock = `
select count(*), coalesce(sum(quantity), 0)::bigint, coalesce(sum(position), 0)::bigint from stock_log`

	// Sums of a sum: the number of rows proves nothing here, so it is not asked for.
	proveSummary = `
select coalesce(sum(placed + rejected + paid + cancelled + expired), 0)::bigint, coalesce(sum(placed), 0)::bigint,
  coalesce(sum(rejected), 0)::bigint, coalesce(sum(paid), 0)::bigint, coalesce(sum(cancelled), 0)::bigint,
  coalesce(sum(expired), 0)::bigint, coalesce(sum(units), 0)::bigint, coalesce(sum(amount_minor), 0)::bigint
from sale_summary`
)

// digestOf gives a number for a text; proveOrders computes the same.
func digestOf(text string) int64 {
	sum := md5.Sum([]byte(text))
	return int64(binary.BigEndian.Uint64(sum[:8]) >> 2)
}

func orderProof() Proof {
	return Proof{Sums: 5, Digest: 4, Query: proveOrders, Add: func(f Fact, sums []int64) {
		sums[1]++
		if f.Record.Version == 1 {
			sums[0]++
			sums[4] += digestOf(f.Record.OrderID)
		}
		switch e := f.Event.(type) {
		case *domain.OrderPlaced:
			sums[2] += unitsOf(e.Lines)
			sums[3] += e.Amount.Minor
		case *domain.OrderRejected:
			for _, l := range e.Lines {
				sums[2] += l.Quantity
			}
		}
	}}
}

func stockProof() Proof {
	return Proof{Sums: 3, Query: proveStock, Add: func(f Fact, sums []int64) {
		change, _ := stockChange(f.Event)
		if change.quantity == 0 {
			return
		}
		sums[0]++
		sums[1] += change.quantity
		sums[2] += f.Record.Position
	}}
}

func summaryProof() Proof {
	return Proof{Sums: 8, Query: proveSummary, Add: func(f Fact, sums []int64) {
		if _, ok := f.Event.(*domain.OrderRefundDue); ok {
			return // it counts nothing
		}
		sums[0]++
		switch e := f.Event.(type) {
		case *domain.OrderPlaced:
			sums[1]++
			sums[6] += unitsOf(e.Lines)
			sums[7] += e.Amount.Minor
		case *domain.OrderRejected:
			sums[2]++
		case *domain.OrderPaid:
			sums[3]++
		case *domain.OrderCancelled:
			sums[4]++
		case *domain.OrderExpired:
			sums[5]++
		}
	}}
}

// settled gives sums as Query does.
func (p Proof) settled(sums []int64) []int64 {
	out := slices.Clone(sums)
	if p.Digest > 0 {
		out[p.Digest] &= 1<<62 - 1 // adding wraps around 2^64, a multiple of it
	}
	return out
}

// find asks the tables for the sums.
func (p Proof) find(ctx context.Context, tx pgx.Tx) ([]int64, error) {
	sums := make([]int64, p.Sums)
	into := make([]any, p.Sums)
	for i := range sums {
		into[i] = &sums[i]
	}
	if err := tx.QueryRow(ctx, p.Query).Scan(into...); err != nil {
		return nil, fmt.Errorf("add up what was built: %w", err)
	}
	return sums, nil
}

// ProofError says that what was built is not what the log says. It is never
// swapped in.
type ProofError struct {
	Projection string
	Want, Have []int64
}

// Error is a sentence for the operator.
func (e *ProofError) Error() string {
	return fmt.Sprintf("what was built of %s does not agree with a quiet fold of the log: its sums are %v and should be %v",
		e.Projection, e.Have, e.Want)
}

func (p Proof) compare(projection string, want, have []int64) error {
	if !slices.Equal(want, have) {
		return &ProofError{Projection: projection, Want: want, Have: have}
	}
	return nil
}
