// Package e2e runs the whole engine against real stores: nodes in this process
// (rig.go), and the built binary as child processes that are killed at named
// points. It owns the standing checks C1 to C6 (checks.go), which every such
// test ends with.
//
// It promises that a test which ends green has seen the log, the gate and the
// read models agree. It refuses to measure time.
package e2e
