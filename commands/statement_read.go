package commands

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// ReadSigned reads a signed statement as it is handed out. It refuses whatever two
// readers could read differently or would take for signed: a name that stands
// twice in an object, fields that are not of the form, and anything behind it
// (ErrNotStated). What is no JSON, or no statement at all, is another error.
func ReadSigned(text []byte) (*SignedStatement, error) {
	names := json.NewDecoder(bytes.NewReader(text))
	names.UseNumber()
	if err := eachNameOnce(names, maxStatementDepth); err != nil {
		return nil, err
	}
	if _, err := names.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%w: something follows it", ErrNotStated)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	var x *SignedStatement
	if err := d.Decode(&x); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotStated, err)
	}
	if x == nil || len(x.Statement) == 0 {
		return nil, errors.New("it holds no statement")
	}
	return x, nil
}

// maxStatementDepth is how many objects and lists may stand inside each other; a
// statement has fewer than ten. A file of nothing but brackets must not fill the stack.
const maxStatementDepth = 100

var errTooDeep = errors.New("it is nested too deeply for a statement")

// eachNameOnce reads one JSON value, in which no object names a field twice, and no
// more than depth objects and lists stand inside each other.
func eachNameOnce(d *json.Decoder, depth int) error {
	token, err := d.Token()
	if err != nil {
		return err
	}
	opened, ok := token.(json.Delim)
	if !ok {
		return nil
	}
	if depth == 0 {
		return errTooDeep
	}
	seen := map[string]bool{}
	for d.More() {
		if opened == '{' {
			token, err := d.Token()
			if err != nil {
				return err
			}
			name := token.(string) // of an object that goes on, the decoder gives names only
			if seen[name] {
				return fmt.Errorf("%w: the field %q stands twice", ErrNotStated, name)
			}
			seen[name] = true
		}
		if err := eachNameOnce(d, depth-1); err != nil {
			return err
		}
	}
	_, err = d.Token() // the closing bracket
	return err
}
