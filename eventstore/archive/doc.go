// Package archive owns the form of an archive: a closed partition of the log as
// lines of JSON, with the seals over it, so that it can be proved without us. The
// form is docs/archive.md.
//
// It promises that an archive is the same to the byte whenever it is written, that
// a file that reads without error is whole, chained and under its seals, and that
// whatever is wrong is named with its position.
//
// It refuses to judge whose seals they are: keys are the caller's.
package archive
