package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/alecthomas/kong"
)

// onEach runs a command on every database and gives the worst of their exit codes: a
// failure before a finding. What one cannot do keeps nothing from the others.
func (c console) onEach(parsed *kong.Context, command string) int {
	if flagSet(parsed, "follow") || flagSet(parsed, "csv") {
		return c.fail(usage("--follow and --csv go with one database: name it with --database"))
	}
	if err := c.checkDistinct(); err != nil {
		return c.fail(err)
	}
	asJSON := flagSet(parsed, "json")
	worst := exitGood
	var parts []part
	for _, d := range c.settings.EventStores() {
		on := c.on(d)
		var kept bytes.Buffer
		switch {
		case asJSON && command == "replay":
			on.out = &taggedLines{to: c.out, tag: d.Name}
		case asJSON:
			on.out = &kept
		default:
			fmt.Fprintf(c.out, "Database %s\n", d.Name)
		}
		err := parsed.Run(on)
		if err != nil {
			err = onDatabase(d.Name, err)
		}
		code := c.fail(err)
		if code == exitUsage {
			return code // it is the same for each
		}
		worst = worse(worst, code)
		p := part{database: d.Name, json: bytes.TrimSpace(kept.Bytes())}
		if code == exitFailure {
			p.failed = sentence(err)
		}
		parts = append(parts, p)
	}
	if asJSON && command != "replay" {
		worst = worse(worst, c.fail(c.printParted(command, parts, worst == exitGood)))
	}
	return worst
}

// worse gives the worse of two exit codes.
func worse(a, b int) int {
	if a == exitFailure || b == exitFailure {
		return exitFailure
	}
	return max(a, b)
}

func flagSet(parsed *kong.Context, name string) bool {
	for _, p := range parsed.Path {
		if p.Flag != nil && p.Flag.Name == name {
			on, ok := p.Flag.Target.Interface().(bool)
			return ok && on
		}
	}
	return false
}

// part is what a command printed of one database, as JSON: nothing where it failed
// before, which failed says.
type part struct {
	database string
	json     []byte
	failed   string
}

// failure is the part of a database that could not be worked on, as it is printed.
type failure struct {
	Database string `json:"database"`
	Error    string `json:"error"`
}

// printParted prints what a command printed of each database as one object: a report
// of sales as one report, in which each sale names its database, anything else as
// {"ok", "databases": […]}. A database that failed has an error in its place, in a
// report of sales in the list failed.
func (c console) printParted(command string, parts []part, ok bool) error {
	switch command {
	case "reconcile", "sale list", "switch list":
		whole, err := mergeLists(parts)
		if err != nil {
			return err
		}
		return c.json(whole)
	}
	all := []any{}
	for _, p := range parts {
		if len(p.json) > 0 {
			all = append(all, withDatabase(p.json, p.database))
		}
		if p.failed != "" && len(p.json) == 0 {
			all = append(all, failure{p.database, p.failed})
		}
	}
	return c.json(map[string]any{"ok": ok, "databases": all})
}

// withDatabase puts the name of the database first into an object; a list becomes
// {"database", "list"}.
func withDatabase(object []byte, name string) json.RawMessage {
	tag := `{"database":` + strconv.Quote(name)
	if len(object) == 0 || object[0] != '{' {
		return json.RawMessage(tag + `,"list":` + string(object) + `}`)
	}
	rest := bytes.TrimSpace(object[1:])
	if rest[0] != '}' {
		tag += ","
	}
	return json.RawMessage(tag + string(rest))
}

// mergeLists makes one report of those of each database: lists are joined, each of
// their objects naming its database, and numbers added up.
func mergeLists(parts []part) (map[string]any, error) {
	whole := map[string]any{}
	var failed []failure
	for _, p := range parts {
		if p.failed != "" {
			failed = append(failed, failure{p.database, p.failed})
		}
		if len(p.json) == 0 {
			continue
		}
		var fields map[string]json.RawMessage
		if err := json.Unmarshal(p.json, &fields); err != nil {
			return nil, fmt.Errorf("read what was said of database %s: %w", p.database, err)
		}
		for name, raw := range fields {
			var list []json.RawMessage
			var number int64
			if json.Unmarshal(raw, &list) == nil {
				before, _ := whole[name].([]json.RawMessage)
				if before == nil {
					before = []json.RawMessage{}
				}
				for _, element := range list {
					before = append(before, withDatabase(element, p.database))
				}
				whole[name] = before
			} else if json.Unmarshal(raw, &number) == nil {
				before, _ := whole[name].(int64)
				whole[name] = before + number
			} else {
				return nil, errors.New("join what was said of the databases: " + name + " is neither a list nor a number")
			}
		}
	}
	if failed != nil {
		whole["failed"] = failed
	}
	return whole, nil
}

// taggedLines passes lines of JSON objects on, each naming its database.
type taggedLines struct {
	to   io.Writer
	tag  string
	rest []byte // of a line that has not ended
}

func (t *taggedLines) Write(b []byte) (int, error) {
	n := len(b)
	t.rest = append(t.rest, b...)
	for {
		end := bytes.IndexByte(t.rest, '\n')
		if end < 0 {
			return n, nil
		}
		if _, err := t.to.Write(append(withDatabase(t.rest[:end], t.tag), '\n')); err != nil {
			return 0, err
		}
		t.rest = t.rest[end+1:]
	}
}
