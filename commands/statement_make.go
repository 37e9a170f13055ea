package commands

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"seckill/domain"
	"seckill/eventstore"
	"seckill/eventstore/seal"
)

// Stater makes the closing statement of a sale.
type Stater interface {
	// State gives the statement of a sale that has ended. One that has not is a
	// *domain.Problem with code not_ended.
	State(ctx context.Context, sale string) (*SignedStatement, error)
}

// StatementKeeper makes closing statements and keeps them as files.
type StatementKeeper interface {
	// Keep makes the statement and writes it, unless the newest one that is kept says
	// the same. Nothing that was kept is ever replaced.
	Keep(ctx context.Context, sale string) (KeptStatement, error)
}

// KeptStatement is a statement in a file; Fresh: it was written just now.
type KeptStatement struct {
	File   string
	SHA256 string
	Fresh  bool
}

// StatementLog is what statements are made from.
type StatementLog interface {
	eventstore.Reader
	// SealOver gives the first seal that ends at a position or behind it.
	SealOver(ctx context.Context, position int64) (*seal.Seal, error)
	LastSeal(ctx context.Context) (*seal.Seal, error)
}

// Closer makes closing statements by folding what the log holds of a sale, and
// asks nothing else. One is made at a time: it takes a few hundred bytes of memory an
// order. The last few are remembered until the log has more about their sale.
type Closer struct {
	Env   *Env
	Log   StatementLog
	Store string // UUID
	// Key gives the key that signs; its error is told as it is.
	Key func(context.Context) (seal.Key, error)

	mu   sync.Mutex
	made map[string]*Statement
}

// statementPage is how many records are read in one statement of SQL.
const statementPage = 2000

// maxMade bounds how many statements are remembered.
const maxMade = 8

// State makes, or remembers, the statement of a sale.
func (c *Closer) State(ctx context.Context, sale string) (*SignedStatement, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	head, err := c.Log.Head(ctx)
	if err != nil {
		return nil, fmt.Errorf("state sale %s: %w", sale, err)
	}
	s, err := c.remembered(ctx, sale, head.Number)
	if err != nil {
		return nil, err
	}
	if s == nil {
		if s, err = c.Fold(ctx, sale, head.Number); err != nil {
			return nil, err
		}
		c.remember(s)
	}
	issued, err := c.issued(ctx, s, head)
	if err != nil {
		return nil, fmt.Errorf("state sale %s: %w", sale, err)
	}
	key, err := c.Key(ctx)
	if err != nil {
		return nil, err
	}
	return SignStatement(s, issued, key)
}

// remembered gives the statement that was made last, if the log has no more about
// its sale since.
func (c *Closer) remembered(ctx context.Context, sale string, head int64) (*Statement, error) {
	s := c.made[sale]
	if s == nil {
		return nil, nil
	}
	at, ok, err := c.Log.At(ctx, s.Log.Last)
	if err != nil || !ok || at.Hash.String() != s.Log.Hash {
		return nil, err // the log went back
	}
	more, err := c.Log.Find(ctx, eventstore.Filter{SaleID: sale, To: head}, s.Log.Last, 1)
	if err != nil || len(more) > 0 {
		return nil, err
	}
	return s, nil
}

func (c *Closer) remember(s *Statement) {
	if c.made == nil || len(c.made) >= maxMade {
		c.made = map[string]*Statement{}
	}
	c.made[s.Sale.ID] = s
}

// Fold makes the statement of a sale from the log up to a position, included.
func (c *Closer) Fold(ctx context.Context, sale string, upTo int64) (*Statement, error) {
	f := newStatementFold(sale)
	var after int64
	for {
		page, err := c.Log.Find(ctx, eventstore.Filter{SaleID: sale, To: upTo}, after, statementPage)
		if err != nil {
			return nil, fmt.Errorf("read sale %s up to position %d: %w", sale, upTo, err)
		}
		for i := range page {
			if err := f.add(&page[i]); err != nil {
				return nil, fmt.Errorf("fold sale %s: %w", sale, err)
			}
			after = page[i].Position
		}
		if len(page) < statementPage {
			break
		}
	}
	switch {
	case f.sale.Version == 0:
		return nil, errNoSale()
	case !f.sale.Over(c.Env.Now()):
		return nil, &domain.Problem{Code: domain.CodeNotEnded}
	}
	return f.result(c.Store, func(position int64) (string, error) { return c.orderAt(ctx, position) })
}

// orderAt gives the order that the record at a position is about.
func (c *Closer) orderAt(ctx context.Context, position int64) (string, error) {
	r, _, err := c.Log.At(ctx, position)
	if err != nil {
		return "", fmt.Errorf("read position %d: %w", position, err)
	}
	return r.OrderID, nil
}

// issued tells when and over which log a statement is made.
func (c *Closer) issued(ctx context.Context, s *Statement, head eventstore.Mark) (Issued, error) {
	x := Issued{At: statedTime(c.Env.Now()), Head: head.Number, HeadHash: head.Hash.String(), SealHash: "-"}
	first, err := c.Log.SealOver(ctx, s.Log.First)
	if err != nil || first == nil || first.First > s.Log.First {
		return x, err
	}
	last, err := c.Log.SealOver(ctx, s.Log.Last)
	if err == nil && last == nil {
		last, err = c.Log.LastSeal(ctx)
	}
	if err != nil || last == nil {
		return x, err
	}
	x.SealFirst, x.SealLast, x.SealHash, x.SealedTo = first.Number, last.Number, last.Hash().String(), min(last.Last, s.Log.Last)
	return x, nil
}

// Recompute makes a statement again from the log as far as its maker saw it, and
// says ErrNotStated where the log says something else.
func (c *Closer) Recompute(ctx context.Context, x *SignedStatement, s *Statement) error {
	at, ok, err := c.Log.At(ctx, x.Issued.Head)
	if err != nil {
		return fmt.Errorf("read position %d: %w", x.Issued.Head, err)
	}
	switch {
	case s.Store != c.Store:
		return fmt.Errorf("%w: it is of the event store %s, and this is %s", ErrNotStated, s.Store, c.Store)
	case !ok || at.Hash.String() != x.Issued.HeadHash:
		return fmt.Errorf("%w: the log has another record at position %d than when it was made", ErrNotStated, x.Issued.Head)
	}
	again, err := c.Fold(ctx, s.Sale.ID, x.Issued.Head)
	var none *domain.Problem
	if errors.As(err, &none) {
		return fmt.Errorf("%w: %w", ErrNotStated, err)
	}
	if err != nil {
		return err
	}
	raw, err := json.Marshal(again)
	if err != nil {
		return fmt.Errorf("write the statement of sale %s: %w", s.Sale.ID, err)
	}
	digest, err := digestOf(raw)
	if err == nil && digest != x.SHA256 {
		err = fmt.Errorf("%w: the log gives a statement with the digest %s and not %s", ErrNotStated, digest, x.SHA256)
	}
	return err
}
