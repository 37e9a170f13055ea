package api

import (
	"context"

	"seckill/commands"
)

const (
	pathPreheat = "/api/v1/admin/sales/{sale}/preheat"
	pathConfirm = "/api/v1/admin/sales/{sale}/confirmation"
)

const preheatDescription = "Builds what the gate lacks of the sale, brings up what stayed behind, and then answers like GET. " +
	"It changes nothing that is sold, however often it is called, also while the sale sells. A wrong account of units is told, not mended: that is a reconciliation's. " +
	"The log learns what was found (`sale.checked`), which raises the sale's version; a sale with `auto_open` false may be confirmed where that is nothing. " +
	"409 `version_conflict` where others change the sale all the while."

const verifyDescription = "Lists every key and value that the gate holds of the sale, but for what is of single buyers (`of_buyers` counts it), who may buy (tiers, list and tickets, and whether this node has the list and reaches the book of tickets), and every difference from what the log says it must be. " +
	"Units of a sale that sells are compared by an exact cut. It changes nothing."

const confirmDescription = "Lets a sale with `auto_open` false open at its time, or at once where that has passed. " +
	"409 `not_reconciled` unless the last preheat (POST) of the terms as they stand found no difference; a later change of anything but texts and closes_at takes preheat and confirmation back, another list of buyers before the confirmation the preheat. " +
	"Until then the sale shows `scheduled`, and purchases are 425 before opens_at and 503 `paused` from then on."

// PreheatView is what the gate holds of a sale and who may buy there, compared with
// the log.
type PreheatView struct {
	Sale        string              `json:"sale"`
	Version     int64               `json:"version" doc:"Of the sale that it was compared with"`
	Keys        int                 `json:"keys" doc:"How many values are listed"`
	Values      map[string]string   `json:"values" nullable:"false" doc:"By key and field"`
	OfBuyers    int64               `json:"of_buyers" doc:"Fields of single buyers and orders, which are not listed"`
	Verified    bool                `json:"verified" doc:"Whether everything is as the log says"`
	Differences []PreheatDifference `json:"differences" nullable:"false"`
}

// PreheatDifference is a value that is not what the log says.
type PreheatDifference struct {
	Key  string `json:"key" example:"stock:0000000g:shoe-42:0/available"`
	Want string `json:"want"`
	Got  string `json:"got" doc:"Empty where the gate has none"`
}

type preheatRequest struct {
	Sale string `path:"sale"`
}

type preheatAnswer struct {
	Body PreheatView
}

func preheatView(r commands.PreheatReport) *preheatAnswer {
	v := PreheatView{Sale: r.Sale, Version: r.Version, Keys: r.Keys, Values: r.Values, OfBuyers: r.OfBuyers, Verified: r.Verified,
		Differences: make([]PreheatDifference, len(r.Differences))}
	for i, d := range r.Differences {
		v.Differences[i] = PreheatDifference(d)
	}
	return &preheatAnswer{Body: v}
}

func (s *Server) preheat(ctx context.Context, in *preheatRequest) (*preheatAnswer, error) {
	report, err := s.Preheats.Full(ctx, in.Sale, actorOf(ctx, ""))
	if err != nil {
		return nil, err
	}
	s.logAction(ctx, "preheat-sale", in.Sale)
	return preheatView(report), nil
}

func (s *Server) verifyPreheat(ctx context.Context, in *preheatRequest) (*preheatAnswer, error) {
	report, err := s.Preheats.Verify(ctx, in.Sale)
	if err != nil {
		return nil, err
	}
	return preheatView(report), nil
}
