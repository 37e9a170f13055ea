package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"seckill/commands"
	"seckill/domain"
	"seckill/eventstore"
	"seckill/eventstore/pgstore"
	"seckill/infra/config"
	"seckill/infra/pg"
	"seckill/infra/pg/pgtest"
)

func TestWhatReplayIsAskedForIsRead(t *testing.T) {
	good := replayCmd{Sale: "s", Type: "order.placed", From: 3, To: 5}
	if f, err := good.filter(); err != nil || f.SaleID != "s" || f.From != 3 || f.To != 5 {
		t.Errorf("got %+v and %v", f, err)
	}
	for _, bad := range []replayCmd{{From: -1}, {From: 5, To: 3}, {Follow: true, To: 3}} {
		var u *usageError
		if _, err := bad.filter(); !errors.As(err, &u) {
			t.Errorf("%+v: got %v, want a usage error", bad, err)
		}
	}
}

func TestAMomentIsATimeWithAZoneOrSoLongAgo(t *testing.T) {
	now := time.Date(2026, 11, 11, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"": {}, "10m": now.Add(-10 * time.Minute), "0s": now, "2026-11-11T00:00:00+08:00": time.Date(2026, 11, 10, 16, 0, 0, 0, time.UTC),
	} {
		if got, err := moment("--since", text, now); err != nil || !got.Equal(want) {
			t.Errorf("%q: got %s and %v, want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"yesterday", "2026-11-11T00:00:00", "-10m"} {
		var u *usageError
		if _, err := moment("--since", text, now); !errors.As(err, &u) || !strings.Contains(err.Error(), "--since") {
			t.Errorf("%q: got %v, want a usage error that names the flag", text, err)
		}
	}
}

func TestAsOfIsAPositionOrATimeAndGoesWithNothingElse(t *testing.T) {
	now := time.Date(2026, 11, 11, 12, 0, 0, 0, time.UTC)
	if p, err := (&replayCmd{AsOf: "17"}).asOf(now); err != nil || *p != (place{position: 17}) {
		t.Errorf("17: got %v and %v", p, err)
	}
	if p, err := (&replayCmd{AsOf: "2h", Sale: "s"}).asOf(now); err != nil || *p != (place{at: now.Add(-2 * time.Hour)}) {
		t.Errorf("2h: got %v and %v", p, err)
	}
	if p, err := (&replayCmd{}).asOf(now); err != nil || p != nil {
		t.Errorf("not asked for: got %v and %v", p, err)
	}
	for _, bad := range []replayCmd{
		{AsOf: "0"}, {AsOf: "-3"}, {AsOf: "noon"}, {AsOf: "5", Follow: true}, {AsOf: "5", From: 1}, {AsOf: "5", To: 9}, {AsOf: "5", Since: "1h"}, {AsOf: "5", Type: "order.paid"},
	} {
		var u *usageError
		if _, err := bad.asOf(now); !errors.As(err, &u) {
			t.Errorf("%+v: got %v, want a usage error", bad, err)
		}
	}
}

// oddRecord is of no type we know, with bytes that are no JSON, and would be a
// formula in a spreadsheet.
func oddRecord() *eventstore.Record {
	return &eventstore.Record{
		Position: 7, ID: uuid.MustParse("018f0000-0000-7000-8000-000000000001"), Stream: "=cmd|' /C calc'!A0", Version: 2, Type: "order.teleported", Schema: 9,
		SaleID: "a,b", OrderID: "say \"hi\"\nthere", RecordedAt: time.Date(2026, 11, 11, 0, 0, 0, 1000, time.UTC),
		Payload: []byte("\xff\x1b[31m"), Metadata: []byte(`{"by":"<a&b>"}`),
	}
}

func printed(t *testing.T, r replayCmd) string {
	t.Helper()
	var b bytes.Buffer
	out := bufio.NewWriter(&b)
	if err := errors.Join(r.writer(out)(oddRecord()), out.Flush()); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestARecordOfAnUnknownTypeIsPrintedAsItIsStored(t *testing.T) {
	text, line := printed(t, replayCmd{}), printed(t, replayCmd{JSON: true})
	if !strings.Contains(text, "order.teleported") || strings.Contains(text, "\x1b") {
		t.Errorf("as text: got %q, want the type and no control characters", text)
	}
	for _, want := range []string{`"position":7`, `"type":"order.teleported"`, `"schema":9`, `"payload":{"base64":"/xtbMzFt"}`, `"metadata":{"by":"<a&b>"}`, `"recorded_at":"2026-11-11T00:00:00.000001Z"`} {
		if !strings.Contains(line, want) {
			t.Errorf("as JSON: got %s, want %s in it", line, want)
		}
	}
}

func TestCSVIsReadBackAndRunsNoFormula(t *testing.T) {
	text := printed(t, replayCmd{CSV: true})
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil || len(rows) != 2 || len(rows[0]) != 12 {
		t.Fatalf("got %q, %v; want a header and a row of 12", text, err)
	}
	if strings.Count(text, "\n") != strings.Count(text, "\r\n") || !strings.HasSuffix(text, "\r\n") {
		t.Errorf("got %q, want rows that end in CRLF", text)
	}
	got := map[string]string{}
	for i, name := range rows[0] {
		got[name] = rows[1][i]
	}
	for name, want := range map[string]string{
		"position": "7", "stream": "'=cmd|' /C calc'!A0", "sale_id": "a,b", "order_id": "say \"hi\"\nthere", "metadata": `{"by":"<a&b>"}`,
	} {
		if got[name] != want {
			t.Errorf("%s: got %q, want %q", name, got[name], want)
		}
	}
	for cell, want := range map[any]string{int64(-5): "-5", "-5": "'-5", "@x": "'@x", "+1": "'+1", "\tx": "'\tx", "x=1": "x=1", "": "", false: "false"} {
		if got := cellText(cell); got != want {
			t.Errorf("%v: got %q, want %q", cell, got, want)
		}
	}
}

func TestAPastIsPrintedInThreeForms(t *testing.T) {
	at := time.Date(2026, 11, 11, 0, 0, 0, 0, time.UTC)
	price := domain.Money{Minor: 1990, Currency: "CNY"}
	past := &commands.Past{
		At: eventstore.Mark{Number: 4}, RecordedAt: at, Events: 4,
		Sales:  []*commands.PastSale{{Sale: domain.Sale{ID: "28t5cy4t", Version: 1, Terms: domain.SaleTerms{Title: "=mugs", AutoOpen: true, OpensAt: at, ClosesAt: at.Add(time.Hour)}}}},
		Stocks: []*commands.PastStock{{Key: domain.StockKey{Sale: "28t5cy4t", SKU: "mug"}, Account: domain.Account{Version: 2, Released: 5, Reserved: 2}}},
		Orders: []*commands.PastOrder{
			{PlacedAt: at, Order: domain.Order{ID: "o1", Status: domain.OrderStatusPlaced, BuyerID: "ann", Amount: price, Lines: []domain.OrderLine{{SKU: "mug", Quantity: 2, Price: price}}}},
			{PlacedAt: at, Order: domain.Order{ID: "o2", Status: domain.OrderStatusRejected, Reason: domain.RejectedLost}},
		},
	}
	view := pastView{past, at}
	for name, c := range map[string]struct {
		print func(*bufio.Writer) error
		want  []string
	}{
		"JSON": {view.lines, []string{`{"kind":"as_of","position":4`, `"state":"open"`, `"available":3`, `"amount":"19.90"`, `"reason":"lost"`, `"pauses":[]`}},
		"CSV":  {view.sheet, []string{"'=mugs\r\n", "stock,28t5cy4t,,,mug,0,2,,,5,2,0,3,", "order,,o1,ann,,,0,placed,,,,,,2,19.90,CNY,false,2026-11-11T00:00:00.000000Z,"}},
		"text": {view.tables, []string{"As of position 4", "rejected (lost)", "19.90 CNY"}},
	} {
		var b bytes.Buffer
		out := bufio.NewWriter(&b)
		if err := errors.Join(c.print(out), out.Flush()); err != nil {
			t.Fatal(err)
		}
		for _, want := range c.want {
			if !strings.Contains(b.String(), want) {
				t.Errorf("%s: got %s, want %q in it", name, b.String(), want)
			}
		}
	}
}

// B56
func TestNothingCanBeWrittenByTheSessionsOfReplay(t *testing.T) {
	_, url, ns := pgtest.New(t)
	ctx := t.Context()
	pool, err := openToRead(ctx, addresses{database: config.URL(url)}, config.Settings{Namespace: ns})
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	const readOnly = "25006"
	for _, sql := range []string{
		"insert into cursors (lane, epoch, n, digest) values (1, 1, 1, '')", "delete from checkpoints", "select ensure_partitions(1, 100)",
		"create temporary table x as select * from events; insert into checkpoints select * from checkpoints",
	} {
		if _, err := pool.Exec(ctx, sql, pgx.QueryExecModeSimpleProtocol); pg.SQLState(err) != readOnly {
			t.Errorf("%s: got %v, want it refused as read-only", sql, err)
		}
	}
}

// longStream is a log of one stream, at every other position.
type longStream struct {
	eventstore.Reader // no other method may be called
	records           []eventstore.Record
	reads             int
}

func (l *longStream) ReadStream(_ context.Context, stream string, after int64, max int) ([]eventstore.Record, error) {
	l.reads++
	rest := l.records[min(int(after), len(l.records)):]
	return slices.Clone(rest[:min(max, len(rest))]), nil
}

func TestAStreamIsReadByItsVersionsWhateverElseIsAskedFor(t *testing.T) {
	l := &longStream{}
	for v := range int64(2*replayPage + 10) {
		l.records = append(l.records, eventstore.Record{Position: 2 * (v + 1), Version: v + 1, Stream: "s", Type: "a", SaleID: "x"})
	}
	l.records[5].Type, l.records[2001].Type = "b", "b"
	for name, c := range map[string]struct {
		filter       eventstore.Filter
		count, reads int
		first        int64
	}{
		"all":        {eventstore.Filter{}, 2*replayPage + 10, 3, 1},
		"from":       {eventstore.Filter{From: 2001}, replayPage + 10, 3, 1001},
		"to":         {eventstore.Filter{To: 10}, 5, 1, 1},
		"a type":     {eventstore.Filter{Type: "b"}, 2, 3, 6},
		"other sale": {eventstore.Filter{SaleID: "y"}, 0, 3, 0},
		"an order":   {eventstore.Filter{OrderID: "o"}, 0, 3, 0},
	} {
		c.filter.Stream, l.reads = "s", 0
		read := streamPages(l, c.filter)
		var got []eventstore.Record
		for more := true; more; {
			page, again, err := read(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			got, more = append(got, page...), again
		}
		if len(got) != c.count || l.reads != c.reads || (len(got) > 0 && got[0].Version != c.first) {
			t.Errorf("%s: got %d records in %d reads, want %d in %d, beginning with version %d", name, len(got), l.reads, c.count, c.reads, c.first)
		}
	}
}

// shortLog has lost its first records to an archive.
type shortLog struct{ eventstore.Reader }

func (shortLog) Head(context.Context) (eventstore.Mark, error) {
	return eventstore.Mark{Number: 100}, nil
}

func (shortLog) At(_ context.Context, position int64) (eventstore.Record, bool, error) {
	if position <= 60 {
		return eventstore.Record{}, false, &pgstore.ArchivedError{Last: 60}
	}
	return eventstore.Record{Position: position, RecordedAt: time.Unix(position, 0)}, true, nil
}

func TestATimeIsFoundInALogWhoseBeginningWasArchived(t *testing.T) {
	for at, want := range map[int64]int64{70: 70, 60: 60, 200: 100} {
		if got, err := commands.PositionAt(t.Context(), timedLog{shortLog{}}, time.Unix(at, 0)); err != nil || got != want {
			t.Errorf("at second %d: got position %d, %v; want %d", at, got, err, want)
		}
	}
}
