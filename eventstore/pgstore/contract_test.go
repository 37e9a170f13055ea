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

// Every work is a part of its own, and nothing is written by arrays.
func TestTheContractHoldsWhereBatchesGoInPartsAndRowsAreCopied(t *testing.T) {
	storetest.Run(t, func(t *testing.T) eventstore.Store {
		return open(t, inParts(pgstore.Options{PartitionSize: 700}))
	})
}

func inParts(opts pgstore.Options) pgstore.Options {
	opts.MaxPart, opts.CopyFrom = 1, 1
	return opts
}
