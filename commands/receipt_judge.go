package commands

import (
	"slices"
	"time"

	"seckill/domain"
)

// judge compares the refusal with what the log says of its moment.
func (e *explanation) judge() {
	if order, ok := e.ownOrder(); ok && judgedAfterRepeat(e.Code) {
		e.judged(ReceiptContradicted, "The buyer had order %s by then, %s: it should have been met instead of a refusal.", order.OrderID, order.Status)
		return
	}
	switch e.Code {
	case domain.CodeSoldOut:
		e.soldOut()
	case domain.CodeLimitExceeded:
		e.limit()
	case domain.CodeTooEarly:
		e.window(e.sale.Terms.OpensAt, true)
	case domain.CodeSaleEnded:
		e.ended()
	case domain.CodePaused:
		e.paused()
	case domain.CodeSaleNotFound:
		e.judged(ReceiptContradicted, "The log had the sale by then.")
	case domain.CodeSKUNotFound:
		e.item()
	case domain.CodeBusy, domain.CodeNotReady, domain.CodeRateLimited, domain.CodeInProgress:
		e.judged(ReceiptNoClaim, "It said to try again later, and nothing about units, orders or who may buy: %s", e.Code.Sentence("en"))
	case domain.CodeInvalidRequest, domain.CodeIdempotencyMismatch, domain.CodeInternal, domain.CodeForbidden, domain.CodeArchived:
		e.judged(ReceiptNoClaim, "It was about the request, or about us, and not about the sale: %s", e.Code.Sentence("en"))
	default:
		e.judged(ReceiptUnknown, "Whether the buyer might buy follows from their token and ticket, which are not stored: %s", e.Code.Sentence("en"))
	}
}

// judgedAfterRepeat tells whether a refusal comes only to who has no order: see the
// order of judgement.
func judgedAfterRepeat(c domain.Code) bool {
	switch c {
	case domain.CodeSoldOut, domain.CodeLimitExceeded, domain.CodeTooEarly, domain.CodeSaleEnded,
		domain.CodeNotEligible, domain.CodeTicketRequired, domain.CodeTicketInvalid:
		return true
	}
	return false
}

// ownOrder gives the order that a buyer with one order a sale would have met.
func (e *explanation) ownOrder() (ReceiptOrder, bool) {
	if e.sale.Terms.OrdersPerBuyer > 1 {
		return ReceiptOrder{}, false
	}
	i := slices.IndexFunc(e.report.Then.Orders, func(o ReceiptOrder) bool {
		return (o.Status == string(domain.OrderStatusPlaced) || o.Status == string(domain.OrderStatusPaid)) && o.AcceptedAt.Before(e.At.Add(-e.doubtOf()))
	})
	if i < 0 {
		return ReceiptOrder{}, false
	}
	return e.report.Then.Orders[i], true
}

func (e *explanation) soldOut() {
	stock := e.report.Then.Stock
	if len(stock) != 1 {
		e.judged(ReceiptUnknown, "Several items may have been meant; what was left of each stands beside it.")
		return
	}
	s, asked := stock[0], int64(max(e.Quantity, 1))
	e.say("Of %s: on sale by then %d, taken %d, given back %d, left %d.", s.SKU, s.Released, s.Taken, s.GivenBack, s.Left)
	single := e.report.Then.Buckets == 1 // else the receipt's number is that of one bucket
	switch {
	case e.Left >= asked:
		e.judged(ReceiptContradicted, "By the receipt itself: left %d, asked for %d.", e.Left, asked)
	case single && e.Left >= 0 && e.Left > s.Left:
		e.judged(ReceiptContradicted, "By the receipt: left %d. By the log: no more than %d.", e.Left, s.Left)
	case s.Left < asked:
		e.judged(ReceiptRight, "Asked for: %d.", asked)
	case s.Left-s.Unsure < asked:
		e.judged(ReceiptUnknown, "Asked for: %d. Up to %d of those left had just come or were going: they need not have been in the gate.", asked, s.Unsure)
	default:
		e.judged(ReceiptContradicted, "Asked for: %d. They were there.", asked)
	}
}

func (e *explanation) limit() {
	if e.buyer == "" {
		e.judged(ReceiptUnknown, "What the buyer held follows from their orders: name the buyer.")
		return
	}
	var held int64
	for _, o := range e.report.Then.Orders {
		if o.Status == string(domain.OrderStatusPlaced) || o.Status == string(domain.OrderStatusPaid) {
			held += o.Units
		}
	}
	limit := e.sale.Terms.LimitPerBuyer
	e.say("The buyer held %d by then and asked for %d; the limit was %d.", held, e.Quantity, limit)
	switch {
	case e.sale.On(domain.SkipPurchaseLimit):
		e.judged(ReceiptContradicted, "The limit was lifted by a switch.")
	case held+int64(e.Quantity) > limit:
		e.judged(ReceiptRight, "Together that passes the limit.")
	default:
		e.judged(ReceiptContradicted, "Together that is within the limit.")
	}
}

// window judges a refusal for coming before a time, or not before it.
func (e *explanation) window(at time.Time, early bool) {
	says := "The sale closed at %s, the refusal was at %s, give or take %s."
	if early {
		says = "The sale opened at %s, the refusal was at %s, give or take %s."
	}
	e.say(says, at.UTC().Format(time.RFC3339Nano), e.At.Format(time.RFC3339Nano), e.doubtOf())
	doubt := e.doubtOf()
	switch {
	case e.At.Add(doubt).Before(at) == early && e.At.Add(-doubt).Before(at) == early:
		e.judged(ReceiptRight, "The refusal was right.")
	case e.At.Add(doubt).Before(at) != early && e.At.Add(-doubt).Before(at) != early:
		e.judged(ReceiptContradicted, "The refusal was wrong.")
	default:
		e.judged(ReceiptUnknown, "That is closer than the time is known.")
	}
}

func (e *explanation) ended() {
	soon := slices.ContainsFunc(e.later, func(ev domain.Event) bool {
		switch ev := ev.(type) {
		case *domain.SaleClosed:
			return true
		case *domain.SwitchFlipped:
			return ev.Name == domain.ForceEnded && ev.On
		}
		return false
	})
	switch {
	case e.sale.Closed || e.sale.On(domain.ForceEnded):
		e.judged(ReceiptRight, "The sale was closed by an operator before.")
	case soon:
		e.judged(ReceiptRight, "An operator was closing the sale: the gate stops before it is recorded.")
	default:
		e.window(e.sale.Terms.ClosesAt, false)
	}
}

func (e *explanation) paused() {
	soon := slices.ContainsFunc(e.later, func(ev domain.Event) bool {
		switch ev := ev.(type) {
		case *domain.SalePaused:
			return true
		case *domain.SwitchFlipped:
			return ev.Name == domain.PausePurchases && ev.On
		}
		return false
	})
	switch {
	case e.sale.Halted():
		e.judged(ReceiptRight, "The sale was paused by then.")
	case soon:
		e.judged(ReceiptRight, "The sale was being paused: the gate stops before it is recorded.")
	default:
		e.judged(ReceiptUnknown, "The log knows of no pause at that moment; a gate also pauses until a pause that ended is taken from it.")
	}
}

func (e *explanation) item() {
	switch {
	case e.Item == 0:
		e.judged(ReceiptUnknown, "Several items were asked for.")
	case len(e.report.Then.Stock) == 0:
		e.judged(ReceiptRight, "The sale had no such item.")
	default:
		e.judged(ReceiptUnknown, "The sale had %s, which has the same hash as what was asked for, or is it.", e.report.Then.Stock[0].SKU)
	}
}
