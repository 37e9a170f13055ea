package api

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"seckill/domain"
)

// checkBudget bounds one readiness check.
const checkBudget = 2 * time.Second

// healthz answers while the process can answer at all.
func (s *Server) healthz(c echo.Context) error {
	c.Response().Header().Set(echo.HeaderCacheControl, "no-store")
	return c.JSON(http.StatusOK, healthView{Status: "ok"})
}

// healthView is the answer of a process that lives.
type healthView struct {
	Status string `json:"status" enum:"ok"`
}

// checkView is one check that held.
type checkView struct {
	Name     string `json:"name" example:"event_store"`
	Database string `json:"database,omitempty" doc:"Which of several, where sales live on several"`
	Ready    bool   `json:"ready"`
}

// readyView is the answer of a node that takes requests; Ready alone where the
// listener is for strangers.
type readyView struct {
	Ready  bool        `json:"ready"`
	Status string      `json:"status,omitempty" enum:"ready" doc:"Left out, as all that follows, for who is no operator: see the description"`
	Checks []checkView `json:"checks,omitzero" nullable:"false" doc:"What was asked, by the roles of the process: event_store and log_tables always; gate; projections where it folds them; tokens where their keys are fetched; recorder, relay, public_relay and scheduler where it does not serve the API"`
	// Switches are those that are on everywhere: they are no fault of this node.
	Switches []domain.SwitchName `json:"switches,omitzero" nullable:"false" doc:"Those that are on everywhere, which is no fault of this node"`
	// Switched says who turned them, when and why, where only operators read it.
	Switched []SwitchView `json:"switched,omitzero" nullable:"false" doc:"Who turned them, when and why: on the operators' own listener alone"`
}

// readyz asks every check at once. What failed is named to the caller; why is for
// the log alone. A node that drains is not ready. On a listener that is not for
// operators, because they have their own, nothing is named. Where sales live on several
// databases the node is ready while all holds of one of them: sales of the others are
// refused one by one, and the answer says of which database what does not hold.
func (s *Server) readyz(c echo.Context) error {
	c.Response().Header().Set(echo.HeaderCacheControl, "no-store")
	errs := s.runChecks(c.Request().Context())
	view := readyView{Ready: true, Status: "ready", Checks: []checkView{}, Switches: s.switchedOn()}
	if isInside(c.Request().Context()) {
		view.Switched = s.whoSwitched()
	}
	refused := refuse(domain.CodeNotReady)
	if s.draining.Err() != nil {
		refused.Fields = append(refused.Fields, domain.FieldError{Field: "process", Reason: "is shutting down"})
	}
	serves := s.servingOf(errs)
	for i, err := range errs {
		check := s.Checks[i]
		view.Checks = append(view.Checks, checkView{Name: check.Name, Database: check.Database, Ready: err == nil})
		if err == nil {
			continue
		}
		s.Log.Warn("not ready", "trace_id", traceOf(c), "check", check.Name, "database", check.Database, "error", err)
		if check.Database == "" || !serves {
			refused.Fields = append(refused.Fields, domain.FieldError{Field: strings.TrimPrefix(check.Database+"."+check.Name, "."), Reason: "is not ready"})
		}
	}
	ready := len(refused.Fields) == 0
	switch {
	case isOutside(c.Request()) && ready:
		return c.JSON(http.StatusOK, readyView{Ready: true})
	case isOutside(c.Request()):
		return c.JSON(http.StatusServiceUnavailable, readyView{})
	case !ready:
		return refused
	}
	return c.JSON(http.StatusOK, view)
}

// servingOf tells whether every check of some database holds. Where checks name none it
// is false: each must hold then anyway.
func (s *Server) servingOf(errs []error) bool {
	wrong := map[string]bool{}
	for i, check := range s.Checks {
		if check.Database != "" {
			wrong[check.Database] = wrong[check.Database] || errs[i] != nil
		}
	}
	for _, w := range wrong {
		if !w {
			return true
		}
	}
	return false
}

// runChecks gives the result of every check, in their order. It waits for each,
// at most its budget; one that ignores its context is left to end by itself.
func (s *Server) runChecks(ctx context.Context) []error {
	ctx, cancel := context.WithTimeout(ctx, checkBudget)
	defer cancel()
	results := make([]chan error, len(s.Checks))
	for i, check := range s.Checks {
		results[i] = make(chan error, 1)
		go func() {
			defer func() {
				if v := recover(); v != nil {
					results[i] <- fmt.Errorf("check %s: panic: %v", check.Name, v)
				}
			}()
			results[i] <- check.Ready(ctx)
		}()
	}
	errs := make([]error, len(s.Checks))
	for i := range results {
		select {
		case errs[i] = <-results[i]:
		case <-ctx.Done():
			errs[i] = ctx.Err()
		}
	}
	return errs
}

// openapi serves the document.
func (s *Server) openapi(c echo.Context) error {
	c.Response().Header().Set(echo.HeaderCacheControl, "public, max-age=60")
	return c.Blob(http.StatusOK, "application/yaml; charset=utf-8", s.document)
}

// metrics hands over to who was passed in.
func (s *Server) metrics(c echo.Context) error {
	if s.Scrape == nil {
		return refuse(domain.CodeNotFound)
	}
	s.Scrape.ServeHTTP(c.Response(), c.Request())
	return nil
}
