package config

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"
)

// File is the path of a settings file. Kong reads it when it is set.
type File string

// BeforeResolve adds the file's settings to what kong knows, below the
// environment.
func (f File) BeforeResolve(ctx *kong.Context, trace *kong.Path) error {
	path, ok := ctx.FlagValue(trace.Flag).(File)
	if !ok || path == "" {
		return nil
	}
	raw, err := os.ReadFile(string(path))
	if err != nil {
		return fmt.Errorf("read the settings file: %w", err)
	}
	settings, err := parse(string(raw))
	if err != nil {
		return fmt.Errorf("read the settings file %s: %w", path, err)
	}
	ctx.AddResolver(settings)
	return nil
}

// fileSettings answers kong's questions from the settings of a file.
type fileSettings map[string]fileSetting // by the name of the variable

type fileSetting struct {
	value string
	line  int
}

// Validate refuses names that are no setting of the program.
func (f fileSettings) Validate(app *kong.Application) error {
	known, err := variables(app)
	if err != nil {
		return err
	}
	var p problems
	for name, s := range f {
		p.check(known[name], "Line %d of the settings file sets %s, which is not a setting.", s.line, name)
	}
	if len(p) > 0 {
		return &InvalidError{Problems: p}
	}
	return nil
}

// Resolve answers only what the environment does not say: kong would prefer
// the file.
func (f fileSettings) Resolve(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
	for _, env := range flag.Envs {
		if os.Getenv(env) != "" {
			return nil, nil
		}
	}
	for _, env := range flag.Envs {
		if s, ok := f[env]; ok && s.value != "" {
			return s.value, nil
		}
	}
	return nil, nil
}

// parse reads NAME=value lines. Its errors name the line, never the value.
func parse(text string) (fileSettings, error) {
	settings := fileSettings{}
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, value, ok := strings.Cut(strings.TrimPrefix(line, "export "), "=")
		name = strings.TrimSpace(name)
		if !ok || name == "" || strings.ContainsAny(name, " \t") {
			return nil, fmt.Errorf("line %d is not NAME=value", i+1)
		}
		if before, twice := settings[name]; twice {
			return nil, fmt.Errorf("lines %d and %d both set %s", before.line, i+1, name)
		}
		value, err := unquote(strings.TrimSpace(value))
		if err != nil {
			return nil, fmt.Errorf("line %d has a quote that does not end", i+1)
		}
		settings[name] = fileSetting{value: value, line: i + 1}
	}
	return settings, nil
}

func unquote(value string) (string, error) {
	if strings.HasPrefix(value, `"`) {
		return strconv.Unquote(value)
	}
	if rest, ok := strings.CutPrefix(value, "'"); ok {
		inner, ok := strings.CutSuffix(rest, "'")
		if !ok {
			return "", strconv.ErrSyntax
		}
		return inner, nil
	}
	return value, nil
}
