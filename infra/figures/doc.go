// Package figures keeps what was measured of the whole: which figures there are, what
// each is compared with and what is wanted of it, what the last runs gave, and the page
// that tells it, docs/performance.md.
//
// It promises that a benchmark and the page mean the same figure by the same name, that
// a run of a few benchmarks leaves the other figures as they were, that a short run
// never takes the place of a full one, and that each figure stands beside when, on what
// machine, how idle that was, and by which command it was taken.
//
// It refuses to measure anything: benchmarks of the packages do, and tell by Tell. The
// program gather (make bench) runs them.
package figures
