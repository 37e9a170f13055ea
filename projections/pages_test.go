package projections

import (
	"context"
	"errors"
	"testing"

	"seckill/eventstore"
)

// shortLog is a log whose positions up to gone were archived.
type shortLog struct {
	gone, head int64
	asked      int
}

var errGone = errors.New("archived")

func (l *shortLog) ReadAll(_ context.Context, after int64, max int) ([]eventstore.Record, error) {
	l.asked++
	if after < l.gone {
		return nil, errGone
	}
	var page []eventstore.Record
	for p := after + 1; p <= l.head && len(page) < max; p++ {
		page = append(page, eventstore.Record{Position: p})
	}
	return page, nil
}

func (l *shortLog) Head(context.Context) (eventstore.Mark, error) {
	return eventstore.Mark{Number: l.head}, nil
}

func TestAPageThatBeginsInAnArchivedPartIsReadFromWhereItIsNeeded(t *testing.T) {
	log := &shortLog{gone: 130, head: 260}
	p := newPages(log, 100, 2)
	for at := int64(130); at < log.head; {
		records, err := p.after(context.Background(), at)
		if err != nil || len(records) == 0 || records[0].Position != at+1 {
			t.Fatalf("after %d: got %d records, %v; want what follows", at, len(records), err)
		}
		at = records[len(records)-1].Position
	}
	if _, err := p.after(context.Background(), 120); !errors.Is(err, errGone) {
		t.Errorf("after 120: got %v, want that it was archived", err)
	}
}
