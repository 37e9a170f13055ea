package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"seckill/commands"
	"seckill/domain"
	"seckill/eventstore"
	"seckill/infra/pg"
	"seckill/projections"
)

// OrderKeys turns the store's identity into what order ids are checked with.
func OrderKeys(id pg.Identity) domain.Keys {
	keys := domain.Keys{Current: uint8(id.NewestKey), Secrets: map[uint8][]byte{}}
	for number, secret := range id.OrderKeys {
		keys.Secrets[uint8(number)] = secret
	}
	return keys
}

// Locks gives the leader locks of a namespace as commands ask for them.
type Locks struct {
	Pool      *pgxpool.Pool
	Namespace string
}

// releaseBudget bounds giving a lock back.
const releaseBudget = 2 * time.Second

// Lock waits for a leader lock; see commands.Locks.
func (l Locks) Lock(ctx context.Context, name string) (context.Context, func(), error) {
	lease, err := pg.NewLeader(l.Pool, l.Namespace, name).Lock(ctx)
	if err != nil {
		return nil, nil, err
	}
	held, cancel := lease.Context(context.WithoutCancel(ctx))
	return held, func() {
		cancel()
		done, stop := context.WithTimeout(context.WithoutCancel(ctx), releaseBudget)
		defer stop()
		lease.Release(done)
	}, nil
}

// LaneLocks gives the leader locks for work that is short and frequent, on one session
// of its process; see commands.Locks. They are the same locks as those of Locks.
type LaneLocks struct{ Holder *pg.Holder }

// Lock waits for a leader lock; see commands.Locks.
func (l LaneLocks) Lock(ctx context.Context, name string) (context.Context, func(), error) {
	lock, err := l.Holder.Lock(ctx, name)
	if err != nil {
		return nil, nil, err
	}
	held, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	watching := make(chan struct{})
	go func() {
		defer close(watching)
		select {
		case <-lock.Lost():
			cancel(pg.ErrLeaseLost)
		case <-held.Done():
		}
	}()
	return held, func() {
		cancel(context.Canceled)
		<-watching
		lock.Release()
	}, nil
}

// lead runs work whenever this process leads name, until ctx ends. It gives the
// error of work, or why it could not lead.
func (l Locks) lead(ctx context.Context, name string, work func(context.Context) error) error {
	held, release, err := l.Lock(ctx, name)
	if err != nil {
		return fmt.Errorf("lead %s: %w", name, err)
	}
	defer release()
	leading, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(held, cancel)()
	return work(leading)
}

// Views answers what commands ask of the read models.
type Views struct {
	views *projections.Views
	store int16
}

// NewViews makes the answers of a store's read models.
func NewViews(db projections.DB, store int16) *Views {
	return &Views{views: projections.NewViews(db), store: store}
}

// Order gives an order; see commands.OrderView.
func (v *Views) Order(ctx context.Context, id string) (commands.OrderAnswer, bool, error) {
	o, ok, err := v.views.Order(ctx, id)
	return orderAnswer(o), ok, err
}

func orderAnswer(o projections.OrderAnswer) commands.OrderAnswer {
	return commands.OrderAnswer{Order: o.Order, PlacedAt: o.PlacedAt, TraceID: o.TraceID}
}

// OrdersOfBuyer pages through a buyer's orders; see commands.OrderView.
func (v *Views) OrdersOfBuyer(ctx context.Context, sale, buyer string, limit int, cursor string) (commands.OrderPage, error) {
	page, err := v.views.OrdersOfBuyer(ctx, sale, buyer, limit, cursor)
	if errors.Is(err, projections.ErrBadCursor) {
		return commands.OrderPage{}, domain.Invalid(domain.FieldError{Field: "cursor", Reason: "was not given by us"})
	}
	if err != nil {
		return commands.OrderPage{}, err
	}
	answer := commands.OrderPage{Next: page.Next, Orders: make([]commands.OrderAnswer, len(page.Orders))}
	for i, o := range page.Orders {
		answer.Orders[i] = orderAnswer(o)
	}
	return answer, nil
}

// snapshotPage bounds one statement of a snapshot.
const snapshotPage = 5000

// Snapshot reads the views of a sale at one moment; see commands.ViewReader.
func (v *Views) Snapshot(ctx context.Context, sale string) (commands.ViewSnapshot, error) {
	var s commands.ViewSnapshot
	err := v.views.Totals(ctx, v.store, func(t *projections.Totals) error {
		if err := snapshotPositions(t, &s); err != nil {
			return err
		}
		aside, err := t.Aside(ctx, projections.All())
		if err != nil {
			return err
		}
		for _, a := range aside {
			s.Aside = append(s.Aside, commands.ViewAside{
				Projection: a.Projection, Sequence: a.Sequence, First: a.First, Parked: a.State == projections.StateParked, Reason: a.Reason,
			})
		}
		return fillSnapshot(ctx, t, sale, &s)
	})
	return s, err
}

func snapshotPositions(t *projections.Totals, s *commands.ViewSnapshot) error {
	into := map[string]*[]int64{"order_view": &s.OrderView, "stock_log": &s.StockLog, "sale_summary": &s.Summary}
	for _, p := range projections.All() {
		positions, ok := into[p.Name]
		if !ok {
			continue
		}
		marks, err := t.At(p)
		if err != nil {
			return err
		}
		*positions = positionsOf(marks)
		s.Shards = len(marks)
	}
	return nil
}

func positionsOf(marks []eventstore.Mark) []int64 {
	positions := make([]int64, len(marks))
	for i, m := range marks {
		positions[i] = m.Number
	}
	return positions
}

func fillSnapshot(ctx context.Context, t *projections.Totals, sale string, s *commands.ViewSnapshot) error {
	after := ""
	for {
		page, err := t.Orders(ctx, sale, after, snapshotPage)
		if err != nil {
			return err
		}
		for _, o := range page {
			s.Orders = append(s.Orders, commands.ViewOrder{
				ID: o.ID, Buyer: o.BuyerID, Status: o.Status, Version: o.Version, Units: o.Units, Position: o.Position,
				RefundDue: o.RefundDue, Digest: commands.OrderDigest(orderAnswer(o.OrderAnswer)),
			})
			after = o.ID
		}
		if len(page) < snapshotPage {
			break
		}
	}
	if err := fillStock(ctx, t, sale, s); err != nil {
		return err
	}
	summary, err := t.Summary(ctx, sale)
	if err != nil {
		return err
	}
	for _, row := range summary {
		c := row.Counts
		s.Counts = append(s.Counts, commands.ViewCounts{
			Shard: row.Shard, Amount: row.Amount, Placed: c.Placed, Rejected: c.Rejected, Paid: c.Paid, Cancelled: c.Cancelled, Expired: c.Expired, Units: c.Units,
		})
	}
	return nil
}

// fillStock adds up the rows of the stock log as the reconciliation does.
func fillStock(ctx context.Context, t *projections.Totals, sale string, s *commands.ViewSnapshot) error {
	items := map[string]*commands.ViewStock{}
	err := t.EachStock(ctx, sale, func(r projections.StockRow) {
		if items[r.SKU] == nil {
			items[r.SKU] = &commands.ViewStock{SKU: r.SKU}
		}
		items[r.SKU].Add(commands.StockRow{Position: r.Position, SKU: r.SKU, Order: r.OrderID, Quantity: r.Quantity, At: r.At})
	})
	for _, sku := range slices.Sorted(maps.Keys(items)) {
		s.Stock = append(s.Stock, *items[sku])
	}
	return err
}
