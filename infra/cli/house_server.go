package cli

import (
	"context"
	"net/http"
	"time"

	"seckill/api"
	"seckill/infra/config"
	"seckill/infra/obs"
	"seckill/infra/skew"
)

// newServer makes the one API over all databases, or what a process without that role
// answers.
func (h *house) newServer(s config.Settings, r roles, f front) (*api.Server, error) {
	book, err := providers(s)
	if err != nil {
		return nil, err
	}
	server, err := api.New(api.Deps{
		Overviews: h.overview, DeadLetters: deadLettersOf{h.named},
		Stacks:    newNodeStacks(nodeName(s.Node), time.Now),
		Purchaser: housePurchaser{h}, Finder: houseFinder{h}, Orders: houseOrders{h}, Providers: book, Prover: houseProver{h}, Stater: houseStater{h},
		Shower: &houseShower{house: h}, Operator: houseOperator{h}, Cleanup: houseCleanup{h}, Reconciler: houseReconciler{h}, Rehydrator: houseRehydrator{h},
		Reviser: houseReviser{h}, Preheats: housePreheats{h}, Teller: houseTeller{h}, Receipts: houseReceipts{h}, Spans: h.requests(), Switches: houseSwitches{h}, Tickets: houseTickets{h}, Members: houseMembers{h},
		Databases: h, Verifier: f.verifier, Links: f.links, Log: h.log, Now: skew.Now, Limits: h.limited(), Admission: h.limiter,
		Metrics: h.metrics, Scrape: http.HandlerFunc(h.scrape), Checks: h.checks(r, f.verifier),
	}, serverOptions(s, r))
	if err != nil {
		return nil, err
	}
	h.metrics.Serve(server.Routes())
	return server, nil
}

// named gives every database with its application, nil where it has not answered yet.
func (h *house) named() []named {
	all := make([]named, len(h.stacks))
	for i, s := range h.stacks {
		all[i] = named{s.name, s.app.Load()}
	}
	return all
}

// limited gives the limits of the process, which the first application has.
func (h *house) limited() api.Limits {
	for _, a := range h.apps() {
		if limits := a.limited(); limits != nil {
			return limits
		}
	}
	return nil
}

// scrape shows what the process counts, and of each database what it counts, with its
// name.
func (h *house) scrape(w http.ResponseWriter, r *http.Request) {
	of := map[string]*obs.Metrics{}
	for _, s := range h.stacks {
		if a := s.app.Load(); a != nil {
			of[s.name] = a.metrics
		}
	}
	obs.OfSeveral(h.metrics, of).ServeHTTP(w, r)
}

// checks are those of each database, by its name, and of the process.
func (h *house) checks(r roles, verifier api.Verifier) []api.Check {
	var all []api.Check
	for _, s := range h.stacks {
		a := s.app.Load()
		if a == nil {
			all = append(all, api.Check{Name: "event_store", Database: s.name, Ready: s.opened})
			continue
		}
		for _, check := range a.checks(r, nil) {
			check.Database = s.name
			all = append(all, check)
		}
	}
	if keys, ok := verifier.(interface{ Ready(context.Context) error }); ok && r.any(roleAPI) {
		all = append(all, api.Check{Name: "tokens", Ready: keys.Ready})
	}
	return all
}

// opened tells why an application that was not open at the start would not answer.
func (s *stack) opened(ctx context.Context) error {
	a := s.app.Load()
	if a == nil {
		return s.house.errNotOpen("its sales")
	}
	_, err := a.sink.Head(ctx)
	return err
}
