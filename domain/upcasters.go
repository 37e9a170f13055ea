package domain

import (
	"bytes"
	"fmt"
)

// The steps that bring payloads of older versions up, named by the version they
// start from. They are never changed: what they read stands in somebody's log.

// orderPlacedV1 adds the version of the sale's terms, which version 1 did not
// say: 0, unknown.
func orderPlacedV1(payload []byte) ([]byte, error) {
	return addField(payload, `"terms_version":0`)
}

// addField adds a field, as JSON writes it, to the end of an object. The bytes
// before stay as they were stored; whether they are JSON is seen by who decodes
// the result.
func addField(object []byte, field string) ([]byte, error) {
	object = bytes.TrimSpace(object)
	if len(object) < 2 || object[0] != '{' || object[len(object)-1] != '}' {
		return nil, fmt.Errorf("add %s: the payload is no JSON object", field)
	}
	inside := bytes.TrimSpace(object[1 : len(object)-1])
	grown := make([]byte, 0, len(inside)+len(field)+3)
	grown = append(grown, '{')
	if len(inside) > 0 {
		grown = append(append(grown, inside...), ',')
	}
	return append(append(grown, field...), '}'), nil
}
