package pgstore

import (
	"github.com/jackc/pgx/v5"

	"seckill/eventstore"
)

// collectRecords reads rows whose columns are those of the events table, in
// its order, and closes them.
func collectRecords(rows pgx.Rows) ([]eventstore.Record, error) {
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (eventstore.Record, error) {
		var r eventstore.Record
		var id [16]byte
		var hash []byte
		err := row.Scan(&r.Position, &id, &r.Stream, &r.Version, &r.Type, &r.Schema, &r.SaleID, &r.OrderID,
			&r.RecordedAt, &r.Payload, &r.Metadata, &hash)
		r.ID, r.RecordedAt = id, r.RecordedAt.UTC()
		copy(r.Hash[:], hash)
		return r, err
	})
}

// collectClaims reads rows of sale, buyer and the other columns of a claim.
func collectClaims(rows pgx.Rows) ([]eventstore.Claim, error) {
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (eventstore.Claim, error) {
		var c eventstore.Claim
		err := row.Scan(&c.SaleID, &c.BuyerID, &c.Ordinal, &c.OrderID, &c.Quantity, &c.Live, &c.Key, &c.BodyHash)
		return c, err
	})
}
