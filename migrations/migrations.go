package migrations

import (
	"embed"
	"io/fs"
)

//go:embed *.sql
var files embed.FS

// Files gives the migrations, named NNN_what.sql, at the root.
func Files() fs.FS { return files }
