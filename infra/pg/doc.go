// Package pg owns the connection to PostgreSQL: opening a pool that works as
// the application's role inside one namespace (read-only where that is asked
// for, and then PostgreSQL refuses what writes), migrating the schema and
// telling whether it fits, one transaction helper, leader locks, and the
// identity of the store.
//
// It promises that what goes wrong when opening is one sentence a person can
// act on, free of secrets; that every advisory lock key carries the namespace,
// so that two installations in one database never meet; and that the error of
// a commit is the error returned.
//
// It refuses to know what the tables mean, and to work with a schema that is
// older or newer than the program.
package pg
