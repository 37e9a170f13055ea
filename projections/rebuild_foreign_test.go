package projections_test

import (
	"errors"
	"testing"

	"github.com/google/uuid"

	"seckill/domain"
	"seckill/eventstore"
	"seckill/projections"
)

// B57: what this program does not know may be what a view is about; live, it
// passes by every projection that does not fold its family.
func TestB57AnUnknownTypeOfAnyFamilyStopsARebuildWithItsPosition(t *testing.T) {
	for _, c := range []struct {
		name   string
		schema int
		cause  error
	}{{"gift.given", 1, domain.ErrUnknownEvent}, {"sale.scheduled", 9, domain.ErrFutureEvent}} {
		t.Run(c.name, func(t *testing.T) {
			h := newHouse(t)
			h.release(1 << 30)
			h.live(20)
			at := h.head().Number + 1
			h.append(eventstore.Append{Stream: "gift-1", Events: []eventstore.NewEvent{{
				ID: uuid.New(), Type: c.name, Schema: c.schema, SaleID: h.sale, Payload: []byte(`{}`), Metadata: []byte(`{}`)}}})
			h.live(20)
			stop := h.run(h.projector(projections.All(), quick()))
			h.settle(projections.All())
			stop()
			before := h.dump()
			if parked := h.parked(""); len(parked) != 0 {
				t.Errorf("live, it parks %+v", parked)
			}
			for _, p := range append(projections.All(), projections.Projection{}) {
				list := []projections.Projection{p}
				if p.Name == "" {
					list = projections.All()
				}
				_, err := projections.Rebuild(h.ctx(), h.pool, h.source(), list, projections.RebuildOptions{Workers: 2, Page: 7, Batch: 3})
				var fault *projections.FaultError
				if !errors.As(err, &fault) || fault.Position != at || fault.Type != c.name || !errors.Is(err, c.cause) || !errors.Is(err, projections.ErrForeign) {
					t.Errorf("%s: got %v, want a fault at position %d", list[0].Name, err, at)
				}
			}
			h.sameRows(h.dump(), before)
			if n := h.leftovers(); n != 0 {
				t.Errorf("%d leftovers", n)
			}
		})
	}
}
