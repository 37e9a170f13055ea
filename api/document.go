package api

import (
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"seckill/domain"
)

// documentIntro opens the document.
const documentIntro = `A flash-sale engine: many buyers, few units, nobody sold a unit that is not there.

Times are RFC 3339 with a zone, ids are strings, money is a decimal string and a currency. Every answer carries X-Trace-Id;
a traceparent that comes in is continued. Every refusal and every error is application/problem+json with a code that never
changes and a detail in the language of Accept-Language (en, zh). A JSON body has at most 16 KiB and no unknown fields.
Who buys is named by the sub of the bearer token: 1 to 128 visible ASCII characters, told apart by case; a good token with
another sub is 401 and told so, and so is a request with several Authorization headers.
HEAD is answered as GET is, without the body; another method than those of a path is 405 method_not_allowed, with Allow.
Any request may meet 431 (address and headers over 32 KiB), 408 (a body that
takes more than 5 s to arrive) or 500. What is no HTTP request that we can read (a malformed request line, address or header,
headers over 64 KiB, a transfer coding that is not known) is answered by the HTTP server itself, in plain text with 400, 431,
501 or 505, has no X-Trace-Id, and ends the connection.`

// documentOf writes the document, with the headers that answers carry and the codes of
// problems.
// Answers may get more fields later, so only what callers send is closed.
func documentOf(api huma.API) ([]byte, error) {
	for name, schema := range api.OpenAPI().Components.Schemas.Map() {
		if !strings.HasSuffix(name, "Body") {
			schema.AdditionalProperties = nil
		}
	}
	if problem := api.OpenAPI().Components.Schemas.Map()["Problem"]; problem != nil {
		for _, code := range domain.Codes() {
			problem.Properties["code"].Enum = append(problem.Properties["code"].Enum, string(code))
		}
	}
	retry := &huma.Param{Description: "Seconds until it is worth asking again, where that is known", Schema: &huma.Schema{Type: huma.TypeInteger}}
	trace := &huma.Param{Description: "Names this request in our logs", Schema: &huma.Schema{Type: huma.TypeString}}
	for _, item := range api.OpenAPI().Paths {
		for _, o := range []*huma.Operation{item.Get, item.Post, item.Put, item.Delete} {
			if o == nil {
				continue
			}
			for status, answer := range o.Responses {
				if answer.Headers == nil {
					answer.Headers = map[string]*huma.Param{}
				}
				answer.Headers[headerTrace] = trace
				if status == "425" || status == "429" || status == "503" {
					answer.Headers["Retry-After"] = retry
				}
			}
		}
	}
	text, err := api.OpenAPI().YAML()
	if err != nil {
		return nil, fmt.Errorf("write openapi.yaml: %w", err)
	}
	return text, nil
}

// refusals lists the statuses of a route's refusals: its own, and those that come
// with what it is. Everything of the API, and every message of a provider, reads a
// store.
func refusals(r *route) []int {
	all := slices.Clone(r.Errors)
	if r.access != public {
		all = append(all, http.StatusUnauthorized)
	}
	if r.access == admin {
		all = append(all, http.StatusForbidden)
	}
	if r.limit != "" {
		all = append(all, http.StatusTooManyRequests)
	}
	if r.body != nil || r.RequestBody != nil || r.Method == http.MethodPut {
		all = append(all, http.StatusBadRequest, http.StatusRequestTimeout, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity)
	}
	if strings.HasPrefix(r.Path, pathPrefix) || strings.HasPrefix(r.Path, hooksPrefix) {
		all = append(all, http.StatusServiceUnavailable)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// served describes a route that gives something else than a typed body.
func served(o huma.Operation, media string) huma.Operation {
	o.Responses = map[string]*huma.Response{"200": {Description: "OK", Content: map[string]*huma.MediaType{media: {}}}}
	return o
}

// cacheable says that a caller who has the answer gets 304.
func cacheable(o huma.Operation) huma.Operation {
	o.Responses = map[string]*huma.Response{"304": {Description: "Not Modified: the caller has it"}}
	o.Errors = append(o.Errors, http.StatusServiceUnavailable)
	return o
}

// describe adds to a plain route what huma adds to typed ones: the problem
// documents of its refusals.
func describe(api huma.API, o *huma.Operation) {
	if len(o.Errors) > 0 {
		o.Errors = append(slices.Clone(o.Errors), http.StatusInternalServerError)
	}
	registry := api.OpenAPI().Components.Schemas
	problem := registry.Schema(reflect.TypeFor[Problem](), true, "Problem")
	for _, status := range o.Errors {
		o.Responses[strconv.Itoa(status)] = &huma.Response{
			Description: http.StatusText(status), Content: map[string]*huma.MediaType{problemType: {Schema: problem}},
		}
	}
	describeService(registry, o)
	if o.OperationID == webhookID {
		describeWebhook(registry, o)
	}
	if o.OperationID == statementID {
		describeStatement(registry, o)
	}
	if o.OperationID != purchaseID {
		return
	}
	answer := registry.Schema(reflect.TypeFor[PurchaseAnswer](), true, "PurchaseAnswer")
	for _, status := range []string{"200", "201", "202"} {
		o.Responses[status].Content = map[string]*huma.MediaType{"application/json": {Schema: answer}}
	}
}

// purchaseID names the purchase in the document.
const purchaseID = "purchase"

// purchaseOperation describes the purchase, whose handler huma does not know.
func (s *Server) purchaseOperation() huma.Operation {
	o := op(http.MethodPost, pathPurchases, purchaseID, "Buy", 400, 401, 403, 404, 409, 410, 413, 415, 422, 425, 429, 503)
	o.Description = "Send a SKU and a quantity, or up to 10 lines with a SKU each once: all of them are bought, or none."
	text := &huma.Schema{Type: huma.TypeString}
	one, most, keyMost := 1, domain.MaxLines, 255
	o.Parameters = []*huma.Param{
		{Name: "sale", In: "path", Required: true, Schema: text},
		{Name: headerKey, In: "header", Schema: &huma.Schema{Type: huma.TypeString, MinLength: &one, MaxLength: &keyMost},
			Description: "Makes a repeat of this request meet its first answer; required where a buyer may have several orders"},
		{Name: headerTicket, In: "header", Schema: text, Description: "Where the sale requires a ticket: see the tickets of a sale"},
	}
	line := lineSchema()
	o.RequestBody = &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{"application/json": {Schema: &huma.Schema{
		OneOf: []*huma.Schema{line, objectSchema(map[string]*huma.Schema{
			"lines": {Type: huma.TypeArray, Items: line, MinItems: &one, MaxItems: &most},
		})},
	}}}}
	location := &huma.Param{Description: "Where to ask for the order", Schema: text}
	retry := &huma.Param{Description: "Seconds", Schema: &huma.Schema{Type: huma.TypeInteger}}
	o.Responses = map[string]*huma.Response{
		"200": {Description: "A repeat: the order that was there before, with its status of now", Headers: map[string]*huma.Param{"Location": location}},
		"201": {Description: "Placed: the log has it (strategies redis-sync and postgres, or where the answer waited for the record)", Headers: map[string]*huma.Param{"Location": location}},
		"202": {Description: "Accepted: status queued, to be asked for; or, where the answer waited for the record, rejected with its reason: nothing was sold then", Headers: map[string]*huma.Param{"Location": location, "Retry-After": retry}},
	}
	return o
}

func lineSchema() *huma.Schema {
	one, most, longest := 1.0, float64(domain.MaxQuantity), 64
	return objectSchema(map[string]*huma.Schema{
		"sku":      {Type: huma.TypeString, MaxLength: &longest, Pattern: "^[A-Za-z0-9._-]+$"},
		"quantity": {Type: huma.TypeInteger, Minimum: &one, Maximum: &most},
	})
}

// objectSchema is an object with exactly these fields.
func objectSchema(fields map[string]*huma.Schema) *huma.Schema {
	s := &huma.Schema{Type: huma.TypeObject, Properties: fields, AdditionalProperties: false}
	for name := range fields {
		s.Required = append(s.Required, name)
	}
	slices.Sort(s.Required)
	return s
}
