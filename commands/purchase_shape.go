package commands

import (
	"fmt"
	"slices"

	"seckill/domain"
)

// checkPurchase checks the shape of a purchase against its sale.
func checkPurchase(sale *domain.Sale, req *PurchaseRequest) error {
	var bad []domain.FieldError
	if len(req.Lines) < 1 || len(req.Lines) > domain.MaxLines {
		bad = append(bad, domain.FieldError{Field: "lines", Reason: fmt.Sprintf("want 1 to %d lines", domain.MaxLines)})
	}
	for i, l := range req.Lines {
		if l.Quantity < 1 || l.Quantity > domain.MaxQuantity {
			bad = append(bad, domain.FieldError{Field: fmt.Sprintf("lines[%d].quantity", i), Reason: "want a whole number from 1 to 2147483647"})
		}
		if slices.ContainsFunc(req.Lines[:i], func(before domain.Line) bool { return before.SKU == l.SKU }) {
			bad = append(bad, domain.FieldError{Field: fmt.Sprintf("lines[%d].sku", i), Reason: "stands twice in this purchase"})
		}
	}
	if len(bad) == 0 && domain.Units(req.Lines) > domain.MaxQuantity {
		bad = append(bad, domain.FieldError{Field: "lines", Reason: "want at most 2147483647 units in all"})
	}
	if sale.Terms.OrdersPerBuyer > 1 && req.IdempotencyKey == "" {
		bad = append(bad, domain.FieldError{Field: "Idempotency-Key", Reason: "is required where a buyer may have several orders"})
	}
	if len(bad) > 0 {
		return domain.Invalid(bad...)
	}
	return nil
}
