package api

import (
	"net/http"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/labstack/echo/v4"

	"seckill/domain"
)

// access says who may use a route.
type access int

const (
	public access = iota // no login
	buyer                // any signed token
	admin                // a token with role admin
)

// route is one line of the table: what the document says of it, who may use it,
// and what answers.
type route struct {
	huma.Operation
	access access
	// limit names the endpoint whose limits hold for it; none for most.
	limit string
	// body: what stands in front of a JSON body; none for routes without one.
	body gate
	// add mounts it: see typed and plain.
	add func(*Server, huma.API, *route)
}

// Paths of the API.
const (
	pathPrefix    = "/api/"
	hooksPrefix   = "/webhooks/"
	pathSales     = "/api/v1/sales"
	pathSale      = "/api/v1/sales/{sale}"
	pathPurchases = "/api/v1/sales/{sale}/purchases"
	pathOrders    = "/api/v1/orders"
	pathOrder     = "/api/v1/orders/{order}"
	pathProof     = "/api/v1/orders/{order}/proof"
	pathCancel    = "/api/v1/orders/{order}/cancellation"
	pathPayment   = "/api/v1/orders/{order}/payment"
	pathWebhook   = hooksPrefix + "payments/{provider}"
	pathMetrics   = "/metrics"
	pathAdmin     = "/api/v1/admin/sales"
	pathClose     = "/api/v1/admin/sales/{sale}/close"
	pathPause     = "/api/v1/admin/sales/{sale}/pause"
	pathResume    = "/api/v1/admin/sales/{sale}/resume"

	pathAdminOrder   = "/api/v1/admin/orders/{order}"
	pathAdminCancel  = "/api/v1/admin/orders/{order}/cancellation"
	pathAdminPayment = "/api/v1/admin/orders/{order}/payment"
	pathOneAdmin     = "/api/v1/admin/sales/{sale}"
	pathReleases     = "/api/v1/admin/sales/{sale}/items/{sku}/releases"
	pathRehydrate    = "/api/v1/admin/sales/{sale}/rehydration"
)

// routes is the one list of routes.
func (s *Server) routes() []route {
	steer := func(path, id, summary string, do steering) route {
		return route{Operation: op(http.MethodPost, path, id, summary, 401, 403, 404, 409, 422, 503),
			access: admin, body: s.checkedBody(true), add: typed(s.steer(id, do))}
	}
	return append(slices.Concat(s.pageRoutes(), s.opsRoutes(), s.sessionRoutes(), s.overviewRoutes(), s.stacksRoutes(), s.deadRoutes()), []route{
		{Operation: cacheable(op(http.MethodGet, pathSales, "list-sales", "Every sale, as buyers see it, but rehearsals that are over")), add: typed(s.listSales)},
		{Operation: cacheable(op(http.MethodGet, pathSale, "get-sale", "One sale, as buyers see it", 404)), add: typed(s.getSale)},
		{Operation: s.purchaseOperation(), access: buyer, add: plain(s.purchase)},
		{Operation: created(described(op(http.MethodPost, pathTickets, "get-ticket", "A ticket to buy with", 400, 401, 403, 404, 409, 410, 413, 415, 422, 425, 429, 503), ticketDescription)),
			access: buyer, limit: limitPolls, body: s.checkedBody(true), add: typed(s.giveTicket)},
		{Operation: described(op(http.MethodGet, pathChallenge, "get-challenge", "A proof of work for a ticket", 401, 403, 404, 409, 410, 425, 429, 503), challengeDescription),
			access: buyer, limit: limitPolls, add: typed(s.challenge)},
		{Operation: described(op(http.MethodGet, pathOrders, "list-orders", "Own orders in a sale, newest first", 401, 404, 422, 429), "The list is of the read model: an order may be told, also as placed, a moment before it is listed."), access: buyer, limit: limitPolls, add: typed(s.listOrders)},
		{Operation: op(http.MethodGet, pathOrder, "get-order", "One own order, waiting for news if asked to", 401, 404, 422, 429), access: buyer, limit: limitPolls, add: typed(s.getOrder)},
		{Operation: described(op(http.MethodGet, pathProof, "prove-order", "Proof that one own order stands in the log", 401, 404, 429, 503), proofDescription), access: buyer, limit: limitPolls, add: typed(s.proveOrder)},
		{Operation: described(op(http.MethodPost, pathCancel, "cancel-order", "Give one own order up", 400, 401, 404, 409, 413, 415, 422, 429, 503), cancelDescription),
			access: buyer, limit: limitPolls, body: s.checkedBody(true), add: typed(s.cancelOrder)},
		{Operation: described(op(http.MethodPost, pathPayment, "pay-order", "Where and how to pay one own order", 400, 401, 404, 409, 413, 415, 422, 429, 503), payDescription),
			access: buyer, limit: limitPolls, body: s.checkedBody(true), add: typed(s.payOrder)},
		{Operation: webhookOperation(), add: plain(s.paymentWebhook)},
		{Operation: op(http.MethodGet, pathAdminOrder, "look-order", "Any order, as the log has it", 401, 403, 404, 409, 503), access: admin, add: typed(s.lookOrder)},
		{Operation: described(op(http.MethodPost, pathAdminCancel, "cancel-any-order", "End an order", 400, 401, 403, 404, 409, 413, 415, 422, 503), adminCancelDescription),
			access: admin, body: s.checkedBody(true), add: typed(s.cancelAnyOrder)},
		{Operation: described(op(http.MethodPost, pathAdminPayment, "settle-order", "Record that an order was paid", 400, 401, 403, 404, 409, 413, 415, 422, 503), adminPayDescription),
			access: admin, body: s.checkedBody(false), add: typed(s.settleOrder)},
		{Operation: created(op(http.MethodPost, pathAdmin, "create-sale", "Schedule a sale", 400, 401, 403, 413, 415, 422, 503)),
			access: admin, body: s.checkedBody(false), add: typed(s.createSale)},
		{Operation: membersOperation(), access: admin, add: plain(s.setMembers)},
		steer(pathClose, "close-sale", "End a sale for good", s.Operator.Close),
		steer(pathPause, "pause-sale", "Stop selling for a while", reasoned(s.Operator.Pause, domain.PausedByOperator)),
		steer(pathResume, "resume-sale", "Sell again", reasoned(s.Operator.Resume, domain.PausedByOperator)),
		{Operation: described(op(http.MethodPost, pathCleanup, "clean-up-sale", "End the life of a sale that is over", 401, 403, 404, 409, 422, 503), cleanupDescription),
			access: admin, body: s.checkedBody(true), add: typed(s.cleanUp)},
		{Operation: described(op(http.MethodPost, pathReconcile, "reconcile-sale", "Compare the books of a sale", 401, 403, 404, 422, 503), reconcileDescription),
			access: admin, body: s.checkedBody(true), add: typed(s.reconcile)},
		{Operation: statementOperation(), access: admin, add: plain(s.statement)},
		{Operation: op(http.MethodGet, pathOneAdmin, "show-sale", "One sale, as operators see it", 401, 403, 404, 503), access: admin, add: typed(s.showSale)},
		{Operation: described(op(http.MethodPost, pathReleases, "release-stock", "Put more units of an item on sale, or take units off sale", 400, 401, 403, 404, 409, 410, 413, 415, 422, 503), releaseDescription),
			access: admin, body: s.checkedBody(false), add: typed(s.release)},
		{Operation: described(op(http.MethodPut, pathOneAdmin, "revise-sale", "Change what a sale says", 400, 401, 403, 404, 409, 410, 413, 415, 422, 503), reviseDescription),
			access: admin, body: s.checkedBody(false), add: typed(s.reviseSale)},
		{Operation: described(op(http.MethodPost, pathPreheat, "preheat-sale", "Make the gate ready for a sale, and compare", 401, 403, 404, 409, 410, 503), preheatDescription),
			access: admin, add: typed(s.preheat)},
		{Operation: described(op(http.MethodGet, pathPreheat, "verify-preheat", "Compare what the gate holds of a sale with the log", 401, 403, 404, 410, 503), verifyDescription),
			access: admin, add: typed(s.verifyPreheat)},
		{Operation: described(op(http.MethodPost, pathConfirm, "confirm-sale", "Let a sale open that waits for that", 400, 401, 403, 404, 409, 410, 413, 415, 422, 503), confirmDescription),
			access: admin, body: s.checkedBody(true), add: typed(s.steer("confirm-sale", s.Reviser.Confirm))},
		{Operation: described(op(http.MethodPost, pathRehydrate, "rehydrate-sale", "Build the gate of a sale again from the log", 401, 403, 404, 410, 503), rehydrateDescription),
			access: admin, add: typed(s.rehydrate)},
		{Operation: limitsOperation(), access: admin, add: typed(s.showLimits)},
		{Operation: described(op(http.MethodGet, pathTrace, "trace-purchase", "The story of a purchase", 401, 403, 404, 410, 422, 503), traceDescription),
			access: admin, add: typed(s.tracePurchase)},
		{Operation: described(op(http.MethodGet, pathReceipt, "explain-receipt", "What the receipt of a refused purchase says, and whether it was right", 401, 403, 410, 422, 503), receiptDescription),
			access: admin, add: typed(s.explainReceipt)},
		{Operation: op(http.MethodGet, pathSwitches, "list-switches", "Every switch, and who turned it", 401, 403, 503), access: admin, add: typed(s.listSwitches)},
		{Operation: described(op(http.MethodPut, pathSwitch, "flip-switch", "Turn a switch on or off", 400, 401, 403, 404, 409, 410, 413, 415, 422, 503), switchDescription),
			access: admin, body: s.checkedBody(false), add: typed(s.flipSwitch)},
		{Operation: served(op(http.MethodGet, "/healthz", "healthz", "Whether the process lives"), "application/json"), add: plain(s.healthz)},
		{Operation: served(op(http.MethodGet, "/readyz", "readyz", "Whether this node can take requests", 503), "application/json"), add: plain(s.readyz)},
		{Operation: served(op(http.MethodGet, "/openapi.yaml", "openapi", "This document"), "application/yaml"), add: plain(s.openapi)},
		{Operation: served(op(http.MethodGet, pathMetrics, "metrics", "Measurements in Prometheus' text form"), "text/plain"), add: plain(s.metrics)},
	}...)
}

// op describes an operation and the statuses of its refusals.
func op(method, path, id, summary string, refusals ...int) huma.Operation {
	return huma.Operation{Method: method, Path: path, OperationID: id, Summary: summary, Errors: refusals}
}

func described(o huma.Operation, text string) huma.Operation {
	o.Description = text
	return o
}

func created(o huma.Operation) huma.Operation {
	o.DefaultStatus = http.StatusCreated
	return o
}

// routeKey finds the label of the route that echo matched.
type routeKey struct{ method, path string }

// otherRoute is the label of what matches no route.
const otherRoute = "other"

// label gives the route of a request as metrics name it.
func (s *Server) label(c echo.Context) string {
	if l, ok := s.labels[routeKey{c.Request().Method, c.Path()}]; ok {
		return l
	}
	return otherRoute
}

// Routes lists the labels that Metrics.Request is given.
func (s *Server) Routes() []string {
	labels := []string{otherRoute}
	for _, l := range s.labels {
		labels = append(labels, l)
	}
	slices.Sort(labels)
	return labels
}

// PurchaseOutcomes lists the labels that Metrics.Purchase is given: outcomes of
// the gate, and codes of what is refused before it.
func PurchaseOutcomes() []string {
	var all []string
	for _, o := range domain.Outcomes() {
		all = append(all, o.String())
	}
	for _, c := range domain.Codes() {
		all = append(all, string(c))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// echoPath writes a path as echo's router wants it.
func echoPath(path string) string {
	return strings.NewReplacer("{", ":", "}", "").Replace(path)
}

// orderPath is where an order is found.
func orderPath(id string) string { return pathOrders + "/" + id }
