package pgstore_test

import (
	"testing"

	"seckill/eventstore"
	"seckill/eventstore/pgstore"
	"seckill/eventstore/storetest"
)

// The partitions are small, so that the races of the contract cross many.
func TestPostgresStoreKeepsTheContractOfAnEventStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T) eventstore.Store {
		return open(t, pgstore.Options{PartitionSize: 700})
	})
}
