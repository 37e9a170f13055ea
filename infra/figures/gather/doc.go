// Command gather runs the benchmarks of the table in infra/figures, one after the other,
// and writes docs/performance.json and docs/performance.md: `make bench`.
//
// It promises that a benchmark that fails leaves the old figure and fails the run, and
// that the figures of the others are kept as soon as they are there. It starts nothing
// but `go test`; benchmarks start their own servers.
package main
