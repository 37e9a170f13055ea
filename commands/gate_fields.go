package commands

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"seckill/domain"
)

// SaleField is a named value of a gate's record of a sale.
type SaleField struct{ Name, Value string }

// SaleFields gives what a gate's record of a sale says beside its orders, from the
// fold of the sale: the one place that knows. Times are microseconds, flags 0 or 1.
func SaleFields(s domain.Sale) ([]SaleField, error) {
	judged := s.Judged()
	terms, err := json.Marshal(judged)
	if err != nil {
		return nil, fmt.Errorf("write the terms of sale %s: %w", s.ID, err)
	}
	t := s.Terms
	number := func(n int64) string { return strconv.FormatInt(n, 10) }
	flag := func(b bool) string {
		if b {
			return "1"
		}
		return "0"
	}
	return []SaleField{
		{"terms", string(terms)}, {"opens", number(t.OpensAt.UnixMicro())}, {"closes", number(t.ClosesAt.UnixMicro())},
		{"limit", number(judged.LimitPerBuyer)}, {"orders_per_buyer", number(int64(judged.OrdersPerBuyer))}, {"rebuy", flag(judged.Rebuy)},
		{"paused", flag(s.Halted())}, {"closed", flag(s.Ended())}, {"waits", flag(!s.MayOpen())},
	}, nil
}

// SaleFieldNames lists the names of SaleFields, in their order.
func SaleFieldNames() []string {
	return []string{"terms", "opens", "closes", "limit", "orders_per_buyer", "rebuy", "paused", "closed", "waits"}
}

// Inspection is everything that a gate holds of a sale in one bucket at one moment
// but what is of single buyers.
type Inspection struct {
	Peeked
	// Fields are those of SaleFieldNames, in their order; all "" where the record is
	// missing or was never applied to.
	Fields []SaleField
	// Hold is the stopping action that stands, the number of its outcome, "" for none.
	Hold string
	// OfBuyers is how many orders, buyers, keys and tickets the record has, Holds how many holds
	// each stock hash has.
	OfBuyers int64
	Holds    []int64
}

// Inspector reads what a gate holds of a sale, and changes nothing.
type Inspector interface {
	// Inspect reads everything in one step, however many orders there are.
	Inspect(ctx context.Context, place domain.Place, skus []string) (Inspection, error)
}
