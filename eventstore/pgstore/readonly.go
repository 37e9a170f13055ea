package pgstore

import (
	"github.com/jackc/pgx/v5/pgxpool"

	"seckill/eventstore"
)

// NewReader gives the reading half of a store over a pool that pg.Open gave, and
// nothing else: it opens no session of its own, runs nothing and needs no Close.
// With a read-only pool nothing can be written by way of it.
func NewReader(pool *pgxpool.Pool) eventstore.Reader { return &Store{pool: pool} }

// Reads is everything of a store that writes nothing.
type Reads interface {
	eventstore.Reader
	eventstore.Directory
	eventstore.Ledger
}

// NewReads is NewReader that answers where streams, guards, claims and cursors
// stand, too.
func NewReads(pool *pgxpool.Pool) Reads { return &Store{pool: pool} }
