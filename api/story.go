package api

import (
	"context"
	"errors"

	"seckill/commands"
	"seckill/domain"
)

// pathTrace is where the story of a purchase is told. What it is of stands in the query:
// a buyer's id may hold what a path cannot.
const (
	pathTrace   = "/api/v1/admin/trace"
	pathReceipt = "/api/v1/admin/receipts/{receipt}"
)

const traceDescription = `The whole story of purchases, read from gate, log and views as they are; no tracing backend need have run. id is an order, the trace id of
a purchase (X-Trace-Id of its answer) or a buyer: what it looks like, unless as says what it is. An order gives its one purchase, or 404. A buyer gives all
purchases in all sales, or in one with sale, the newest first, rejected ones too. A trace id gives the purchase it belongs to; none where nothing came of it:
a refused purchase leaves nothing in the log, its receipt is all there is. What is away is left out and named in unasked.`

const receiptDescription = `What the receipt of a refused purchase says, and what the log says of that moment: the state of the sale, its stock, and the orders of
the buyer who shows it. judgement says whether the refusal was right: contradicted where the log says that it was not, unknown where the log alone cannot tell,
no_claim where the refusal only asked to try again, forged where the signature is wrong; that, too, is 200.`

// Teller tells the stories of purchases.
type Teller interface {
	Tell(ctx context.Context, ask commands.StoryAsk) (commands.Story, error)
	// Explain tells what a receipt says, and what the log says of its moment.
	Explain(ctx context.Context, receipt, buyer string) (commands.ReceiptReport, error)
}

type traceRequest struct {
	ID    string `query:"id" required:"true" minLength:"1" maxLength:"128" doc:"An order id, a trace id or a buyer"`
	As    string `query:"as" enum:"order,buyer,trace" doc:"What id is; left out: what it looks like"`
	Sale  string `query:"sale" doc:"With a buyer: only this sale"`
	Limit int    `query:"limit" minimum:"1" maximum:"100" default:"20" doc:"With a buyer: how many purchases are told"`
}

type traceAnswer struct {
	Body commands.Story
}

// tracePurchase tells the story of purchases to an operator.
func (s *Server) tracePurchase(ctx context.Context, in *traceRequest) (*traceAnswer, error) {
	story, err := s.Teller.Tell(ctx, commands.StoryAsk{ID: in.ID, As: in.As, Sale: in.Sale, Limit: in.Limit})
	var p *domain.Problem
	if errors.As(err, &p) && p.Code == domain.CodeOrderNotFound {
		return nil, s.ofAnyOrder(err)
	}
	if err != nil {
		return nil, err
	}
	return &traceAnswer{Body: story}, nil
}

type receiptRequest struct {
	Receipt string `path:"receipt" maxLength:"200" doc:"As the problem document had it"`
	Buyer   string `query:"buyer" maxLength:"128" doc:"Who shows it: then the receipt is compared with this buyer, and their orders are told"`
}

type receiptAnswer struct {
	Body commands.ReceiptReport
}

// explainReceipt tells an operator what a receipt says.
func (s *Server) explainReceipt(ctx context.Context, in *receiptRequest) (*receiptAnswer, error) {
	report, err := s.Teller.Explain(ctx, in.Receipt, in.Buyer)
	if err != nil {
		return nil, err
	}
	return &receiptAnswer{Body: report}, nil
}
