package docs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// pairs is a map that keeps its order.
type pairs []pair

type pair struct {
	key   string
	value any
}

// get gives the value under a key, nil when there is none.
func (p pairs) get(key string) any {
	for _, e := range p {
		if e.key == key {
			return e.value
		}
	}
	return nil
}

// plain is text that YAML reads as that text without quotes. Everything else is
// quoted as JSON quotes, which YAML reads as well.
var plain = regexp.MustCompile(`^[A-Za-z/#][A-Za-z0-9_./{}#-]*$`)

// words would be read as something else than text.
var words = map[string]bool{"true": true, "false": true, "null": true, "yes": true, "no": true, "on": true, "off": true, "y": true, "n": true}

func scalar(value any) string {
	if text, ok := value.(string); ok && plain.MatchString(text) && !strings.HasPrefix(text, "#") && !words[strings.ToLower(text)] {
		return text
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		return fmt.Sprintf("%q", err.Error()) // scalars always encode
	}
	return strings.TrimSpace(b.String())
}

// writeYAML writes pairs, lists and scalars as YAML in block style.
func writeYAML(b *strings.Builder, value any, indent string) {
	switch v := value.(type) {
	case pairs:
		if len(v) == 0 {
			b.WriteString(" {}\n")
			return
		}
		b.WriteString("\n")
		for _, e := range v {
			b.WriteString(indent + scalar(e.key) + ":")
			writeYAML(b, e.value, indent+"  ")
		}
	case []any:
		if len(v) == 0 {
			b.WriteString(" []\n")
			return
		}
		b.WriteString("\n")
		for _, e := range v {
			var item strings.Builder
			writeYAML(&item, e, indent+"  ")
			text := item.String()
			if _, nested := e.(pairs); nested && strings.HasPrefix(text, "\n") {
				text = " " + strings.TrimPrefix(text[1:], indent+"  ")
			}
			b.WriteString(indent + "-" + text)
		}
	default:
		b.WriteString(" " + scalar(value) + "\n")
	}
}

// ordered reads JSON, keeping the order of fields.
func ordered(t *testing.T, data []byte) any {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	return next(t, dec)
}

func next(t *testing.T, dec *json.Decoder) any {
	t.Helper()
	token, err := dec.Token()
	if err != nil {
		t.Fatal(err)
	}
	switch token {
	case json.Delim('{'):
		p := pairs{}
		for dec.More() {
			key := next(t, dec).(string)
			p = append(p, pair{key, next(t, dec)})
		}
		_, err = dec.Token()
		if err != nil {
			t.Fatal(err)
		}
		return p
	case json.Delim('['):
		list := []any{}
		for dec.More() {
			list = append(list, next(t, dec))
		}
		if _, err := dec.Token(); err != nil {
			t.Fatal(err)
		}
		return list
	}
	return token
}

func TestWhatIsWrittenAsYAMLIsQuotedWhereItMustBe(t *testing.T) {
	var b strings.Builder
	writeYAML(&b, pairs{
		{"plain", "order.placed"}, {"colon", "a: b"}, {"yes", "no"}, {"number", 7}, {"text", "7"}, {"empty", ""}, {"none", pairs{}},
		{"list", []any{"a", pairs{{"k", "v"}, {"l", []any{1}}}, []any{}}}, {"null", nil}, {"ref", "#/a"}, {"汉", "汉字"},
	}, "")
	want := `
plain: order.placed
colon: "a: b"
"yes": "no"
number: 7
text: "7"
empty: ""
none: {}
list:
  - a
  - k: v
    l:
      - 1
  - []
"null": null
ref: "#/a"
"汉": "汉字"
`
	if b.String() != want {
		t.Errorf("got %s\nwant %s", b.String(), want)
	}
}
