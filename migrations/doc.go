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
// Each file from 009 on says in schema_compatibility which programs may work on the
// schema once it was applied: they must know the migrations up to oldest_program. A
// file that only adds what older programs pass over names an older one, so that they
// go on, and start again, while a rollout is under way; one that takes away, renames
// or binds names itself, and comes a release after the last program that needs what
// goes. A test reads every file for that.
//
// It refuses to run anything: infra/pg does that.
package migrations
