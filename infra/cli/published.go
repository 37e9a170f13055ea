package cli

import (
	"context"
	"encoding/json"
	"log/slog"
	"strings"

	"seckill/domain"
	"seckill/eventstore"
)

// logPublished writes a line for each purchase that was decided in a page of the log
// which is published: what store and bus made of it. With the line of its answer ("purchase
// accepted") it is all there is of one trace id. The relay writes it, so that no purchase and no
// recording waits for it; after a crash some come twice.
func (a *app) logPublished(page []eventstore.Record) {
	ctx := context.Background()
	if !a.log.Enabled(ctx, slog.LevelInfo) {
		return
	}
	for i := range page {
		r := &page[i]
		if r.Version != 1 || r.OrderID == "" || !strings.HasPrefix(r.Type, "order.") {
			continue
		}
		var meta struct {
			TraceID string `json:"trace_id"`
		}
		var order struct {
			Buyer  string        `json:"buyer_id"`
			Reason domain.Reason `json:"reason"`
		}
		if json.Unmarshal(r.Metadata, &meta) != nil || json.Unmarshal(r.Payload, &order) != nil {
			continue // the views say what is wrong with it
		}
		store := strings.TrimPrefix(r.Type, "order.")
		if order.Reason != "" {
			store += ": " + string(order.Reason)
		}
		a.log.LogAttrs(ctx, slog.LevelInfo, "purchase recorded", slog.String("trace_id", meta.TraceID), slog.String("buyer_id", order.Buyer),
			slog.String("sale_id", r.SaleID), slog.String("order_id", r.OrderID), slog.String("store", store), slog.Int64("position", r.Position), slog.String("bus", "published"))
	}
}
