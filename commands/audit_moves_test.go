package commands_test

import (
	"strings"
	"testing"

	"seckill/commands"
	"seckill/domain"
	"seckill/eventstore"
)

// side gives one side of a move of tea as an append to a bucket's stream.
func (v *vault) side(bucket int, ev domain.Event) eventstore.Append {
	return eventstore.Append{Stream: domain.StockStream("28t5cy4t", "tea", bucket), Expected: eventstore.AnyVersion, Events: []eventstore.NewEvent{v.event(ev, "")}}
}

// out and in are the sides of a move from bucket 0 to bucket 1.
func (v *vault) out(id string, quantity int64) eventstore.Append {
	return v.side(0, &domain.StockMovedOut{SaleID: "28t5cy4t", SKU: "tea", MoveID: id, To: 1, Quantity: quantity, Entry: "7-42.3"})
}

func (v *vault) in(id string, quantity int64) eventstore.Append {
	return v.side(1, &domain.StockMovedIn{SaleID: "28t5cy4t", SKU: "tea", Bucket: 1, MoveID: id, Quantity: quantity})
}

func TestHalfAMoveInTheLogIsFoundWithItsPlace(t *testing.T) {
	for name, c := range map[string]struct {
		more func(v *vault)
		want string
	}{
		"both sides":                    {func(v *vault) { v.submit(v.out("b", 2), v.in("b", 2)) }, ""},
		"nothing took the units out":    {func(v *vault) { v.submit(v.in("b", 2)) }, "move@4 "},
		"nothing brought them anywhere": {func(v *vault) { v.submit(v.out("b", 2)) }, "move@4 "},
		"more came than left":           {func(v *vault) { v.submit(v.out("b", 2), v.in("b", 3)) }, "move@4 move@5 "},
		"they came twice":               {func(v *vault) { v.submit(v.out("b", 2), v.in("b", 2)); v.submit(v.in("b", 2)) }, "move@6 "},
		"they came under another id":    {func(v *vault) { v.submit(v.out("b", 2), v.in("c", 2)) }, "move@4 move@5 "},
		"they came to another bucket": {func(v *vault) {
			v.submit(v.out("b", 2), v.side(2, &domain.StockMovedIn{SaleID: "28t5cy4t", SKU: "tea", Bucket: 2, MoveID: "b", Quantity: 2}))
		}, "move@4 move@5 "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := newVault(t)
			v.release(9)                          // 1
			v.submit(v.out("a", 1), v.in("a", 1)) // 2 and 3
			c.more(v)
			for _, opts := range []commands.AuditOptions{{}, {Chunk: 1}, {From: 3}, {From: 4}} {
				r := v.audit(opts)
				if got := faultsOf(r); got != c.want || r.OK != (c.want == "") {
					t.Errorf("%+v: got %+v, want %s", opts, r.Faults, c.want)
				}
			}
			if r := v.audit(commands.AuditOptions{To: 2}); !r.OK {
				t.Errorf("up to between the sides: got %+v, want nothing", r.Faults)
			}
		})
	}
}

func TestAMoveWhoseFirstSideIsArchivedIsNoFault(t *testing.T) {
	v := newVault(t)
	v.release(9)
	v.submit(v.out("a", 1), v.in("a", 1))
	v.tamper(`delete from events where position < 3`)
	r := v.audit(commands.AuditOptions{From: 3})
	if strings.Contains(faultsOf(r), "move@") || !strings.Contains(strings.Join(r.Warnings, " "), "position 3") {
		t.Errorf("got %+v and %q, want a note and no fault", r.Faults, r.Warnings)
	}
}
