package api

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/labstack/echo/v4"

	"seckill/domain"
)

// Overviews sees the five things to watch.
type Overviews interface {
	// Overview gives what is seen now. It waits for no store.
	Overview() Overview
	// Watch gives what is seen from now on, once a second: many may watch what is put
	// together once. ok is false where too many do. Whoever got a watch ends it.
	Watch() (w OverviewWatch, ok bool)
}

// OverviewWatch is one of those who watch.
type OverviewWatch interface {
	// Frames has the newest that was not taken; whoever is slow misses some.
	Frames() <-chan OverviewFrame
	End()
}

// OverviewFrame is an Overview as it is sent.
type OverviewFrame struct {
	Number uint64 // grows by one
	JSON   []byte // of an Overview, in one line; shared, not to be written to
}

const (
	pathOverview       = "/api/v1/admin/overview"
	pathOverviewStream = "/api/v1/admin/overview/stream"

	// overviewStreamID names the stream in the document.
	overviewStreamID = "overview-stream"
)

const overviewDescription = "The five things to watch, as the node that answers sees them: how purchases are answered, the gate's Redis, what waits between gate and views, " +
	"PostgreSQL, and the Go runtime; beside them what is on sale and what reconciliations found. It is put together once a second, whoever asks, and asks no store for an answer: " +
	"a part that is unknown says since when, and leaves its numbers out."

const streamDescription = "Server-sent events: `overview` once a second, whose data is an Overview in one line; `end` when the stream ends, whose data is " +
	"`{\"reason\":\"draining\"}` (this node shuts down), `paused` (somebody turned `pause_noncore` on) or `renew` (after five minutes: come again, so that the token is looked at). " +
	"At most 32 streams at a node, 503 `busy` beyond; 503 `paused` while `pause_noncore` is on, where `GET /api/v1/admin/overview` still answers. " +
	"The token is sent as everywhere, so browsers read it with fetch, which EventSource cannot."

// Bounds of a stream.
const (
	streamFor   = 5 * time.Minute
	streamWrite = 5 * time.Second
)

type overviewAnswer struct {
	Body Overview
}

// overviewRoutes are the lines of the table for the overview.
func (s *Server) overviewRoutes() []route {
	stream := described(served(op(http.MethodGet, pathOverviewStream, overviewStreamID, "The five things to watch, once a second", 401, 403, 503), "text/event-stream"), streamDescription)
	return []route{
		{Operation: described(op(http.MethodGet, pathOverview, "overview", "The five things to watch", 401, 403, 503), overviewDescription), access: admin, add: typed(s.overview)},
		{Operation: stream, access: admin, add: plain(s.overviewStream)},
	}
}

// describeOverview adds the shape of the stream's events.
func describeOverview(o *huma.Operation) {
	o.Responses["200"].Content = map[string]*huma.MediaType{"text/event-stream": {Schema: &huma.Schema{
		Type: huma.TypeString, Description: "Events; the data of an overview is the schema Overview",
	}}}
}

func (s *Server) overview(context.Context, *struct{}) (*overviewAnswer, error) {
	return &overviewAnswer{Body: s.Overviews.Overview()}, nil
}

// overviewStream is a plain handler: it goes on answering.
func (s *Server) overviewStream(c echo.Context) error {
	var asked call
	if err := s.admit(c, admin, &asked); err != nil {
		return err
	}
	if s.noncorePaused() {
		r := refuse(domain.CodePaused)
		r.says = streamsPaused
		return r
	}
	watch, ok := s.Overviews.Watch()
	if !ok {
		r := refuse(domain.CodeBusy)
		r.says = streamsTaken
		return r
	}
	defer watch.End()
	h := c.Response().Header()
	h.Set(echo.HeaderContentType, "text/event-stream")
	h.Set("X-Accel-Buffering", "no") // else a proxy may keep it back
	c.Response().WriteHeader(http.StatusOK)
	if isHead(c.Request()) {
		return nil
	}
	reason, err := "", http.NewResponseController(c.Response()).Flush() // its reader learns that it stands
	if err == nil {
		reason, err = s.sendFrames(c, watch)
	}
	if reason != "" {
		err = sendEvent(c, "end", 0, []byte(`{"reason":"`+reason+`"}`))
	}
	if err != nil { // its reader is gone, or too slow
		s.Log.Debug("stream ended", "trace_id", traceOf(c), "error", err)
	}
	return nil
}

// sendFrames sends what is seen until the stream has to end, and tells why; "" where
// its reader left.
func (s *Server) sendFrames(c echo.Context, watch OverviewWatch) (reason string, err error) {
	over := time.NewTimer(streamFor)
	defer over.Stop()
	for {
		select {
		case <-c.Request().Context().Done():
			return "", nil
		case <-s.draining.Done():
			return "draining", nil
		case <-over.C:
			return "renew", nil
		case f := <-watch.Frames():
			if s.noncorePaused() {
				return "paused", nil
			}
			if err := sendEvent(c, "overview", f.Number, f.JSON); err != nil {
				return "", err
			}
		}
	}
}

// sendEvent writes one event; data is one line, and number 0 is no id.
func sendEvent(c echo.Context, name string, number uint64, data []byte) error {
	writer := http.NewResponseController(c.Response())
	if err := writer.SetWriteDeadline(time.Now().Add(streamWrite)); err != nil {
		return err
	}
	event := []byte("event: " + name + "\n")
	if number > 0 {
		event = append(strconv.AppendUint(append(event, "id: "...), number, 10), '\n')
	}
	event = append(append(append(event, "data: "...), data...), "\n\n"...)
	if _, err := c.Response().Write(event); err != nil {
		return err
	}
	return writer.Flush()
}

// noncorePaused tells whether what nobody's order waits for stands still.
func (s *Server) noncorePaused() bool {
	for _, state := range s.Switches.Everywhere() {
		if state.Name == domain.PauseNoncore {
			return true
		}
	}
	return false
}

// AcceptedPurchases lists those of PurchaseOutcomes by which the buyer has an order.
func AcceptedPurchases() []string {
	return []string{domain.Reserved.String(), domain.Repeat.String(), domain.SameOrder.String()}
}

// FailedPurchases lists those of PurchaseOutcomes that are neither an order nor a refusal
// that the sale or the request has a reason for: who was told so did nothing wrong and
// may be owed a unit. Paused is none of them: somebody meant that.
func FailedPurchases() []string {
	return []string{domain.Refused.String(), string(domain.CodeBusy), string(domain.CodeNotReady), string(domain.CodeInternal)}
}
