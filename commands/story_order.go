package commands

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"seckill/domain"
	"seckill/eventstore"
)

// purchase tells one order; known is false where log and gate say that they have none.
func (t *Teller) purchase(ctx context.Context, id string, s *Story) (p PurchaseStory, known bool, err error) {
	ref, err := domain.ParseOrderID(id)
	if err != nil { // the entry of a purchase that could not be read has none
		ref = domain.OrderRef{ID: id}
	}
	p = PurchaseStory{OrderID: id, SaleID: ref.Place.Sale, Bucket: ref.Place.Bucket, Lane: ref.Lane, Lines: []StoryLine{}, Views: []StoryView{}}
	records, err := t.recordsOf(ctx, id)
	if err != nil {
		return p, false, err
	}
	order, err := p.fromLog(records)
	if err != nil {
		return p, false, err
	}
	entry := t.askGate(ctx, ref, &p, s)
	if order.Version == 0 {
		p.fromJournal(entry)
	}
	t.askViews(ctx, &p, s)
	p.finish(order)
	return p, p.Log.Version > 0 || p.Gate.State != "unknown" && p.Gate.State != "none", nil
}

// recordsOf reads every event that names an order, in the order of the log.
func (t *Teller) recordsOf(ctx context.Context, id string) ([]eventstore.Record, error) {
	var all []eventstore.Record
	var after int64
	for {
		page, err := t.Log.Find(ctx, eventstore.Filter{OrderID: id}, after, asOfPage)
		if err != nil {
			return nil, fmt.Errorf("read the events of order %s: %w", id, err)
		}
		all = append(all, page...)
		if len(page) < asOfPage {
			return all, nil
		}
		after = page[len(page)-1].Position
	}
}

// fromLog takes in what the log says.
func (p *PurchaseStory) fromLog(records []eventstore.Record) (domain.Order, error) {
	var order domain.Order
	for i := range records {
		r := &records[i]
		ev, err := decode(r)
		if err != nil { // it is told all the same: its bytes are there
			p.Doubts = append(p.Doubts, err.Error())
		}
		p.Steps = append(p.Steps, stepOf(r, ev))
		if r.Stream != domain.OrderStream(p.OrderID) {
			continue
		}
		if ev != nil {
			order = order.FoldOrder(ev)
		}
		if r.Version == 1 {
			meta := metaOf(r)
			p.TraceID, p.Node = meta.TraceID, meta.Node
		}
		p.Log = StoryLogIs{Version: r.Version, Position: r.Position, Status: string(order.Status)}
	}
	if order.Version == 0 {
		return order, nil
	}
	p.SaleID, p.BuyerID, p.Entry, p.Status, p.Reason = order.SaleID, order.BuyerID, order.Entry, string(order.Status), string(order.Reason)
	p.Lines = storyLines(order.Lines)
	if order.Amount.Currency != "" {
		p.Amount, p.Currency = order.Amount.Amount(), order.Amount.Currency
	}
	if !order.AcceptedAt.IsZero() {
		p.accepted(order.AcceptedAt, order.Entry)
	}
	return order, nil
}

func storyLines(lines []domain.OrderLine) []StoryLine {
	told := make([]StoryLine, len(lines))
	for i, l := range lines {
		told[i] = StoryLine{SKU: l.SKU, Quantity: l.Quantity}
		if l.Price.Currency != "" {
			told[i].Price = l.Price.Amount()
		}
	}
	return told
}

// accepted adds that the units were taken, which is where a purchase begins.
func (p *PurchaseStory) accepted(at time.Time, entry string) {
	says := "the log judged and accepted it: the sale has no gate"
	if entry != "" {
		says = "the gate accepted it and wrote it into its journal, entry " + entry
	}
	p.Steps = append(p.Steps, StoryStep{At: at.UTC(), Clock: "gate", Says: says, Entry: entry})
}

// gateWords name the states of an order in a gate.
var gateWords = map[GateOrderState]string{
	OrderUnresolved: "unresolved", OrderUnknown: "unknown", OrderAccepted: "accepted",
	OrderEnded: "ended", OrderTombstone: "tombstone", OrderRefused: "refused",
}

// askGate asks how the gate has an order, and whether the journal holds its entry. It
// gives the entry's purchase where that can be read.
func (t *Teller) askGate(ctx context.Context, ref domain.OrderRef, p *PurchaseStory, s *Story) *journaled {
	p.Gate.State = "away"
	if t.Gate == nil || ref.Place.Sale == "" {
		return nil
	}
	within, cancel := context.WithTimeout(ctx, storyBudget)
	defer cancel()
	if sale, err := t.Sales.Get(within, ref.Place.Sale); err == nil && sale.Gateless() {
		p.Gate.State = "none"
		return nil
	}
	known, err := t.Gate.Order(within, ref)
	if err != nil {
		s.unasked("gate", err)
		return nil
	}
	p.Gate = StoryGateIs{State: gateWords[known.State], Epoch: known.Epoch}
	entry := known.Entry
	if entry == (domain.EntryID{}) {
		entry, _ = domain.ParseEntryID(p.Entry)
	} else {
		p.Gate.Entry = entry.String()
	}
	if entry == (domain.EntryID{}) {
		return nil
	}
	e, ok, err := t.Gate.Entry(within, ref.Lane, domain.EntryID{Epoch: entry.Epoch, N: entry.N})
	if err != nil {
		s.unasked("journal", err)
		return nil
	}
	p.Gate.Journal = ok
	if !ok || entry.I < 1 {
		return nil
	}
	return readJournaled(e, entry)
}

// journaled is a purchase as the journal has it.
type journaled struct {
	Purchase
	at    time.Time
	terms domain.Terms
	entry domain.EntryID
}

func readJournaled(e JournalEntry, id domain.EntryID) *journaled {
	body, err := DecodeEntry(e.Body)
	if err != nil || id.I > len(body.Purchases) {
		return nil
	}
	bought, err := decodePurchase(body.Purchases[id.I-1])
	if err != nil {
		return nil
	}
	return &journaled{Purchase: bought, at: body.Time(), terms: body.Terms[bought.Sale], entry: id}
}

// fromJournal takes in what the journal says of an order that the log has not decided.
func (p *PurchaseStory) fromJournal(j *journaled) {
	if j == nil || j.Order != p.OrderID {
		return
	}
	p.BuyerID, p.TraceID, p.Node, p.Entry = j.Buyer, j.TraceID, j.Node, j.entry.String()
	if lines, amount, err := priced(j.Lines, j.terms); err == nil {
		p.Lines, p.Amount, p.Currency = storyLines(lines), amount.Amount(), amount.Currency
	}
	p.accepted(j.at, p.Entry)
}

// askViews asks relay and views how far they are with an order.
func (t *Teller) askViews(ctx context.Context, p *PurchaseStory, s *Story) {
	within, cancel := context.WithTimeout(ctx, storyBudget)
	defer cancel()
	views, err := t.Views.Standing(within, p.OrderID)
	if err != nil {
		s.unasked("views", err)
		return
	}
	for i := range views {
		v := &views[i]
		v.Has = p.Log.Version > 0 && v.Position >= p.Log.Position && v.Parked == ""
		if v.ChangedAt != nil && v.Version > 0 {
			p.Steps = append(p.Steps, StoryStep{At: *v.ChangedAt, Clock: "view", Says: v.Name + " has it as version " + strconv.FormatInt(v.Version, 10)})
		}
	}
	p.Views = views
}

// finish puts the steps into their order, and says where the three do not agree.
func (p *PurchaseStory) finish(order domain.Order) {
	slices.SortStableFunc(p.Steps, func(a, b StoryStep) int {
		if a.Position > 0 && b.Position > 0 {
			return cmp.Compare(a.Position, b.Position)
		}
		return a.At.Compare(b.At)
	})
	for i := 1; i < len(p.Steps); i++ {
		p.Steps[i].AfterUS = p.Steps[i].At.Sub(p.Steps[i-1].At).Microseconds()
	}
	if p.Steps == nil {
		p.Steps = []StoryStep{}
	}
	if p.Status == "" {
		p.Status = "unknown"
		if p.Gate.State == "accepted" {
			p.Status = string(domain.OrderStatusQueued)
		}
	}
	p.doubt(order)
}

// doubt notes what cannot be explained by one of them being behind.
func (p *PurchaseStory) doubt(order domain.Order) {
	say := func(format string, args ...any) { p.Doubts = append(p.Doubts, fmt.Sprintf(format, args...)) }
	for _, v := range p.Views {
		if v.Parked != "" {
			say("events of this order are set aside for %s: %s", v.Name, v.Parked)
		}
		if v.Name == "order_view" && v.Has && (v.Version != p.Log.Version || v.Status != p.Log.Status) {
			say("order_view says %s, version %d, where the log says %s, version %d", cmp.Or(v.Status, "nothing"), v.Version, p.Log.Status, p.Log.Version)
		}
	}
	gone := order.Status == domain.OrderStatusRejected || order.Status == domain.OrderStatusCancelled || order.Status == domain.OrderStatusExpired
	switch live := order.Version > 0 && !gone; {
	case live && (p.Gate.State == "ended" || p.Gate.State == "refused" || p.Gate.State == "tombstone"):
		say("the gate says %s where the log says %s", p.Gate.State, p.Status)
	case gone && p.Gate.State == "accepted":
		say("the gate still holds units for an order that is %s: they come back when the log's events are applied, or by reconcile", p.Status)
	}
}

// Began is when a purchase began, in microseconds since 1970; 0 where nobody knows.
func (p PurchaseStory) Began() int64 {
	if len(p.Steps) == 0 {
		return 0
	}
	return p.Steps[0].At.UnixMicro()
}
