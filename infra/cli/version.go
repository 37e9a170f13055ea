package cli

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"runtime"
	"runtime/debug"

	"seckill/migrations"
)

type versionCmd struct {
	JSON bool `name:"json" help:"Print JSON."`
}

// versions is what the version command prints.
type versions struct {
	Module   string `json:"module"`
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Go       string `json:"go"`
	Schema   int    `json:"schema"`
}

// builtVersion and builtRevision are set by the linker where the sources come without
// their history, as in an image (-ldflags "-X seckill/infra/cli.builtVersion=v1.2.3"),
// and by nobody else.
var builtVersion, builtRevision string

// thisProgram gives what this program was built from; Schema is left out.
func thisProgram() versions {
	seen := versions{Module: "seckill", Version: builtVersion, Revision: builtRevision, Go: runtime.Version()}
	if info, ok := debug.ReadBuildInfo(); ok {
		seen.Module, seen.Version = info.Main.Path, firstText(seen.Version, info.Main.Version)
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				seen.Revision = firstText(seen.Revision, s.Value)
			}
		}
	}
	seen.Version = firstText(seen.Version, "(devel)")
	return seen
}

// Run prints the versions.
func (v *versionCmd) Run(c console) error {
	seen := thisProgram()
	files, err := fs.Glob(migrations.Files(), "*.sql")
	if err != nil {
		return fmt.Errorf("count migrations: %w", err)
	}
	seen.Schema = len(files)
	if v.JSON {
		return c.json(seen)
	}
	_, err = fmt.Fprintf(c.out, "%s %s, %s, schema %d\n", seen.Module, seen.Version, seen.Go, seen.Schema)
	return err
}

// json prints one value as one line on stdout.
func (c console) json(v any) error {
	e := json.NewEncoder(c.out)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return fmt.Errorf("print JSON: %w", err)
	}
	return nil
}
