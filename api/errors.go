package api

import (
	"context"
	"errors"
	"net/http"
	"time"

	"seckill/commands"
	"seckill/domain"
)

// kind is what HTTP says about a code.
type kind struct {
	status int
	title  string
	again  bool // worth trying again in a moment: Retry-After with jitter
}

// kinds is the one error map: every domain.Code has its line here.
var kinds = map[domain.Code]kind{
	domain.CodeInvalidRequest:      {http.StatusUnprocessableEntity, "Invalid request", false},
	domain.CodeUnauthenticated:     {http.StatusUnauthorized, "Not signed in", false},
	domain.CodeForbidden:           {http.StatusForbidden, "Not allowed", false},
	domain.CodeNotEligible:         {http.StatusForbidden, "Not eligible", false},
	domain.CodeTicketRequired:      {http.StatusForbidden, "Ticket required", false},
	domain.CodeTicketInvalid:       {http.StatusForbidden, "Ticket invalid", false},
	domain.CodeNotFound:            {http.StatusNotFound, "Not found", false},
	domain.CodeMethodNotAllowed:    {http.StatusMethodNotAllowed, "Method not allowed", false},
	domain.CodeSaleNotFound:        {http.StatusNotFound, "No such sale", false},
	domain.CodeSKUNotFound:         {http.StatusNotFound, "No such item", false},
	domain.CodeOrderNotFound:       {http.StatusNotFound, "No such order", false},
	domain.CodeSoldOut:             {http.StatusConflict, "Sold out", false},
	domain.CodeLimitExceeded:       {http.StatusConflict, "Limit exceeded", false},
	domain.CodeInProgress:          {http.StatusConflict, "Still being decided", false},
	domain.CodeSaleEnded:           {http.StatusGone, "Sale ended", false},
	domain.CodeIdempotencyMismatch: {http.StatusUnprocessableEntity, "Key used with another request", false},
	domain.CodeTooEarly:            {http.StatusTooEarly, "Too early", false},
	domain.CodeRateLimited:         {http.StatusTooManyRequests, "Too many attempts", true},
	domain.CodeBusy:                {http.StatusServiceUnavailable, "Busy", true},
	domain.CodeNotReady:            {http.StatusServiceUnavailable, "Not ready", true},
	domain.CodePaused:              {http.StatusServiceUnavailable, "Paused", true},
	domain.CodeWrongState:          {http.StatusConflict, "Wrong state", false},
	domain.CodeVersionConflict:     {http.StatusConflict, "Changed in the meantime", false},
	domain.CodeInternal:            {http.StatusInternalServerError, "Internal error", false},
}

// refusal is a "no" on its way to becoming a problem document.
type refusal struct {
	domain.Problem
	status  int // 0: the status of the code
	opensAt time.Time
	wait    time.Duration // exact time to wait, 0: none, or jittered where the kind says so
	order   string
	cause   error // for the log only, never shown
}

// Error gives the English sentence.
func (r *refusal) Error() string { return r.Problem.Error() }

// Unwrap gives the cause that is not shown.
func (r *refusal) Unwrap() error { return r.cause }

func (r *refusal) kind() kind {
	k, ok := kinds[r.Code]
	if !ok {
		k = kinds[domain.CodeInternal]
	}
	if r.status != 0 {
		k.status = r.status
	}
	return k
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

// refusalOf turns any error into what a person may see. An unknown error becomes
// internal, or busy when a store or the gate is away for the moment, and keeps
// its cause for the log.
func (s *Server) refusalOf(err error) *refusal {
	var r *refusal
	if errors.As(err, &r) {
		return r
	}
	var p *domain.Problem
	if errors.As(err, &p) {
		return &refusal{Problem: *p}
	}
	code := domain.CodeInternal
	if s.away(err) {
		code = domain.CodeBusy
	}
	return &refusal{Problem: domain.Problem{Code: code}, cause: err}
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
	if code := domain.Code(o.String()); kinds[code].status != 0 {
		return code
	}
	return domain.CodeInternal
}
