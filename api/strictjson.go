package api

import (
	"encoding/json"
	"strconv"
	"strings"

	"seckill/domain"
)

// The functions of this file walk JSON text that json.Valid has accepted. They
// exist because encoding/json takes names in any case, lets the last of two
// equal names win, and reads 1e3 as a whole number.

// skipSpace gives the text from its first byte that is not white space.
func skipSpace(b []byte) []byte {
	for len(b) > 0 && (b[0] == ' ' || b[0] == '\t' || b[0] == '\n' || b[0] == '\r') {
		b = b[1:]
	}
	return b
}

// cutValue cuts the first value off, without white space around it.
func cutValue(b []byte) (value, rest []byte) {
	b = skipSpace(b)
	switch b[0] {
	case '"':
		n := stringEnd(b)
		return b[:n], b[n:]
	case '{', '[':
		depth := 0
		for i := 0; ; i++ {
			switch b[i] {
			case '"':
				i += stringEnd(b[i:]) - 1
			case '{', '[':
				depth++
			case '}', ']':
				if depth--; depth == 0 {
					return b[:i+1], b[i+1:]
				}
			}
		}
	}
	n := 0
	for n < len(b) {
		switch b[n] {
		case ',', '}', ']', ' ', '\t', '\n', '\r':
			return b[:n], b[n:]
		}
		n++
	}
	return b, nil
}

// stringEnd gives the length of the string that b begins with, quotes included.
func stringEnd(b []byte) int {
	for i := 1; ; i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
}

// cutMember cuts the next member off the inside of an object. ok is false at the
// end.
func cutMember(b []byte) (name string, value, rest []byte, ok bool) {
	b = skipSpace(b)
	if b[0] == '}' {
		return "", nil, nil, false
	}
	quoted, b := cutValue(b)
	b = skipSpace(b)[1:] // the colon
	value, b = cutValue(b)
	b = skipSpace(b)
	if b[0] == ',' {
		b = b[1:]
	}
	return unquote(quoted), value, b, true
}

// cutElement cuts the next element off the inside of an array. ok is false at
// the end.
func cutElement(b []byte) (value, rest []byte, ok bool) {
	b = skipSpace(b)
	if b[0] == ']' {
		return nil, nil, false
	}
	value, b = cutValue(b)
	b = skipSpace(b)
	if b[0] == ',' {
		b = b[1:]
	}
	return value, b, true
}

// unquote gives the text of a JSON string.
func unquote(quoted []byte) string {
	inner := quoted[1 : len(quoted)-1]
	for _, c := range inner {
		if c == '\\' || c >= 0x80 {
			var s string
			if json.Unmarshal(quoted, &s) != nil {
				return ""
			}
			return s
		}
	}
	return string(inner)
}

// wholeNumber reads a JSON number that is written as a plain whole number: no
// fraction, no exponent. ok is false for anything else, also for what does not
// fit into 64 bits.
func wholeNumber(value []byte) (n int64, ok bool) {
	for i, c := range value {
		if (c < '0' || c > '9') && (i != 0 || c != '-') {
			return 0, false
		}
	}
	n, err := strconv.ParseInt(string(value), 10, 64)
	return n, err == nil
}

// maxNesting is how many objects and arrays of a body may stand inside each other; the
// deepest of ours has five.
const maxNesting = 16

// nesting counts the objects and arrays that stand inside each other where most do. It
// looks at each byte once: whoever walks a text from level to level, as checkJSON does,
// looks at what is inside once for every level.
func nesting(text []byte) int {
	depth, deepest := 0, 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			i += stringEnd(text[i:]) - 1
		case '{', '[':
			depth++
			deepest = max(deepest, depth)
		case '}', ']':
			depth--
		}
	}
	return deepest
}

// checkJSON gives what is wrong with a valid JSON text by rules that hold for
// every body: names are lower case with '_', none stands twice in an object, and
// numbers are plain whole numbers of 64 bits, and texts hold no NUL, which a
// database does not store.
func checkJSON(at string, value []byte, bad []domain.FieldError) []domain.FieldError {
	switch value[0] {
	case '{':
		return checkObject(at, value, bad)
	case '[':
		rest := value[1:]
		for i := 0; ; i++ {
			element, after, ok := cutElement(rest)
			if !ok {
				return bad
			}
			bad, rest = checkJSON(at+"["+strconv.Itoa(i)+"]", element, bad), after
		}
	case '"':
		if strings.ContainsRune(unquote(value), 0) {
			bad = append(bad, domain.FieldError{Field: at, Reason: "must not hold a NUL character"})
		}
		return bad
	case 't', 'f', 'n':
		return bad
	}
	if _, ok := wholeNumber(value); at == "price" || strings.HasSuffix(at, ".price") {
		bad = append(bad, domain.FieldError{Field: at, Reason: wantAmount}) // a number would be rounded on its way
	} else if !ok {
		bad = append(bad, domain.FieldError{Field: at, Reason: wantWhole})
	}
	return bad
}

func checkObject(at string, value []byte, bad []domain.FieldError) []domain.FieldError {
	seen := map[string]bool{}
	rest := value[1:]
	for {
		name, member, after, ok := cutMember(rest)
		if !ok {
			return bad
		}
		field := name
		if at != "" {
			field = at + "." + name
		}
		switch {
		case !fieldName(name):
			bad = append(bad, domain.FieldError{Field: field, Reason: unknownField})
		case seen[name]:
			bad = append(bad, domain.FieldError{Field: field, Reason: twice})
		default:
			bad = checkJSON(field, member, bad)
		}
		seen[name], rest = true, after
	}
}

// fieldName tells whether a field of ours could have this name.
func fieldName(s string) bool {
	if s == "" {
		return false
	}
	for i := 0; i < len(s); i++ {
		if (s[i] < 'a' || s[i] > 'z') && (s[i] < '0' || s[i] > '9') && s[i] != '_' {
			return false
		}
	}
	return true
}
