package api

import (
	"reflect"

	"github.com/danielgtaylor/huma/v2"
)

// describeService adds the shapes of what a process answers about itself.
func describeService(registry huma.Registry, o *huma.Operation) {
	text := func(media, description string) {
		o.Responses["200"].Content = map[string]*huma.MediaType{media: {Schema: &huma.Schema{Type: huma.TypeString, Description: description}}}
	}
	shape := func(t reflect.Type) {
		o.Responses["200"].Content = map[string]*huma.MediaType{"application/json": {Schema: registry.Schema(t, true, "")}}
	}
	switch o.OperationID {
	case "healthz":
		shape(reflect.TypeFor[healthView]())
		o.Description = "It asks no store: whoever restarts processes by it does not restart one because PostgreSQL or Redis is away."
	case "readyz":
		shape(reflect.TypeFor[readyView]())
		o.Description = "Each store and part is asked, within 2 s. 503 not_ready names in errors[] what is not ready, a check or process (it is shutting down); " +
			"why stands in the log alone. Where operators have a listener of their own (SECKILL_ADMIN_ADDR), everybody else is told {\"ready\":true} or, with 503, {\"ready\":false}."
	case "openapi":
		text("application/yaml", "OpenAPI 3.1")
	case overviewStreamID:
		describeOverview(o)
	case "metrics":
		text("text/plain", "Prometheus' text form; every family is there from the start")
		o.Description = "Where operators have a listener of their own (SECKILL_ADMIN_ADDR), served there alone: elsewhere it is 404."
	}
}
