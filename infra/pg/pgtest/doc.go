// Package pgtest gives tests a freshly migrated namespace on a real
// PostgreSQL, and takes it away again.
//
// It promises that no test ever meets the tables of another, and that the
// schema was made by the migrations alone. It is for tests only.
package pgtest
