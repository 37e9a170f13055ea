// Package prometheus holds no code. Beside it lie the files that Prometheus is run with:
// its configuration, the addresses of the processes, the rules and their tests.
//
// The package's test checks them with promtool.
package prometheus
