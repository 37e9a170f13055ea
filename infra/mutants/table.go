package mutants

// Mutant is one line that is broken, and what must notice.
type Mutant struct {
	Name string
	// File is where the line is, from the root of the module. Before is the line
	// without the blanks around it, which must stand there exactly once; After is
	// what stands in its place.
	File, Before, After string
	// Breaks is what the break is against: C1 to C6, or a promise in a word. Says is
	// what the test that catches it must have printed, "" for Breaks.
	Breaks, Says string
	// Package and Test are what runs: as `go test ./Package -run Test` has them.
	Package, Test string
	// Quick: it runs with every change, not by `make mutants` alone.
	Quick bool
}

const (
	// programs are run on a whole installation; see infra/cli/properties.
	programs = "infra/cli/properties"
	kept     = "^TestKeptPrograms$/"
	lies     = "^TestTheLogDefendsItselfAgainstAGateThatLies$/"
)

// Table lists every mutant.
func Table() []Mutant {
	return []Mutant{
		{
			Name: "the gate takes one unit, whatever was asked for",
			File: "infra/redisgate/scripts/reserve.lua", Breaks: "C2", Package: programs, Test: kept + "^units$",
			Before: "for l = 1, #lines do lines[l].stock.left = lines[l].stock.left - lines[l].quantity end",
			After:  "for l = 1, #lines do lines[l].stock.left = lines[l].stock.left - 1 end",
		},
		{
			Name: "the gate counts an order too few before it tells of a repeat",
			File: "infra/redisgate/scripts/reserve.lua", Breaks: "repeat", Says: "want repeat", Package: programs, Test: kept + "^repeat$", Quick: true,
			Before: "if live >= sale.allowed then return last_live end",
			After:  "if live > sale.allowed then return last_live end",
		},
		{
			Name: "the gate forgets to give units back",
			File: "infra/redisgate/scripts/apply_stock.lua", Breaks: "C2", Package: programs, Test: kept + "^units$",
			Before: "if was == 'T' then left = left + (tonumber(quantity) or 0) end",
			After:  "if was == 'X' then left = left + (tonumber(quantity) or 0) end",
		},
		{
			Name: "what Redis forgot is not taken again",
			File: "infra/redisgate/scripts/apply_stock.lua", Breaks: "C2", Package: programs, Test: kept + "^forgotten$",
			Before: "if unknown then take(e) end",
			After:  "if unknown then put(stock, 'h:' .. e.id, 'T|' .. int(e.quantity) .. '|' .. e.buyer) end",
		},
		{
			Name: "the recorder leaves the first purchase of an entry out",
			File: "commands/recorder.go", Breaks: "C3", Package: programs, Test: kept + "^units$",
			Before: "page = append(page, entry.purchases...)",
			After:  "page = append(page, entry.purchases[min(1, len(entry.purchases)):]...)",
		},
		{
			Name: "a recovery leaves what nobody recorded in the journal",
			File: "commands/recovery_drain.go", Breaks: "a 202 is kept", Says: "is rejected (lost)", Package: programs, Test: kept + "^left-in-the-journal$",
			Before: "if states[i].Version == 0 || states[i].Type == (&domain.OrderRejected{}).EventType() {",
			After:  "if states[i].Type == (&domain.OrderRejected{}).EventType() {",
		},
		{
			Name: "a process does not offer again what Redis forgot",
			File: "commands/kept.go", Breaks: "a 202 is kept", Says: "still holds", Package: programs, Test: kept + "^offered-again$",
			Before: "case p.entry.Epoch < c.Epoch || p.entry.N == 0:",
			After:  "case p.entry.N == 0:",
		},
		{
			// The database refuses such a guard as well, so that C1 holds all the same.
			Name: "the recorder trusts the gate's stock",
			File: "commands/draft.go", Breaks: "who is refused, and why", Says: "want a rejection for guard", Package: programs, Test: lies + "^about_its_stock$",
			Before: "if left+a.terms.OverdraftIn(l.SKU, a.Bucket) < l.Quantity {",
			After:  "if left+a.terms.OverdraftIn(l.SKU, a.Bucket) < -l.Quantity {",
		},
		{
			Name: "the recorder trusts the gate's limit",
			File: "commands/draft.go", Breaks: "C5", Package: programs, Test: lies + "^about_a_buyer's_units$",
			Before: "if domain.PassesLimit(orders, a.Lines, a.terms) {",
			After:  "if domain.PassesLimit(nil, a.Lines, a.terms) {",
		},
		{
			Name: "units that come back are counted twice by the guard",
			File: "commands/orders_end.go", Breaks: "C1", Package: programs, Test: kept + "^guard$",
			Before: "guard.Returned += change.Quantity",
			After:  "guard.Returned += 2 * change.Quantity",
		},
		{
			Name: "without a gate only the buyer's last order is looked at",
			File: "commands/direct_judge.go", Breaks: "C5", Package: programs, Test: kept + "^limit$",
			Before: "c.Orders = append(c.Orders, o)",
			After:  "c.Orders = append(c.Orders[:0], o)",
		},
		{
			Name: "a payment that fails ends a paid order",
			File: "domain/order_life.go", Breaks: "paid stays paid", Says: "want paid", Package: programs, Test: kept + "^paid$",
			Before: "if o.Status != OrderStatusPlaced {",
			After:  "if o.Status == OrderStatusCancelled {",
		},
		{
			Name: "the order view never changes a row",
			File: "projections/order_view.go", Breaks: "C3", Package: programs, Test: kept + "^units$",
			Before: "where order_view.version < excluded.version`",
			After:  "where order_view.version > excluded.version`",
		},
		{
			Name: "the stock log leaves out what comes in",
			File: "projections/stock_log.go", Breaks: "C4", Package: programs, Test: kept + "^units$",
			Before: "if c.quantity == 0 {",
			After:  "if c.quantity >= 0 {",
		},
		{
			Name: "a position is left out after two events of a batch",
			File: "eventstore/pgstore/plan.go", Breaks: "C6", Package: programs, Test: kept + "^units$", Quick: true,
			Before: "Position: last.Number + 1, ID: e.ID, Stream: stream, Version: p.stream(stream).Version + 1,",
			After:  "Position: last.Number + 1 + int64(len(p.records)/2), ID: e.ID, Stream: stream, Version: p.stream(stream).Version + 1,",
		},
	}
}
