// Package browser holds the tests of the buyer page and of the operators' console in
// Chromium, against the built binary on real stores. Between browser and server
// stands a proxy that loses answers, is slow, and counts.
//
// It promises that what a buyer or an operator sees was seen by a browser under the
// page's real policy. It refuses to measure time.
package browser
