package commands

import (
	"errors"
	"fmt"

	"seckill/domain"
	"seckill/eventstore"
)

// accepted is one purchase on its way from the journal into the log.
type accepted struct {
	Purchase
	raw   []byte
	terms domain.Terms
	entry domain.EntryID
	at    int64 // the gate's clock, microseconds
	// bad says why the purchase cannot be read or recorded; then it is poison.
	bad error
	// lost says why nothing is held for it any more; then it is rejected as lost.
	lost string
	// by is who records it; "" for the recorder.
	by string
	// refused: the order is known to be rejected, and these of its stock streams
	// already hold a stock.refused. Read before the lock; nil means not read.
	refused map[string]bool
}

// errReadRefusals asks for accepted.refused: the order turned out to be
// rejected, and only the log tells which stock streams know.
var errReadRefusals = errors.New("read what became of rejected orders first")

// draft collects what one page of purchases adds to the log, judging each with
// what stands under the log lock and what the page itself has decided so far.
type draft struct {
	env     *Env
	look    eventstore.Look
	group   *eventstore.Group
	guards  map[string]*eventstore.Guard
	touched []string
	claims  map[eventstore.ClaimKey][]eventstore.Claim
	decided map[string]bool
	added   map[string]int64    // events that the draft appends, by stock stream
	placed  *domain.OrderPlaced // the latest that place added
	// metaOf is the purchase that metadata is of.
	metaOf   *accepted
	metadata []byte
}

func newDraft(env *Env, look eventstore.Look) *draft {
	return &draft{
		env: env, look: look, group: &eventstore.Group{},
		guards: map[string]*eventstore.Guard{}, claims: map[eventstore.ClaimKey][]eventstore.Claim{}, decided: map[string]bool{},
		added: map[string]int64{},
	}
}

// pageNeeds names everything that judging a page looks at.
func pageNeeds(page []accepted, lanes ...int) eventstore.Needs {
	needs := eventstore.Needs{Lanes: lanes}
	seen := map[string]bool{}
	claims := map[eventstore.ClaimKey]bool{}
	for i := range page {
		p := &page[i]
		needs.Streams = append(needs.Streams, p.orderStream())
		for _, stream := range p.stockStreams() {
			if !seen[stream] {
				seen[stream] = true
				needs.Streams = append(needs.Streams, stream)
				needs.Guards = append(needs.Guards, stream)
			}
		}
		if sale := domain.SaleStream(p.Sale); !seen[sale] {
			seen[sale] = true
			needs.Streams = append(needs.Streams, sale)
		}
		key := eventstore.ClaimKey{SaleID: p.Sale, BuyerID: p.Buyer}
		if p.bad == nil && !claims[key] {
			claims[key] = true
			needs.Claims = append(needs.Claims, key)
		}
	}
	return needs
}

// orderStream names the order's stream. What has no order id that we issued
// gets a stream by its entry, so that it leaves a trace all the same.
func (a *accepted) orderStream() string {
	if a.Order == "" {
		return domain.OrderStream("entry-" + a.entry.String())
	}
	return domain.OrderStream(a.Order)
}

// entryName names the entry that took the units, "" where none did: a promise that
// the gate forgot.
func (a *accepted) entryName() string {
	if a.entry == (domain.EntryID{}) {
		return ""
	}
	return a.entry.String()
}

// clean leaves out, of a purchase that cannot be recorded, every name that cannot
// be one of ours: its raw bytes keep them, and nothing that reads the log later
// trips over them.
func (a *accepted) clean() {
	if _, err := domain.ParseOrderID(a.Order); err != nil {
		a.Order, a.Lines = "", nil
	}
	if _, err := domain.ParseSaleID(a.Sale); err != nil {
		a.Sale, a.Lines = "", nil
	}
	if !domain.ValidBuyer(a.Buyer) {
		a.Buyer = ""
	}
	for _, l := range a.Lines {
		if !domain.ValidSKU(l.SKU) || l.Quantity < 1 || l.Quantity > domain.MaxQuantity {
			a.Lines = nil
			return
		}
	}
}

// stockStreams names the stock stream of each line.
func (a *accepted) stockStreams() []string {
	streams := make([]string, len(a.Lines))
	for i, l := range a.Lines {
		streams[i] = domain.StockStream(a.Sale, l.SKU, a.Bucket)
	}
	return streams
}

// add decides one purchase: placed, rejected with a reason, or decided before.
func (d *draft) add(a *accepted) error {
	stream := a.orderStream()
	if d.decided[stream] {
		return nil
	}
	d.decided[stream] = true
	if state := d.look.Stream(stream); state.Version > 0 {
		return d.addDecided(a, state)
	}
	if a.bad != nil {
		return d.reject(a, domain.RejectedPoison, a.bad.Error())
	}
	if a.lost != "" {
		return d.reject(a, domain.RejectedLost, a.lost)
	}
	if d.look.Stream(domain.SaleStream(a.Sale)).Type == cleanedType() {
		// Only an older copy of a gate still holds it: its books are closed.
		return d.reject(a, domain.RejectedLost, "the sale was cleaned up before this was recorded")
	}
	claims := d.claimsOf(a)
	if reason, detail := d.judge(a, claims); reason != "" {
		return d.reject(a, reason, detail)
	}
	return d.place(a, claims)
}

// addDecided leaves what is decided as it is. An entry whose order was already
// rejected, and which some of its stock streams know nothing of, leaves a
// refusal there, so that the gate gives back what this entry took.
func (d *draft) addDecided(a *accepted, state eventstore.StreamState) error {
	if state.Type != (&domain.OrderRejected{}).EventType() || a.bad != nil {
		return nil
	}
	if a.refused == nil {
		return errReadRefusals
	}
	for i, stream := range a.stockStreams() {
		if a.refused[stream] {
			continue
		}
		if err := d.refuse(a, a.Lines[i], stream, domain.RejectedLost); err != nil {
			return err
		}
	}
	return nil
}

// judge re-checks what the log defends by itself: double orders and limit by the
// claims, stock by the guards, all by the terms in force when the gate said yes.
func (d *draft) judge(a *accepted, claims []eventstore.Claim) (domain.Reason, string) {
	orders := make([]domain.BuyerOrder, len(claims))
	for i, c := range claims {
		orders[i] = domain.BuyerOrder{ID: c.OrderID, Units: c.Quantity, State: domain.Over}
		if c.Live {
			orders[i].State = domain.Live
		}
	}
	if id := domain.RepeatOf(orders, a.terms); id != "" {
		return domain.RejectedDuplicate, "the buyer already has order " + id
	}
	if domain.PassesLimit(orders, a.Lines, a.terms) {
		return domain.RejectedLimit, fmt.Sprintf("%d held, limit %d", domain.NetUnits(orders), a.terms.LimitPerBuyer)
	}
	for i, stream := range a.stockStreams() {
		left, l := d.guard(stream).Left(), a.Lines[i]
		if left+a.terms.OverdraftIn(l.SKU, a.Bucket) < l.Quantity {
			return domain.RejectedGuard, fmt.Sprintf("%d left of %s in the log", left, a.Lines[i].SKU)
		}
	}
	return "", ""
}

func (d *draft) claimsOf(a *accepted) []eventstore.Claim {
	key := eventstore.ClaimKey{SaleID: a.Sale, BuyerID: a.Buyer}
	claims, ok := d.claims[key]
	if !ok {
		claims = d.look.Claims(key)
		d.claims[key] = claims
	}
	return claims
}

func (d *draft) guard(stream string) *eventstore.Guard {
	g, ok := d.guards[stream]
	if !ok {
		seen := d.look.Guard(stream)
		seen.Stream = stream
		g = &seen
		d.guards[stream] = g
	}
	return g
}

// touch notes that a stock stream grew, so that its guard follows its version.
func (d *draft) touch(stream string) *eventstore.Guard {
	g := d.guard(stream)
	for _, t := range d.touched {
		if t == stream {
			return g
		}
	}
	d.touched = append(d.touched, stream)
	return g
}

func (d *draft) place(a *accepted, claims []eventstore.Claim) error {
	lines, amount, err := priced(a.Lines, a.terms)
	if err != nil {
		return err
	}
	entry := a.entryName()
	for i, stream := range a.stockStreams() {
		l := a.Lines[i]
		err := d.append(a, stream, d.next(stream), &domain.StockReserved{
			SaleID: a.Sale, SKU: l.SKU, Bucket: a.Bucket, OrderID: a.Order, BuyerID: a.Buyer,
			Quantity: l.Quantity, Entry: entry, Key: a.Key, BodyHash: a.Body, Ticket: a.Ticket,
		})
		if err != nil {
			return err
		}
		g := d.touch(stream)
		g.Reserved += l.Quantity
		g.Overdraft = max(g.Overdraft, a.terms.OverdraftIn(l.SKU, a.Bucket))
	}
	at := microTime(a.at)
	claim := eventstore.Claim{
		SaleID: a.Sale, BuyerID: a.Buyer, Ordinal: len(claims) + 1, OrderID: a.Order,
		Quantity: domain.Units(a.Lines), Live: true, Key: a.Key, BodyHash: a.Body,
	}
	d.claims[eventstore.ClaimKey{SaleID: a.Sale, BuyerID: a.Buyer}] = append(claims[:len(claims):len(claims)], claim)
	d.group.Claims = append(d.group.Claims, claim)
	d.placed = &domain.OrderPlaced{
		OrderID: a.Order, SaleID: a.Sale, BuyerID: a.Buyer, Bucket: a.Bucket, Lines: lines, Amount: amount,
		// The time to pay begins when the order can be paid: a purchase that waited for
		// a store that was away is not over before its buyer is told.
		AcceptedAt: at, PayBy: d.look.Now().Add(seconds(a.terms.PaymentWindow)), Entry: entry,
		Ordinal: claim.Ordinal, Key: a.Key, BodyHash: a.Body, TermsVersion: a.terms.Version,
	}
	return d.append(a, a.orderStream(), 0, d.placed)
}

// reject records, in one group, that the purchase is not kept: the order's
// rejection and a refusal in each stock stream.
func (d *draft) reject(a *accepted, reason domain.Reason, detail string) error {
	rejected := &domain.OrderRejected{
		OrderID: a.Order, SaleID: a.Sale, BuyerID: a.Buyer, Bucket: a.Bucket, Lines: a.Lines,
		Reason: reason, Entry: a.entryName(), Detail: detail,
	}
	if reason == domain.RejectedPoison {
		rejected.Raw = a.raw
	}
	if err := d.append(a, a.orderStream(), 0, rejected); err != nil {
		return err
	}
	for i, stream := range a.stockStreams() {
		if err := d.refuse(a, a.Lines[i], stream, reason); err != nil {
			return err
		}
	}
	return nil
}

// refuse writes a refusal into a stock stream that exists.
func (d *draft) refuse(a *accepted, l domain.Line, stream string, reason domain.Reason) error {
	if d.look.Stream(stream).Version == 0 {
		return nil
	}
	d.touch(stream)
	return d.append(a, stream, d.next(stream), &domain.StockRefused{
		SaleID: a.Sale, SKU: l.SKU, Bucket: a.Bucket, OrderID: a.Order, BuyerID: a.Buyer,
		Quantity: l.Quantity, Entry: a.entryName(), Reason: reason,
	})
}

func (d *draft) append(a *accepted, stream string, expected int64, ev domain.Event) error {
	if d.metaOf != a { // all events of a purchase say the same about how they came to be
		metadata, err := Meta{TraceID: a.TraceID, Entry: a.entryName(), By: orDefault(a.by, "recorder"), Node: a.Node}.encode()
		if err != nil {
			return err
		}
		d.metaOf, d.metadata = a, metadata
	}
	stored, err := d.env.newEventWith(ev, a.Sale, a.Order, d.metadata)
	if err != nil {
		return err
	}
	d.group.Appends = append(d.group.Appends, eventstore.Append{Stream: stream, Expected: expected, Events: []eventstore.NewEvent{stored}})
	return nil
}

// next gives the version that a stock stream has when it is appended to next. At any
// version would cost the store a question for each event, whether it stands there
// already; the lock, and the cursor or the order, keep these from coming twice.
func (d *draft) next(stream string) int64 {
	version := d.look.Stream(stream).Version + d.added[stream]
	d.added[stream]++
	return version
}

// done closes the draft: guards follow their streams.
func (d *draft) done() *eventstore.Group {
	for _, stream := range d.touched {
		d.group.Guards = append(d.group.Guards, *d.guards[stream])
	}
	return d.group
}
