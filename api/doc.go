// Package api speaks HTTP: shapes, statuses, who may ask, and how a refusal is
// told. The contract is docs and openapi.yaml; the one list of routes stands in
// routes.go, the one error map in errors.go.
//
// It promises that every answer carries X-Trace-Id, that every refusal and every
// error is a problem document (RFC 9457) in the caller's language, that what is
// wrong with a request is never a 500 and never echoed back, and that buyer and
// price come from the token and the sale, never from a body.
//
// It refuses to decide: the commands do, and it declares the few methods of them
// that it needs (ports.go). It knows no store and no driver.
package api
