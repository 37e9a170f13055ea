package api

import (
	"context"
	"errors"
	"net/http"
	"time"

	"seckill/commands"
	"seckill/domain"
)

// answer is what HTTP says of a kind of refusal.
type answer struct {
	status int
	again  bool // worth trying again in a moment: Retry-After with jitter
}

// answers is the one error map: every domain.Kind has its line here, and every
// code its kind.
var answers = map[domain.Kind]answer{
	domain.KindBroken:          {http.StatusInternalServerError, false},
	domain.KindInvalid:         {http.StatusUnprocessableEntity, false},
	domain.KindUnauthenticated: {http.StatusUnauthorized, false},
	domain.KindForbidden:       {http.StatusForbidden, false},
	domain.KindNotFound:        {http.StatusNotFound, false},
	domain.KindMethod:          {http.StatusMethodNotAllowed, false},
	domain.KindConflict:        {http.StatusConflict, false},
	domain.KindGone:            {http.StatusGone, false},
	domain.KindEarly:           {http.StatusTooEarly, false},
	domain.KindLimited:         {http.StatusTooManyRequests, true},
	domain.KindUnavailable:     {http.StatusServiceUnavailable, true},
}

// refusal is a "no" on its way to becoming a problem document.
type refusal struct {
	domain.Problem
	status int // 0: the status of the code
	// says stands in the place of the code's sentence, where that is for somebody
	// else; reasonIn knows its Chinese.
	says      string
	challenge string // with 401: how to show who one is; "" for a bearer token
	opensAt   time.Time
	wait      time.Duration // exact time to wait, 0: none, or jittered where the kind says so
	order     string
	state     *commands.OrderAnswer // the order whose state does not allow it
	refused   *domain.Refusal       // of a purchase, what its receipt says; nil: it has none
	receipts  Receipts              // who signs it
	cause     error                 // for the log only, never shown
}

// Error gives the English sentence.
func (r *refusal) Error() string { return r.Problem.Error() }

// Unwrap gives the cause that is not shown.
func (r *refusal) Unwrap() error { return r.cause }

func (r *refusal) answer() answer {
	a := answers[r.Code.Kind()]
	if r.status != 0 {
		a.status = r.status
	}
	return a
}

func refuse(code domain.Code) *refusal { return &refusal{Problem: domain.Problem{Code: code}} }

// invalid is an invalid_request with one of the statuses 400, 413, 415, 422.
func invalid(status int, note string) *refusal {
	return &refusal{Problem: domain.Problem{Code: domain.CodeInvalidRequest, Note: note}, status: status}
}

// wrong is a well-formed request with fields that are wrong: 422.
func wrong(fields ...domain.FieldError) *refusal {
	return &refusal{Problem: *domain.Invalid(fields...)}
}

// Sentences in the place of a code's, which is said of a purchase or to a buyer.
const (
	noneOfThisID = "There is no order with this id."
	// stoppedNow is said to operators.
	stoppedNow = "The gate stops already what this node knows of, but it is not recorded: ask again until it is. Unless it is recorded, it ends some seconds after PostgreSQL answers again."
	// notInTime and perhapsDone are said to operators, who buy nothing.
	notInTime     = "Something that this needs does not answer, or not in time; please ask again in a moment."
	perhapsDone   = "What was to be changed may have been changed all the same."
	streamsTaken  = "This node has as many readers of the stream as it takes; ask for the overview itself."
	streamsPaused = "Streams of the console are off while the switch pause_noncore is on; ask for the overview itself."
	notTheConsole = "What is asked by the cookie of the console has to come from the console itself: with X-Seckill-Console, from a page of this origin. Or send a bearer token."
	notSetAside   = "Nothing of this is set aside."
	linkOver      = "This link signs nobody in any more: each is good once, and not for long. Sign in with a token."
	tokenOrCode   = "want a token or a code, one of both"
	stillRecorded = "The order is still being recorded; please try again in a moment."
)

// ofAnyOrder says to an operator what is said of an order to its buyer.
func (s *Server) ofAnyOrder(err error) error {
	r := *s.refusalOf(err)
	switch r.Code {
	case domain.CodeOrderNotFound:
		r.says = noneOfThisID
	case domain.CodeInProgress:
		r.says = stillRecorded
	}
	return &r
}

// toOperators says to an operator, who asked by a method, what is said of a purchase to
// its buyer.
func (r *refusal) toOperators(method string) *refusal {
	if r.Code != domain.CodeBusy || r.says != "" {
		return r
	}
	told := *r
	told.says = notInTime
	if method != http.MethodGet && r.Note == "" {
		told.Note = perhapsDone
	}
	return &told
}

// stateNotes say which state it is that does not allow something.
var stateNotes = map[domain.OrderStatus]string{
	domain.OrderStatusQueued:    "It is still being recorded; please try again in a moment.",
	domain.OrderStatusPaid:      "It is paid.",
	domain.OrderStatusCancelled: "It is cancelled.",
	domain.OrderStatusExpired:   "It expired, because it was not paid in time.",
	domain.OrderStatusRejected:  "It was rejected.",
}

// wrongState refuses what the state of an order does not allow, and shows the
// order.
func wrongState(code domain.Code, order commands.OrderAnswer) *refusal {
	r := &refusal{Problem: domain.Problem{Code: code, Note: stateNotes[order.Status]}, state: &order}
	if code == domain.CodeInProgress {
		r.says, r.Note = stillRecorded, ""
	}
	return r
}

// refusalOf turns any error into what a person may see. An unknown error becomes
// internal, or busy when a store or the gate is away for the moment, and keeps
// its cause for the log.
func (s *Server) refusalOf(err error) *refusal {
	if r, ok := err.(*refusal); ok { // as nearly all are
		return r
	}
	var r *refusal
	if errors.As(err, &r) {
		return r
	}
	var state *commands.WrongStateError
	if errors.As(err, &state) {
		return wrongState(domain.CodeWrongState, state.Order)
	}
	var p *domain.Problem
	if errors.As(err, &p) {
		return &refusal{Problem: *p}
	}
	code, note := domain.CodeInternal, ""
	var held *commands.UnrecordedError
	switch {
	case s.opts.Archived != nil && s.opts.Archived(err):
		return refuse(domain.CodeArchived)
	case s.away(err):
		code = domain.CodeBusy
		if errors.As(err, &held) {
			note = stoppedNow
		}
	}
	return &refusal{Problem: domain.Problem{Code: code, Note: note}, cause: err}
}

// away tells whether err means that something we stand on is away, late or being
// stopped: trying again in a moment may help.
func (s *Server) away(err error) bool {
	var gate *commands.GateError
	return errors.As(err, &gate) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) ||
		(s.opts.Away != nil && s.opts.Away(err))
}

// codeOf gives the code of a refused outcome.
func codeOf(o domain.Outcome) domain.Code {
	if o == domain.Refused {
		return domain.CodeBusy
	}
	if code := domain.Code(o.String()); code.Known() {
		return code
	}
	return domain.CodeInternal
}
