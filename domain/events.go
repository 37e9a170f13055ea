package domain

// Event is a fact that happened. EventType gives its stored name. What happens to
// a sale, a stock and an order stands in events_sale.go, events_stock.go and
// events_order.go.
type Event interface{ EventType() string }
