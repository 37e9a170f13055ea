// Package migrations owns the database schema: numbered SQL files, embedded.
//
// It promises that the files only ever grow: a file that was released is not
// changed, so that every database that says "version n" looks the same.
//
// The files are templates of text/template. {{.ns}} is the schema, {{.owner}}
// the role that owns everything in it, {{.app}} the role every command but
// migrate works as. They run as the owner, with the schema as search_path, so
// names need no schema; a function must pin its own search_path. A file that
// adds a table grants {{.app}} what it needs: nothing is granted by default.
//
// It refuses to run anything: infra/pg does that.
package migrations
