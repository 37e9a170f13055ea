package api

import (
	"context"
	"net/http"
	"time"

	"seckill/commands"
	"seckill/domain"
)

// DeadLetters is what views have set aside, because it cannot be applied.
type DeadLetters interface {
	// Sequences sums up what is set aside; of one projection and sequence or, where they
	// are "", of all, and no more than most of them.
	Sequences(ctx context.Context, projection, sequence string, most int) ([]DeadSequence, error)
	// Letters gives the events of a sequence that are set aside, in order.
	Letters(ctx context.Context, projection, sequence string) ([]DeadLetter, error)
	// Retry applies them in order; none where there is nothing of it.
	Retry(ctx context.Context, projection, sequence string, actor commands.Actor) ([]DeadOutcome, error)
	// Drop gives a sequence up, until somebody retries it; none where there is nothing.
	Drop(ctx context.Context, projection, sequence string, actor commands.Actor) ([]DeadSequence, error)
}

const (
	pathDead      = "/api/v1/admin/dead-letters"
	pathDeadOf    = "/api/v1/admin/dead-letters/{projection}/{sequence}"
	pathDeadRetry = "/api/v1/admin/dead-letters/{projection}/{sequence}/retry"
	pathDeadDrop  = "/api/v1/admin/dead-letters/{projection}/{sequence}/drop"
)

const deadRetryDescription = "Applies what is set aside of a sequence, in order, and lets it go on. What still cannot be applied stays set aside: then `ok` is false and `detail` says why. Who asked for it is in the log first (`letters.retried`)."

const deadDropDescription = "Gives a sequence up in one view: its events are not applied, later ones neither, until somebody retries it. Who and why are in the log first (`letters.dropped`), and are kept with it."

// DeadSequence is a sequence whose events a view has set aside.
type DeadSequence struct {
	Database   string    `json:"database,omitempty" doc:"Its name, where sales lie on several"`
	Projection string    `json:"projection"`
	Version    int       `json:"version"`
	Shard      int       `json:"shard"`
	Sequence   string    `json:"sequence" doc:"An order, or the stream of events without one"`
	State      string    `json:"state" enum:"parked,dropped"`
	First      int64     `json:"first" doc:"Position of the first event"`
	Last       int64     `json:"last"`
	Events     int64     `json:"events"`
	Reason     string    `json:"reason" doc:"Why the first cannot be applied"`
	Since      time.Time `json:"since"`
	Note       string    `json:"note" doc:"Who dropped it, and why"`
}

// DeadLetter is an event that is set aside.
type DeadLetter struct {
	Projection string     `json:"projection"`
	Version    int        `json:"version"`
	Sequence   string     `json:"sequence"`
	Position   int64      `json:"position"`
	Hash       string     `json:"hash"`
	Type       string     `json:"type"`
	State      string     `json:"state" enum:"parked,dropped"`
	Reason     string     `json:"reason"`
	Tries      int        `json:"tries"`
	ParkedAt   time.Time  `json:"parked_at"`
	Note       string     `json:"note"`
	DroppedAt  *time.Time `json:"dropped_at,omitempty"`
}

// DeadOutcome is what became of a sequence that was tried again.
type DeadOutcome struct {
	Projection string `json:"projection"`
	Sequence   string `json:"sequence"`
	Applied    int    `json:"applied"`
	OK         bool   `json:"ok"`
	Detail     string `json:"detail" doc:"Why the rest stays set aside"`
}

// DeadSequences is a list of them.
type DeadSequences struct {
	Sequences []DeadSequence `json:"sequences" nullable:"false"`
	More      bool           `json:"more,omitempty" doc:"There are more than were asked for; seckill dead-letters list has all"`
}

type deadListRequest struct {
	Projection string `query:"projection" maxLength:"64" doc:"Only of this projection"`
	Sequence   string `query:"sequence" maxLength:"200" doc:"Only this sequence"`
	Limit      int    `query:"limit" minimum:"1" maximum:"500" default:"200" doc:"The most sequences that are told"`
}

type deadListAnswer struct {
	Body DeadSequences
}

type deadRequest struct {
	Projection string `path:"projection" maxLength:"64"`
	Sequence   string `path:"sequence" maxLength:"200"`
}

type deadShowAnswer struct {
	Body struct {
		Letters []DeadLetter `json:"letters" nullable:"false"`
	}
}

type deadRetryAnswer struct {
	Body struct {
		Sequences []DeadOutcome `json:"sequences" nullable:"false"`
	}
}

// DropBody says why a sequence is given up.
type DropBody struct {
	Reason string `json:"reason" minLength:"1" maxLength:"500" doc:"Kept with the events, and with who did it"`
}

type deadDropRequest struct {
	Projection string `path:"projection" maxLength:"64"`
	Sequence   string `path:"sequence" maxLength:"200"`
	Body       DropBody
}

// deadRoutes are the lines of the table for dead letters.
func (s *Server) deadRoutes() []route {
	return []route{
		{Operation: op(http.MethodGet, pathDead, "list-dead-letters", "Sequences whose events are set aside", 401, 403, 422, 503), access: admin, add: typed(s.listDead)},
		{Operation: op(http.MethodGet, pathDeadOf, "show-dead-letters", "The events of a sequence that are set aside", 401, 403, 404, 422, 503), access: admin, add: typed(s.showDead)},
		{Operation: described(op(http.MethodPost, pathDeadRetry, "retry-dead-letters", "Apply a sequence's events in order, and let it go on", 401, 403, 404, 422, 503), deadRetryDescription),
			access: admin, add: typed(s.retryDead)},
		{Operation: described(op(http.MethodPost, pathDeadDrop, "drop-dead-letters", "Give a sequence up", 400, 401, 403, 404, 413, 415, 422, 503), deadDropDescription),
			access: admin, body: s.checkedBody(false), add: typed(s.dropDead)},
	}
}

func (s *Server) listDead(ctx context.Context, in *deadListRequest) (*deadListAnswer, error) {
	found, err := s.DeadLetters.Sequences(ctx, in.Projection, in.Sequence, in.Limit+1)
	if err != nil {
		return nil, err
	}
	told := append([]DeadSequence{}, found[:min(len(found), in.Limit)]...)
	return &deadListAnswer{Body: DeadSequences{Sequences: told, More: len(found) > in.Limit}}, nil
}

// noneSetAside is said where nothing of a sequence is.
func noneSetAside() error {
	refused := refuse(domain.CodeNotFound)
	refused.says = notSetAside
	return refused
}

func (s *Server) showDead(ctx context.Context, in *deadRequest) (*deadShowAnswer, error) {
	letters, err := s.DeadLetters.Letters(ctx, in.Projection, in.Sequence)
	if err != nil {
		return nil, err
	}
	if len(letters) == 0 {
		return nil, noneSetAside()
	}
	out := &deadShowAnswer{}
	out.Body.Letters = letters
	return out, nil
}

func (s *Server) retryDead(ctx context.Context, in *deadRequest) (*deadRetryAnswer, error) {
	outcomes, err := s.DeadLetters.Retry(ctx, in.Projection, in.Sequence, actorOf(ctx, ""))
	if err != nil {
		return nil, err
	}
	if len(outcomes) == 0 {
		return nil, noneSetAside()
	}
	s.logAction(ctx, "retry-dead-letters", "")
	out := &deadRetryAnswer{}
	out.Body.Sequences = outcomes
	return out, nil
}

func (s *Server) dropDead(ctx context.Context, in *deadDropRequest) (*deadListAnswer, error) {
	dropped, err := s.DeadLetters.Drop(ctx, in.Projection, in.Sequence, actorOf(ctx, in.Body.Reason))
	if err != nil {
		return nil, err
	}
	if len(dropped) == 0 {
		return nil, noneSetAside()
	}
	s.logAction(ctx, "drop-dead-letters", "")
	return &deadListAnswer{Body: DeadSequences{Sequences: dropped}}, nil
}
