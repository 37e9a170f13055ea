package commands

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"time"

	"seckill/domain"
)

// PurchaseRequest asks to buy. Buyer and Tier come from the signed token, never
// from the body.
type PurchaseRequest struct {
	Buyer string
	Tier  string
	Sale  string
	Lines []domain.Line
	// IdempotencyKey is the caller's text, "" without one; Route keeps keys of
	// different calls apart; BodyHash is a hexadecimal digest of the body.
	IdempotencyKey string
	// Ticket is the purchase ticket as it was sent, "" without one.
	Ticket   string
	Route    string
	BodyHash string
	TraceID  string
	// Judged, if set, is called when the gate has accepted the purchase and nothing is
	// left but to wait for its record: then it keeps nobody from the gate any more.
	Judged func()
	// ahead is what LookAhead saw, nil for nothing.
	ahead *foresight
}

// PurchaseResult is the answer to a purchase. With Reserved, Repeat and
// SameOrder there is an Order, with its status as of now.
type PurchaseResult struct {
	Outcome domain.Outcome
	Order   OrderAnswer
	// Repeat: this order was there before this request.
	Repeat  bool
	OpensAt time.Time
	Now     time.Time
	// Moment is when the gate refused; of a refusal that no gate was asked for it is zero.
	Moment GateMoment
	// Left is how many units were left then of the one item that was asked for, with
	// SoldOut alone; domain.Unknown where nobody counted.
	Left int64
	// unseen: nobody could see yet what the gate decided.
	unseen bool
	// record is set where this very purchase was accepted.
	record *toRecord
}

// PurchaserOptions tune a Purchaser; zero values take the defaults.
type PurchaserOptions struct {
	// GateBudget bounds one question to the gate (1 s).
	GateBudget time.Duration
	// ResolveBudget bounds finding out what became of a purchase whose answer did
	// not arrive (2 s). After it the answer is 202 queued.
	ResolveBudget time.Duration
	// DirectBudget bounds judging and recording a purchase of a sale that has no gate
	// (1 s).
	DirectBudget time.Duration
	// FindBudget bounds looking up the order that a repeat meets (1 s); one that
	// cannot be looked up in time is told as queued.
	FindBudget time.Duration
	// OwnerLookups bounds how many owners are looked up in the read model at once
	// while the gate is away (8); the others are told not_ready.
	OwnerLookups int
	// Members tells who is on a sale's list. Nil: it cannot be told, and nobody new
	// buys where a sale has one.
	Members MemberJudge
	// Holders tells who has no ticket and never had one. Nil: the gate is asked.
	Holders TicketHolders
	// Tally counts what the gate was asked for; nil counts nothing.
	Tally *Tally
	// Clock lets who comes long before the opening be refused from memory, and
	// Shortages who comes when nothing is left by a look at the gate. Where one is
	// nil, Reserve judges.
	Clock     *GateClock
	Shortages Shortages
	// Buckets brings units to a home bucket that ran short, and says when a sale of
	// several buckets is sold out. Nil: then such a purchase is told busy.
	Buckets *Leveller
	// BringBudget bounds waiting for those units (250 ms); after it the answer is busy.
	BringBudget time.Duration
	// Placed tells when the log has decided what the gate accepted. Nil: no answer
	// waits for that.
	Placed *Placed
	// OnAccepted, if set, hears of each purchase that the gate accepted, and when it was
	// asked. It must not block.
	OnAccepted func(r *Reservation, v *Verdict, began time.Time)
	// OnKnown, if set, hears of each answer that was given without Reserve, by its
	// kind: see KnownAnswers.
	OnKnown func(kind string)
}

func (o PurchaserOptions) withDefaults() PurchaserOptions {
	if o.GateBudget == 0 {
		o.GateBudget = time.Second
	}
	if o.ResolveBudget == 0 {
		o.ResolveBudget = 2 * time.Second
	}
	if o.DirectBudget == 0 {
		o.DirectBudget = time.Second
	}
	if o.FindBudget == 0 {
		o.FindBudget = time.Second
	}
	if o.BringBudget == 0 {
		o.BringBudget = 250 * time.Millisecond
	}
	if o.OwnerLookups == 0 {
		o.OwnerLookups = 8
	}
	return o
}

// Purchaser buys. Business refusals are outcomes; errors a person may see are
// *domain.Problem.
type Purchaser struct {
	env    *Env
	sales  *Sales
	gate   Gate
	finder *Finder
	kept   *Kept
	opts   PurchaserOptions
	owners chan struct{}
	short  shortMarks
	orders buyerOrders
}

// NewPurchaser makes a Purchaser. kept remembers what is acknowledged here until
// the log has it.
func NewPurchaser(env *Env, sales *Sales, gate Gate, finder *Finder, kept *Kept, opts PurchaserOptions) *Purchaser {
	opts = opts.withDefaults()
	return &Purchaser{
		env: env, sales: sales, gate: gate, finder: finder, kept: kept, opts: opts,
		owners: make(chan struct{}, opts.OwnerLookups),
	}
}

// Purchase judges one purchase. An outcome of the gate that could not be seen is
// found out; only where the gate stays away is the answer a queued order that is
// found out later. Once the gate was asked, a caller that hangs up changes
// nothing.
func (p *Purchaser) Purchase(ctx context.Context, req PurchaseRequest) (PurchaseResult, error) {
	var arrived time.Time
	if p.opts.Tally != nil {
		arrived = p.env.Now()
	}
	sale, err := p.saleOf(ctx, &req)
	if err != nil {
		return PurchaseResult{}, err
	}
	if err := checkPurchase(&sale.Sale, &req); err != nil {
		return PurchaseResult{}, err
	}
	if sale.Cleaned {
		return p.afterCleanUp(ctx, sale.Sale, req.Buyer), nil
	}
	if unknownItem(&sale.Sale, req.Lines) {
		return p.unknownItem(ctx, sale, req)
	}
	awaitMembers(ctx, p.opts.Members, &sale.Sale)
	result, known, err := p.known(ctx, &sale, &req)
	if !known && err == nil {
		if result, err = p.reserve(ctx, sale.Sale, req); err == nil {
			result = p.awaitRecord(ctx, &sale.Sale, &req, result)
			p.learn(&sale, &req, result)
		}
	}
	p.opts.Tally.purchase(&sale.Sale, req.Buyer, arrived, result, err)
	return result, err
}

// afterCleanUp answers for a sale that the gate does not hold any more: owners meet
// their order, where the view knows it, and everybody else hears that it is over.
func (p *Purchaser) afterCleanUp(ctx context.Context, sale domain.Sale, buyer string) PurchaseResult {
	if order, ok := p.ownOrder(ctx, sale, buyer); ok {
		return PurchaseResult{Outcome: domain.Repeat, Repeat: true, Order: order}
	}
	return PurchaseResult{Outcome: domain.Ended}
}

// unknownItem answers for a purchase of what the sale does not have. Key and
// repeat are judged before: the gate is asked as somebody who may not buy, so
// that it can say those two and can take nothing.
func (p *Purchaser) unknownItem(ctx context.Context, folded FoldedSale, req PurchaseRequest) (PurchaseResult, error) {
	if p.hasNothing(&folded, &req) {
		return PurchaseResult{}, &domain.Problem{Code: domain.CodeSKUNotFound}
	}
	sale := folded.Sale
	r, err := p.reservation(sale, req)
	if err != nil {
		return PurchaseResult{}, err
	}
	r.Eligible, r.Lines = false, []domain.Line{{SKU: r.Items[0], Quantity: 1}}
	asked, cancel := context.WithTimeout(ctx, p.budget(sale))
	defer cancel()
	verdict, err := p.gate.Reserve(asked, r)
	switch {
	case err != nil:
		return PurchaseResult{}, &domain.Problem{Code: domain.CodeBusy}
	case verdict.Outcome == domain.SameOrder, verdict.Outcome == domain.Repeat, verdict.Outcome == domain.KeyMismatch:
		return p.answer(ctx, sale, req, r, verdict)
	}
	return PurchaseResult{}, &domain.Problem{Code: domain.CodeSKUNotFound}
}

// reserve asks the gate, and once more under a new id when the first try ended
// as a tombstone; and again whenever a home bucket that ran short has got units, or once
// nothing is left anywhere: what took the last units may be the buyer's own order.
func (p *Purchaser) reserve(ctx context.Context, sale domain.Sale, req PurchaseRequest) (PurchaseResult, error) {
	var wait bringing
	gone := false // nothing was left in any bucket, since before the gate was asked
	for tries := 0; tries < 2; {
		r, err := p.reservation(sale, req)
		if err != nil {
			return PurchaseResult{}, err
		}
		p.env.step("purchase.before-gate")
		asked, cancel := detached(ctx, p.budget(sale))
		verdict, err := p.ask(asked, &r)
		cancel()
		p.env.step("purchase.after-gate")
		switch {
		case IsUnknown(err):
			result, again := p.findOut(ctx, sale, r)
			if !again {
				return result, nil
			}
			tries++
			continue
		case err != nil:
			p.env.Log.Warn("gate did not answer", "trace_id", req.TraceID, "buyer_id", req.Buyer, "sale_id", req.Sale, "error", err)
			return PurchaseResult{}, &domain.Problem{Code: domain.CodeBusy}
		case verdict.Outcome == domain.SoldOut && several(&sale) && gone:
			return PurchaseResult{Outcome: domain.SoldOut, Moment: verdict.moment(r.Place.Bucket), Left: domain.Unknown}, nil
		case verdict.Outcome == domain.SoldOut && several(&sale):
			brought := wait.bring(ctx, p, &sale, &r)
			if brought == UnitsAway {
				return PurchaseResult{}, &domain.Problem{Code: domain.CodeBusy}
			}
			gone = brought == UnitsNone
			continue
		}
		return p.answer(ctx, sale, req, r, verdict)
	}
	return PurchaseResult{}, &domain.Problem{Code: domain.CodeBusy}
}

// ask asks the gate, which gives the first answer to whoever asks again.
func (p *Purchaser) ask(ctx context.Context, r *Reservation) (Verdict, error) {
	if p.opts.OnAccepted == nil {
		return p.gate.Reserve(ctx, *r)
	}
	began := p.env.Now()
	v, err := p.gate.Reserve(ctx, *r)
	if err == nil && v.Outcome == domain.Reserved {
		p.opts.OnAccepted(r, &v, began)
	}
	return v, err
}

// answer turns a verdict into what the buyer is told.
func (p *Purchaser) answer(ctx context.Context, sale domain.Sale, req PurchaseRequest, r Reservation, v Verdict) (PurchaseResult, error) {
	result := PurchaseResult{Outcome: v.Outcome, OpensAt: v.OpensAt, Now: v.Now, Moment: v.moment(r.Place.Bucket)}
	switch v.Outcome {
	case domain.SoldOut:
		result.Left = leftOf(req.Lines)
	case domain.Reserved:
		if v.Placed != nil {
			return p.recorded(*v.Placed), nil
		}
		return p.accepted(r, v), nil
	case domain.SameOrder, domain.Repeat:
		if v.Order == r.Order {
			// Our own script ran twice: this is its first answer.
			if r.Place.Direct {
				return PurchaseResult{Outcome: domain.Reserved, Order: p.orderOf(ctx, r, v.Order)}, nil
			}
			return p.accepted(r, v), nil
		}
		result.Repeat, result.Order = true, p.orderOf(ctx, r, v.Order)
	case domain.NotReady:
		if met, ok := p.ownMet(ctx, sale, r); ok {
			return met, nil
		}
		if sale.Ended() { // also cleaned up, a moment ago: the gate need not hold it any more
			result.Outcome = domain.Ended
		}
	case domain.Paused:
		switch met, order, ok := p.kept.heldBack(sale, r); {
		case ok && met == domain.KeyMismatch:
			result.Outcome = met
		case ok:
			result.Outcome, result.Repeat, result.Order = met, true, p.orderOf(ctx, r, order)
		}
	case domain.NotEligible:
		if r.Unsure { // the buyer has no order, and the list is not in memory
			result.Outcome = domain.NotReady
		}
	case domain.Refused:
		return PurchaseResult{}, &domain.Problem{Code: domain.CodeBusy}
	}
	return result, nil
}

// leftOf tells how many units are left where a purchase was told sold out: none, if it
// asked for one.
func leftOf(lines []domain.Line) int64 {
	if len(lines) == 1 && lines[0].Quantity == 1 {
		return 0
	}
	return domain.Unknown
}

// orderOf looks up the order that a repeat meets. That the buyer has it is certain;
// where its status cannot be looked up now, it is told as queued, to be polled.
func (p *Purchaser) orderOf(ctx context.Context, r Reservation, order string) OrderAnswer {
	look, cancel := context.WithTimeout(ctx, p.opts.FindBudget)
	defer cancel()
	answer, err := p.finder.Find(look, r.Buyer, order)
	if err != nil {
		p.env.Log.Warn("order of a repeat not looked up", "trace_id", r.TraceID, "buyer_id", r.Buyer, "order_id", order, "error", err)
		r.Order = order
		return queuedOrder(r).waitingFor(domain.WaitingForLog)
	}
	return answer
}

func queuedOrder(r Reservation) OrderAnswer {
	return OrderAnswer{TraceID: r.TraceID, WaitingFor: domain.WaitingForRecorder, Order: domain.Order{
		ID: r.Order, SaleID: r.Place.Sale, BuyerID: r.Buyer, Bucket: r.Place.Bucket, Status: domain.OrderStatusQueued,
	}}
}

// reservation builds the question to the gate, with a new order id.
func (p *Purchaser) reservation(sale domain.Sale, req PurchaseRequest) (Reservation, error) {
	place := placeOfBuyer(p.env.Store, sale, req.Buyer)
	var random [10]byte
	if _, err := io.ReadFull(p.env.Random, random[:]); err != nil {
		return Reservation{}, fmt.Errorf("make an order id: %w", err)
	}
	order, err := domain.NewOrderID(p.env.Keys, place, req.Buyer, random)
	if err != nil {
		return Reservation{}, fmt.Errorf("make an order id: %w", err)
	}
	r := Reservation{
		Order: order, Buyer: req.Buyer, Place: place, Lines: req.Lines, Items: sale.SKUs(),
		TraceID: req.TraceID, Node: p.env.Node, Strength: sale.Terms.Acknowledgement,
	}
	p.judgeBuyer(&r, &sale, &req)
	if req.IdempotencyKey != "" {
		r.Key, r.BodyHash = KeyDigest(req.Buyer, sale.ID, req.Route, req.IdempotencyKey), req.BodyHash
	}
	return r, nil
}

func eligible(tiers []string, tier string) bool {
	return len(tiers) == 0 || slices.Contains(tiers, tier)
}

// KeyDigest gives the form in which an idempotency key is stored: 32 hexadecimal
// digits over buyer, sale, route and key.
func KeyDigest(buyer, sale, route, key string) string {
	h := sha256.New()
	for _, part := range []string{buyer, sale, route, key} {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}
